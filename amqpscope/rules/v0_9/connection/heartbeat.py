"""Heartbeats and silences (A09-CON-19 to 23; 4.2.7, 4.2.9).

Any octet shows that a peer lives, so silences are measured between octets, not between frames. The
capture's clock, a full receive window and a lost packet that is sent again can make a peer look
silent that is not: what rests on time is suspected, never sure.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.connection import ConnectionEnd, Limits
from amqpscope.model.v0_9.event import FINISHED, Event
from amqpscope.rules.v0_9 import IMPLIED, INFO, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT, PEERS

SECOND: Final = 1_000_000_000
ENDED: Final = ("fin", "rst")
"""How a peer ends its direction itself."""


def interval(event: Event) -> int:
    """The interval in nanoseconds that both named; 0 where one of them did not."""
    tune, tune_ok = event.connection.tune, event.connection.tune_ok
    if tune is None or tune_ok is None or not tune.heartbeat or not tune_ok.heartbeat:
        return 0
    return min(tune.heartbeat, tune_ok.heartbeat) * SECOND


@rule(
    "A09-CON-19", "4.2.7, 4.2.9", SHOULD, WARNING, on="pause | tick | finished | connection.close"
)
def heartbeat_missed(event: Event, report: Reporter) -> None:
    """A peer sends something, if only a heartbeat, at least once in each agreed interval.

    RabbitMQ and most clients send twice as often. After two silent intervals the partner may take
    the peer for dead, and drops the connection: here the one that was silent is named.

    Bad (channel):
        @10s client: heartbeat
        @10s server: heartbeat
        @70s server: heartbeat
        @130s server: heartbeat
        @140s client: heartbeat   # <- A09-CON-19
        @141s server: heartbeat

    Bad (channel):
        @10s client: heartbeat   # <- A09-CON-19
        @60s server: heartbeat
        @120s server: heartbeat
        @140s server: RST

    Good (channel):
        @30s client: heartbeat
        @30s server: heartbeat
        @60s client: heartbeat
        @60s server: heartbeat
        @140s client: END

    Good (channel):
        @10s client: heartbeat
        @60s client: GAP
        @60s server: heartbeat
        @140s server: RST
    """
    limit = interval(event)
    if not limit:
        return
    silence = event.own.silence
    if event.kinds & FINISHED or event.name == "connection.close":
        for end in event.connection.ends:
            silent_to_the_end(event, report, end, limit)
    elif silence is not None and silence.duration > 2 * limit:
        seconds = silence.duration / SECOND
        text = f"the {PEERS[event.peer]} was silent for {seconds:.1f} s, heartbeat is"
        report.suspect(
            event, f"{text} {limit // SECOND} s", "", ((silence.mark, "its last frame before"),)
        )


def silent_to_the_end(event: Event, report: Reporter, quiet: ConnectionEnd, limit: int) -> None:
    """Report a peer that has not spoken again when the connection, or the capture, ends."""
    one, other = event.connection.ends
    closed = one.close is not None or other.close is not None
    over = any(end.finished in ENDED and end is not event.own for end in (one, other))
    # Octets of it are missing, or its partner had some that did not pass here.
    unseen = not quiet.anchored or quiet.seen < quiet.reached
    if closed or over or unseen or not quiet.heard:
        return
    now = event.time
    if event.kinds & FINISHED and event.own.finished not in ENDED:
        now = max(one.heard, other.heard)
    if now - quiet.heard > 2 * limit and report.once(quiet):
        seconds = (now - quiet.heard) / SECOND
        report.suspect(
            event,
            f"the {PEERS[quiet.peer]} was silent for {seconds:.1f} s until the end; heartbeat is"
            f" {limit // SECOND} s",
            peer=quiet.peer,
            mark=quiet.last_mark,
        )


@rule("A09-CON-20", "4.2.7", SHOULD, INFO, on="tick")
def dead_peer_kept(event: Event, report: Reporter) -> None:
    """A peer whose partner was silent for two intervals closes the socket, without a handshake.

    Who still waits after three holds on to a connection that is dead; who sends a close waits for
    an answer that will not come.

    Bad (channel):
        @10s client: heartbeat
        @60s server: heartbeat
        @120s server: heartbeat
        @200s server: heartbeat   # <- A09-CON-20
        @201s server: FIN
        @201s client: FIN

    Good (channel):
        @30s client: heartbeat
        @30s server: heartbeat
        @60s client: heartbeat
        @60s server: heartbeat
    """
    limit, partner = interval(event), event.partner
    if not limit or not partner.heard or partner.finished:
        return
    silent = event.time - partner.heard
    closes = event.name == "connection.close" and silent > 2 * limit
    if (closes or silent > 3 * limit) and report.once(event.own):
        what = "sends a close" if closes else "goes on"
        seconds = silent / SECOND
        text = f"the {PEERS[event.peer]} {what} {seconds:.1f} s after its partner fell silent"
        report.suspect(event, text, "", ((partner.last_mark, "the partner's last frame"),))


@rule("A09-CON-21", "4.2.7", IMPLIED, WARNING, on="connection.close")
def live_peer_dropped(event: Event, report: Reporter) -> None:
    """Any octet shows that a peer lives, not heartbeats alone.

    A close that speaks of heartbeats, when the partner had sent other frames within two intervals,
    comes from a peer or a proxy that counts only heartbeats.

    Bad (channel):
        @59s client: heartbeat
        @100s client: queue.declare[1] queue="q"
        @121s server: connection.close reply-code=320
                reply-text="no heartbeat from client"   # <- A09-CON-21
        @121s client: connection.close-ok

    Good (channel):
        @10s client: heartbeat
        @10s server: connection.close reply-code=320 reply-text="shutdown"
        @10s client: connection.close-ok
    """
    method, limit, partner = event.unit.method, interval(event), event.partner
    text = None if method is None else method.get("reply-text")
    if not limit or not isinstance(text, str) or "heartbeat" not in text.lower():
        return
    silent = event.time - partner.heard
    if silent < 2 * limit:
        seconds = silent / SECOND
        said = f"closes for missed heartbeats, {seconds:.1f} s after the partner's last octets"
        related = ((partner.last_mark, "the partner's last frame"),)
        report.suspect(event, said, "connection.close.reply-text", related)


@rule("A09-CON-22", "tune heartbeat", IMPLIED, INFO, on="heartbeat")
def heartbeat_not_agreed(event: Event, report: Reporter, tune: Limits, tune_ok: Limits) -> None:
    """Where no heartbeat was agreed on, none is sent.

    It does no harm. When only one of the two said 0, products differ in what they make of it.

    Bad (tuned connection.tune.heartbeat=0):
        client: connection.tune-ok channel-max=10 frame-max=4096 heartbeat=0
        client: connection.open virtual-host="/"
        server: connection.open-ok
        client: heartbeat   # <- A09-CON-22

    Good (opened):
        client: heartbeat
    """
    agreed = tune_ok.heartbeat or (tune.heartbeat and event.peer != CLIENT)
    if not agreed and report.once(event.own):
        related = ((tune_ok.mark, "the client's tune-ok"),)
        report.sure(event, "a heartbeat, where none was agreed on", "", related)


@rule(
    "A09-CON-23", "4.2.7", IMPLIED, WARNING, on="heartbeat", dialects=NEW, needs="anchored trusted"
)
def heartbeat_before_tune(event: Event, report: Reporter) -> None:
    """A client sends heartbeats after it got the tune, a server after it got the tune-ok.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: heartbeat   # <- A09-CON-23

    Good (opened):
        client: heartbeat
        server: heartbeat
    """
    connection = event.connection
    ends = connection.ends
    if not ends[1 - event.peer].anchored:
        return
    missing = connection.tune if event.peer == CLIENT else connection.tune_ok
    if missing is None:
        awaited = "the tune" if event.peer == CLIENT else "the tune-ok"
        report.sure(event, f"the {PEERS[event.peer]} sends a heartbeat before {awaited}")
