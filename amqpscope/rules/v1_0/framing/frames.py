"""Frames as such: types, channels, bodies; sizes are in `sizes` (FRM; spec 2.3, 2.7.1).

The limits of a direction are those that its receiver announced in its open: there is no smaller
of the two. What was sent before that open could be seen is judged when it comes.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS
from dissectors.errors import Damage
from dissectors.v1_0.bodies import Open
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.values import Described

SASL: Final = 3


@rule("FRM-004", "2.3.1", IMPLIED, ERROR, on="other")
def frame_type_unknown(event: Event, report: Reporter) -> None:
    """The type of a frame is 0 (AMQP) or 1 (SASL).

    Bad (opened):
        client: frame type=2 channel=0 0xdeadbeef   # <- FRM-004

    Good (opened):
        client: empty
    """
    kind = event.frame.unit.type
    # In the SASL layer any type but its own is reported by SAS-003.
    if kind > 1 and event.own.layer != SASL and event.trusted:
        report.sure(
            event, f"frame of type {kind}, where only 0 (AMQP) and 1 (SASL) are defined", "type"
        )


@rule("FRM-005", "2.3.1, 2.3.2", IMPLIED, ERROR, on="misplaced sasl")
def frame_type_wrong_layer(event: Event, report: Reporter) -> None:
    """After its AMQP header a peer sends no SASL frames any more.

    The last header of a peer tells which layer it is in. (An AMQP frame in the SASL layer is
    reported by SAS-003.)

    Bad:
        client: header AMQP 1.0.0
        client: sasl-init mechanism=:ANONYMOUS   # <- FRM-005

    Good (sasl_init):
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
        server: open container-id="s"
    """
    own = event.own
    if own.layer == 0 and own.headers and event.trusted:
        report.sure(
            event,
            f"the {PEERS[event.peer]} sends a SASL frame ({event.frame.unit.name}) after its AMQP"
            " header",
            "type",
            ((own.headers[-1].mark, "the header that began the AMQP layer"),),
        )


@rule("FRM-008", "2.3.2", MUST, ERROR, on="other", needs="trusted")
def performative_unknown(event: Event, report: Reporter) -> None:
    """The body of an AMQP frame begins with one of the nine performatives.

    Their descriptors may be numbers of any width or symbols. Anything else, also a described value
    that is known elsewhere, is not understood there.

    Bad (session):
        client: body[0] @ulong 0x1f ["x"]   # <- FRM-008

    Good (session):
        client: end'symbol[0]
        server: end'80[0]
    """
    unit = event.unit
    if unit.type != 0 or event.own.layer == SASL:
        return
    body = unit.body
    if body is not None:
        found = body.row.name
    elif isinstance(unit.other, Described):
        found = descriptor_name(unit.other.descriptor)
    else:
        return
    report.sure(event, f"the frame's body is {found}, which is not a performative", "performative")


@rule("FRM-016", "2.3.2", IMPLIED, ERROR, on="malformed")
def frame_body_null_performative(event: Event, report: Reporter) -> None:
    """The body of an AMQP frame begins with a descriptor.

    A frame with nothing to say is an empty frame, with no body at all. It happens that payload is
    sent as a frame without the transfer before it.

    Bad (sending):
        client: frame channel=0 0xa00161   # <- FRM-016

    Good (sending):
        client: empty
    """
    unit = event.frame.unit
    if unit.type != 0 or unit.faults[0].kind != Damage.NOT_DESCRIBED or unit.faults[0].path:
        return
    if event.trusted and event.own.layer != SASL:
        report.sure(event, unit.faults[0].reason, "performative")


@rule("FRM-009", "2.3.2", IMPLIED, WARNING, on="trailing", needs="!closed trusted")
def unexpected_payload(event: Event, report: Reporter) -> None:
    """Only a transfer has a payload; a frame with any other performative ends after it.

    Bad (session):
        client: end[0] | raw 0x0000   # <- FRM-009

    Good (session):
        client: end[0]
        server: end[0]
    """
    unit = event.frame.unit
    if unit.faults or event.own.layer == SASL:
        return
    left = len(event.frame.raw) - unit.payload
    body = event.unit.body
    if body is not None and "frame" in body.row.provides:
        report.sure(event, f"{left} octets follow {unit.name} in its frame", unit.name)


@rule("FRM-011", "2.7.1", MUST, ERROR, on="begin | empty | open | close", needs="trusted")
def channel_exceeds_peer_max(event: Event, report: Reporter) -> None:
    """A channel number is at most the channel-max in the receiver's open.

    The effective limit is the receiver's own, though many stacks use the smaller of both. It is
    reported where the session begins, not again for each frame on it.

    Bad (opened):
        client: begin[101] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- FRM-011

    Bad (opened):
        client: close[101]   # <- FRM-011, CON-012
        server: close

    Good (opened):
        client: begin[100] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=100 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    own, partner = event.own, event.partner
    channel = event.frame.unit.channel
    body = event.body
    if event.frame.unit.type != 0:
        return
    if isinstance(body, Open):
        limit = 65535 if body.channel_max is None else body.channel_max
        if own.open is None and partner.early.channel > limit and partner.anchored:
            early, mark = partner.early.channel, partner.early.channel_mark
            too_high(event, report, early, limit, partner.peer, mark, event.mark)
    elif partner.open is not None and channel > partner.channel_max and own.close is None:
        limit, granted = partner.channel_max, partner.open_mark
        too_high(event, report, channel, limit, event.peer, event.mark, granted)


def too_high(
    event: Event,
    report: Reporter,
    channel: int,
    limit: int,
    peer: int,
    mark: Mark | None,
    granted: Mark | None,
) -> None:
    """Report a channel above its receiver's limit."""
    report.sure(
        event,
        f"the {PEERS[peer]} uses channel {channel}, its partner's channel-max is {limit}",
        "channel",
        ((granted, "the open with the partner's channel-max"),),
        peer=peer,
        mark=mark,
    )
