"""Opening a connection, and empty frames (CON; spec 2.4, 2.7.1).

What a peer may send depends on its own open and close alone, so nearly all of this is proved by
one direction. Closing is in `closing`, silences are in `idle`.
"""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.connection import MIN_MAX_FRAME_SIZE
from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS
from dissectors.v1_0.bodies import Body, Close, Open

MAX_FRAME_SIZE: Final = 2
"""The position of that field."""
NOT_UNDERSTOOD: Final = frozenset(
    (
        "amqp:connection:framing-error",
        "amqp:decode-error",
        "amqp:invalid-field",
        "amqp:not-allowed",
        "amqp:not-implemented",
        "amqp:illegal-state",
    )
)
"""Conditions with which a peer would refuse an empty frame."""
_GONE: Final = re.compile(r"abort|reset|broken|disconnect|closed|gone|eof", re.IGNORECASE)
"""What peers say when TCP ended under a connection."""


def first_frame(event: Event) -> bool:
    """The peer's first frame of the AMQP layer, sound and seen from the beginning."""
    own = event.own
    if own.amqp_frames or own.layer != 0 or not own.headers or not own.anchored:
        return False
    return not event.frame.unit.faults and event.trusted


@rule("CON-001", "2.4.1, 2.7.1", MUST, ERROR, on="unopened amqp")
def open_first_frame(event: Event, report: Reporter) -> None:
    """The first frame of a peer after its AMQP header is its open.

    Until the open the partner knows no limits and no container. (An empty frame or a close in its
    place have rules of their own: CON-023, CON-035.)

    Bad (headers):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- CON-001

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    if isinstance(event.body, (Open, Close)) or event.kinds & kinds.OTHER or not first_frame(event):
        return
    name = event.frame.unit.name
    report.sure(event, f"the {PEERS[event.peer]}'s first frame is {name}, not open", name)


@rule("CON-002", "2.4.1", IMPLIED, ERROR, on="open")
def open_channel_zero(event: Event, report: Reporter) -> None:
    """An open is sent on channel 0.

    Bad:
        client: header AMQP 1.0.0
        client: open[1] container-id="c"   # <- CON-002

    Good:
        client: header AMQP 1.0.0
        client: open[0] container-id="c"
    """
    channel = event.frame.unit.channel
    if channel and event.trusted and event.own.close is None:
        report.sure(event, f"open on channel {channel}, not 0", "channel")


@rule("CON-003", "2.4.1, 2.4.6", IMPLIED, ERROR, on="open", needs="!closed trusted")
def open_repeated(event: Event, report: Reporter) -> None:
    """A peer sends one open on a connection.

    Bad (opened):
        client: open container-id="c"   # <- CON-003

    Good (opened):
        client: close
        server: close
    """
    own = event.own
    if own.open is None:
        return
    # A second header (VER-013) makes a second open the consequence.
    if own.headers and own.open_mark is not None and own.headers[-1].mark.end > own.open_mark.end:
        return
    report.sure(
        event,
        f"the {PEERS[event.peer]} sends a second open",
        "open",
        ((own.open_mark, "the first open"),),
    )


@rule("CON-004", "2.7.1", IMPLIED, INFO, on="open")
def open_container_id_empty(event: Event, report: Reporter) -> None:
    """A container has a name by which others can tell it apart.

    Nothing forbids the empty string, but links of two such containers cannot be told apart.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id=""   # <- CON-004

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
    """
    body = event.body
    if isinstance(body, Open) and body.container_id == "" and event.trusted:
        report.suspect(event, "open with an empty container-id", "open.container-id")


@rule("CON-005", "2.7.1, 2.8.19", MUST, ERROR, on="open", needs="trusted")
def max_frame_size_below_512(event: Event, report: Reporter, body: Open) -> None:
    """Every peer takes frames of 512 octets, so no max-frame-size is below that.

    Zero is a number here, not "no limit". A partner that believed a smaller one could not send its
    own performatives. Limits are judged as if 512 had been said.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c" max-frame-size=511   # <- CON-005

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c" max-frame-size=512
    """
    if body.max_frame_size is None:
        return
    size = body.max_frame_size
    if MAX_FRAME_SIZE in body.wrong:
        return  # TYP-002 speaks of it.
    if size < MIN_MAX_FRAME_SIZE and not event.frame.unit.faults:
        report.sure(
            event,
            f"max-frame-size is {size}, the least is {MIN_MAX_FRAME_SIZE}",
            "open.max-frame-size",
        )


@rule("CON-021", "2.4.5", SHOULD, INFO, on="empty", needs="!closed trusted")
def empty_frame_nonzero_channel(event: Event, report: Reporter) -> None:
    """An empty frame is sent on channel 0.

    Bad (session):
        client: empty[1]   # <- CON-021

    Good (session):
        client: empty
    """
    channel = event.frame.unit.channel
    own, partner = event.own, event.partner
    if not channel or event.frame.unit.type:
        return
    if own.open is not None and event.knew(partner.open_mark) and channel <= partner.channel_max:
        report.sure(event, f"empty frame on channel {channel}, not 0", "channel")


@rule("CON-022", "2.4.5", MUST, ERROR, on="empty", needs="!closed")
def empty_frame_channel_before_open(event: Event, report: Reporter) -> None:
    """Before the partner's open has come, an empty frame is on channel 0.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: empty[1]   # <- CON-022

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: empty
    """
    channel = event.frame.unit.channel
    own, partner = event.own, event.partner
    if not channel or event.frame.unit.type or own.open is None:
        return
    if event.trusted and partner.anchored and not event.knew(partner.open_mark):
        text = f"empty frame on channel {channel} before the partner's open has come, not on 0"
        report.sure(event, text, "channel")


@rule("CON-023", "2.4.5", IMPLIED, ERROR, on="unopened empty")
def empty_frame_before_open(event: Event, report: Reporter) -> None:
    """A peer sends no empty frame before its open.

    Bad (headers):
        client: empty   # <- CON-023

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: empty
        server: header AMQP 1.0.0
    """
    if first_frame(event):
        text = f"the {PEERS[event.peer]} sends an empty frame before its open"
        report.sure(event, text, "empty")


@rule("CON-025", "2.4.5", MUST, WARNING, on="close")
def empty_frame_tolerated(event: Event, report: Reporter) -> None:
    """A peer takes empty frames on any valid channel.

    A close with an error about a frame not understood, right after an empty frame, looks as if that
    one was meant. It may be chance. Where the partner's direction has ended before, or the error
    says that the connection broke, that is what the close answers.

    Bad (session):
        client: empty
        server: close error=error(condition=:amqp:not-implemented)   # <- CON-025

    Good (session):
        client: empty
        server: empty
        server: close error=error(condition=:amqp:connection:forced description="stop")
        client: close

    Good (session):
        client: empty
        client: GAP
        server: close error=error(condition=:amqp:not-implemented description="what was that?")
    """
    own, partner, body = event.own, event.partner, event.body
    heartbeat = partner.empty_mark
    if partner.finished:
        return
    if heartbeat is None or partner.last_mark is not heartbeat or not event.knew(heartbeat):
        return
    if event.ahead or not partner.anchored:
        return  # What the close is about may not have been captured: octets, or a FIN.
    if not isinstance(body, Close) or not isinstance(body.error, Body) or partner.close is not None:
        return
    condition, text = body.error[0], body.error[1]
    if isinstance(text, str) and _GONE.search(text):
        return
    if condition not in NOT_UNDERSTOOD or partner.damaged or own.close is not None:
        return
    if own.last_mark.time <= heartbeat.time:
        report.suspect(
            event,
            f"the {PEERS[event.peer]} closes with {condition} upon an empty frame",
            "close.error",
            ((heartbeat, "the empty frame"),),
        )
