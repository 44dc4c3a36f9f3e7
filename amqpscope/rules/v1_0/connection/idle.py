"""Silences and the idle time-outs that peers announce (CON; spec 2.4.5, 2.7.1).

An idle-time-out is what its sender asks of its partner: no longer silence than that. It should be
half of the time after which the sender gives up. Nobody is obliged by a MUST, clocks and taps
differ, and a capture may have slept: nothing here is ever more than a suspicion.
"""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import IMPLIED, INFO, SHOULD, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS
from dissectors.v1_0.bodies import Body, Close, Open

MILLISECOND: Final = 1_000_000
SHORT: Final = 1000
"""Milliseconds below which an idle-time-out may have been meant in seconds."""
ENDED: Final = ("fin", "rst")
"""How a peer ends its direction itself; a capture that ends is no reason to fall silent."""
NOTED: Final = 1
WARNED: Final = 2
_TIMEOUT: Final = re.compile(r"idle|inactiv|heartbeat|time-?out|timed out|silen", re.IGNORECASE)


def silence(quiet: ConnectionEnd, waiting: ConnectionEnd, now: int) -> int:
    """Nanoseconds since a peer's last frame, or since both had opened, up to now.

    None where octets of it are missing: what is in them was said in that time.
    """
    if quiet.open_mark is None or waiting.open_mark is None or quiet.missed:
        return 0
    return now - max(quiet.last_mark.time, quiet.open_mark.time, waiting.open_mark.time)


def limit_of(waiting: ConnectionEnd) -> int:
    """The silence that a peer asks its partner not to exceed, in nanoseconds; 0 for none."""
    if waiting.open is None or not waiting.open.idle_time_out:
        return 0
    return waiting.open.idle_time_out * MILLISECOND


@rule("CON-016", "2.4.5, 2.7.1", IMPLIED, WARNING, on="pause | close | finished")
def idle_timeout_exceeded(event: Event, report: Reporter) -> None:
    """A peer is never silent for longer than its partner's idle-time-out.

    When it has nothing to say it sends an empty frame. The value counts for the direction towards
    who announced it. As that peer should wait for twice the time, a silence up to there is only
    noted; beyond it the partner may have given up.

    Bad (opened server.idle-time-out=2000):
        @5s client: empty   # <- CON-016

    Bad (headers):
        client: open container-id="c"   # <- CON-016
        server: open container-id="s" idle-time-out=2000
        @3s server: empty
        @6s server: empty
        @6s server: END
        @6s client: END

    Good (opened client.idle-time-out=2000):
        @1.9s server: empty
        @3.8s server: empty
        @5.7s server: empty
        @5.7s client: empty

    Good (opened server.idle-time-out=2000):
        @4s client: GAP
        @6s client: empty
    """
    own, partner = event.own, event.partner
    if own.finished:
        if own.finished in ENDED:
            judge(event, report, own, partner, event.time, own.last_mark)
            judge(event, report, partner, own, event.time, partner.last_mark)
        elif partner.last_mark.time > own.last_mark.time:
            judge(event, report, own, partner, partner.last_mark.time, own.last_mark)
    else:
        judge(event, report, own, partner, event.time, event.mark)
        if isinstance(event.body, Close) and partner.anchored and not early(event):
            judge(event, report, partner, own, event.time, partner.last_mark)


def judge(
    event: Event,
    report: Reporter,
    quiet: ConnectionEnd,
    waiting: ConnectionEnd,
    now: int,
    mark: Mark,
) -> None:
    """Tell of a silence that ended, or was ended by the other side."""
    limit = limit_of(waiting)
    if not limit or quiet.close is not None or waiting.close is not None:
        return
    if any(end.finished in ENDED and end is not event.own for end in (waiting, quiet)):
        return
    length = silence(quiet, waiting, now)
    if length <= limit + max(limit // 10, 100 * MILLISECOND):
        return
    level = WARNED if length > 2 * limit else NOTED
    if report.has_reported("CON-016", quiet, WARNED) or not report.once(quiet, level):
        return
    report.suspect(
        event,
        f"the {PEERS[quiet.peer]} was silent for {length / 1e9:.3f} s, its partner asked for no"
        f" more than {limit / 1e9:.3f} s (idle-time-out)",
        "open.idle-time-out",
        (
            (waiting.open_mark, "the partner's idle-time-out"),
            (quiet.last_mark, "its last frame before"),
        ),
        severity=WARNING if level == WARNED else INFO,
        peer=quiet.peer,
        mark=mark,
    )


@rule("CON-017", "2.4.5", SHOULD, INFO, on="close")
def idle_timeout_not_halved(event: Event, report: Reporter) -> None:
    """A peer gives its partner twice the idle-time-out that it announced before it gives up.

    If it closes at the bare value, any delay on the way is fatal. The reason is taken from the
    words of the error, so this is a note.

    Bad (opened server.idle-time-out=2000):
        @2.3s server: close error=error(condition=:amqp:resource-limit-exceeded
                description="local-idle-timeout expired")   # <- CON-017

    Good (opened server.idle-time-out=2000):
        @1s client: empty
        @2.3s server: close error=error(condition=:amqp:connection:forced description="shutdown")
        client: close
    """
    if early(event):
        quiet = silence(event.partner, event.own, event.time) / 1e9
        asked = limit_of(event.own) / 1e9
        report.suspect(
            event,
            f"the {PEERS[event.peer]} gives up after {quiet:.3f} s of silence, less than twice its"
            f" idle-time-out of {asked:.3f} s",
            "close.error",
            ((event.own.open_mark, "its idle-time-out"),
             (event.partner.last_mark, "the partner's last frame")),
        )  # fmt: skip


def early(event: Event) -> bool:
    """A close for inactivity well before twice the idle-time-out of who sends it."""
    own, partner, body = event.own, event.partner, event.body
    if not isinstance(body, Close) or not isinstance(body.error, Body) or not partner.anchored:
        return False
    if own.close is not None or partner.close is not None or not event.trusted:
        return False
    limit = limit_of(own)
    quiet = silence(partner, own, event.time)
    if not limit or not limit // 2 <= quiet < limit * 3 // 2:
        return False
    return any(isinstance(text, str) and _TIMEOUT.search(text) for text in body.error[:2])


@rule("CON-020", "2.7.1, 2.8.6", IMPLIED, INFO, on="open", needs="trusted")
def idle_timeout_value_suspicious(event: Event, report: Reporter, body: Open) -> None:
    """An idle-time-out is in milliseconds.

    A value below 1000 may have been meant in seconds. Zero is the same as none.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c" idle-time-out=60   # <- CON-020

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c" idle-time-out=0
    """
    if not body.idle_time_out:
        return
    if body.idle_time_out < SHORT:
        report.suspect(
            event,
            f"idle-time-out is {body.idle_time_out} ms; if seconds were meant, it is too short",
            "open.idle-time-out",
        )
