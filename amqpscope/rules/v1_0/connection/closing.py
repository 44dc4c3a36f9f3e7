"""Closing a connection (CON; spec 2.4.3, 2.4.6, 2.7.9).

A peer that has sent its close sends nothing more, which its own direction proves. Whether a close
was answered is judged when the other direction ends, or after a while.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.connection.idle import silence
from amqpscope.rules.v1_0.connection.opening import first_frame
from amqpscope.rules.v1_0.topics import SENT_AFTER_CLOSE
from amqpscope.rules.v1_0.version.headers import differing
from amqpscope.stream.types import PEERS
from dissectors.v1_0.bodies import Close

ANSWER: Final = 10_000_000_000
"""Nanoseconds after which a close that was not answered is worth a word."""


@rule("CON-008", "2.4.3, 2.7.9", MUST, WARNING, on="finished")
def close_before_tcp_close(event: Event, report: Reporter) -> None:
    """A peer sends its close before it closes the socket.

    Without it the partner cannot tell the end from a broken network, and keeps or discards what is
    unsettled by guess. A killed process leaves the same picture, hence a warning; a reset may come
    from a device in between, and is only noted. Who closes second is excused. What its peer had
    received last may be what it died of.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: FIN   # <- CON-008

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- CON-008
        server: RST

    Good (opened):
        client: close
        server: close
        server: FIN
        client: FIN

    Good (opened):
        server: GAP
        client: FIN
    """
    own, partner = event.own, event.partner
    if own.finished not in {"fin", "rst"} or partner.finished or partner.close is not None:
        return
    if not left_open(event) or idle_limit_passed(event):
        return
    last = partner.last_mark
    related = ((last, "the last frame that it had received"),)
    if own.finished == "fin":
        text = f"the {PEERS[event.peer]} closes the socket without a close"
        if partner.open is not None:
            report.sure(event, text, "close", related)
        else:
            text += " before its partner's open"
            report.suspect(event, text, "close", related, severity=INFO)
    else:
        text = f"the {PEERS[event.peer]} resets the connection without a close"
        mark = own.last_mark
        if last.frame > mark.frame:
            text += f"; the last frame it had received is {last.frame}"
            mark = last
        report.suspect(event, text, "close", severity=INFO, mark=mark)


def left_open(event: Event) -> bool:
    """The direction ended though its peer had opened and not closed, and had no cause to do so."""
    own, partner = event.own, event.partner
    if own.open is None or own.close is not None or not own.anchored or event.frame.cut:
        return False
    if partner.missed or unseen(event, partner):
        return False  # The partner's close, or its FIN, may be among what is missing.
    if event.connection.sasl.failed:
        return False
    return not partner.damaged and differing(own, partner) is None


def unseen(event: Event, end: ConnectionEnd) -> bool:
    """A peer had said more, or had ended, when the other one ended, than was captured by then."""
    carrier = event.connection.carrier
    return carrier is not None and carrier.unseen[end.peer]


def idle_limit_passed(event: Event) -> bool:
    """This peer had waited for its partner longer than it had announced."""
    own = event.own
    limit = None if own.open is None else own.open.idle_time_out
    if not limit:
        return False
    return silence(event.partner, own, event.time) >= limit * 1_000_000


@rule("CON-018", "2.4.5", SHOULD, WARNING, on="finished")
def idle_timeout_graceful_close(event: Event, report: Reporter) -> None:
    """A peer whose partner was silent too long closes with an error that says so.

    If the socket just goes away, the other side looks for a fault in the network. Devices in
    between drop silent connections too, hence a suspicion.

    Bad (opened server.idle-time-out=1000):
        @3s server: FIN   # <- CON-018

    Good (opened server.idle-time-out=60000):
        server: close error=error(condition=:amqp:resource-limit-exceeded description="idle")
        client: close
        server: FIN

    Good (opened server.idle-time-out=1000):
        client: GAP
        @3s server: FIN
    """
    own, partner = event.own, event.partner
    if own.finished not in {"fin", "rst"} or partner.finished or partner.close is not None:
        return
    if not left_open(event) or not idle_limit_passed(event) or own.open is None:
        return
    seconds = silence(partner, own, event.time) / 1e9
    report.suspect(
        event,
        f"the {PEERS[event.peer]} drops the socket without a close after {seconds:.1f} s of its"
        f" partner's silence (idle-time-out {own.open.idle_time_out} ms)",
        "close",
        ((partner.last_mark, "the partner's last frame"), (own.open_mark, "the idle-time-out")),
    )


@rule("CON-009", "2.4.3, 2.7.9", MUST, ERROR, on="closed frame", needs="trusted")
def write_after_close(event: Event, report: Reporter) -> None:
    """A peer sends nothing after its close.

    Its partner may have stopped reading, and what comes is lost. It is reported once.

    Bad (session):
        client: close
        client: end[0]   # <- CON-009

    Good (session):
        client: close
        server: end[0]
        server: close
    """
    if isinstance(event.body, Close) or event.kinds & kinds.EMPTY:
        return
    after_close(event, report, f"{event.frame.unit.name} after its close")


def after_close(event: Event, report: Reporter, what: str) -> None:
    """Tell of the first unit after a close."""
    own = event.own
    if report.once(own, topic=SENT_AFTER_CLOSE):
        report.sure(
            event,
            f"the {PEERS[event.peer]} sends {what}",
            event.frame.unit.name,
            ((own.close_mark, "its close"),),
        )


@rule("CON-014", "2.4.3", MUST, ERROR, on="closed close", needs="trusted")
def double_close(event: Event, report: Reporter) -> None:
    """A peer sends one close.

    Bad (opened):
        client: close
        client: close   # <- CON-014

    Good (opened):
        client: close
        server~1: close
    """
    after_close(event, report, "a second close")


@rule("CON-024", "2.4.5", MUST, ERROR, on="closed empty", needs="trusted")
def empty_frame_after_close(event: Event, report: Reporter) -> None:
    """A peer sends no empty frames after its close.

    The usual cause is a heartbeat timer that was not stopped.

    Bad (opened):
        client: close
        client: empty   # <- CON-024

    Good (opened):
        client: close
        server: empty
        server: close
    """
    after_close(event, report, "an empty frame after its close")


@rule("CON-036", "2.4.3", SHOULD, WARNING, on="closed header", needs="trusted")
def socket_reuse_after_close(event: Event, report: Reporter) -> None:
    """A socket is not used for another connection after a close.

    Bad (opened):
        client: close
        server: close
        client: header AMQP 1.0.0   # <- CON-036

    Good (opened):
        client: close
        server: close
        client: FIN
        server: FIN
    """
    after_close(event, report, "another protocol header after its close")


@rule("CON-010", "2.4.3, 2.4.6", MUST, WARNING, on="tick | finished")
def close_answered(event: Event, report: Reporter) -> None:
    """A peer answers its partner's close with its own.

    It may send what it still has to say before that. Reported at the close that waits, when the
    answer can no longer come, or has not come for ten seconds.

    Bad (opened):
        server: close   # <- CON-010
        client: FIN

    Good (opened):
        server: close
        client: close
        client: FIN
        server: FIN
    """
    for debtor in event.connection.ends:
        waiting = event.connection.ends[1 - debtor.peer]
        if waiting.close_mark is not None and owes_close(debtor, waiting):
            report_owed(event, report, debtor, waiting)


def owes_close(debtor: ConnectionEnd, waiting: ConnectionEnd) -> bool:
    """The partner has closed, this peer has not, and both were seen from the beginning."""
    if debtor.close is not None or debtor.open is None:
        return False
    return debtor.anchored and waiting.anchored and not waiting.damaged


def report_owed(
    event: Event, report: Reporter, debtor: ConnectionEnd, waiting: ConnectionEnd
) -> None:
    """Say what became of the answer, if anything can be said yet."""
    name = PEERS[debtor.peer]
    if debtor.finished == "fin":
        if not report.once(debtor):
            return
        text = f"the {name} closes the socket without answering its partner's close"
        # Who reads that the partner's side of the socket is gone may give up on the answer.
        level = INFO if waiting.finished or unseen(event, waiting) else WARNING
        if level == WARNING:
            report.sure(event, text, "close", peer=debtor.peer, mark=waiting.close_mark)
        else:
            report.suspect(
                event, text, "close", severity=level, peer=debtor.peer, mark=waiting.close_mark
            )
    elif not debtor.finished and not waiting.finished and event.since(waiting.close_mark) > ANSWER:
        if not report.once(debtor):
            return
        text = f"the {name} has not answered its partner's close for 10 s"
        report.suspect(event, text, "close", peer=debtor.peer, mark=waiting.close_mark)


@rule("CON-012", "2.4.3", SHOULD, WARNING, on="close", needs="!closed trusted")
def close_on_nonzero_channel(event: Event, report: Reporter) -> None:
    """A close is sent on channel 0.

    Bad (opened):
        client: close[3]   # <- CON-012

    Good (opened):
        client: close[0]
        server: close[0]
    """
    channel = event.frame.unit.channel
    if not channel:
        return
    if event.knew(event.partner.open_mark) or not event.partner.anchored:
        report.sure(event, f"close on channel {channel}, not 0", "channel")


@rule("CON-013", "2.4.3", MUST, ERROR, on="close", needs="!closed partner-anchored trusted")
def pipelined_close_channel_zero(event: Event, report: Reporter) -> None:
    """A close that is sent before the partner's open has come is on channel 0.

    No other channel exists before the partner has said how many it takes.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: close[3]   # <- CON-013

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: close[0]
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: close
    """
    own, partner = event.own, event.partner
    channel = event.frame.unit.channel
    if not channel or own.open_mark is None:
        return
    if event.knew(partner.open_mark):
        return
    text = f"close on channel {channel} before the partner's open has come, not on 0"
    if not partner.frames or own.open_mark.packet == event.frame.packet:
        report.sure(event, text, "channel", ((own.open_mark, "its own open"),))
    else:
        report.suspect(event, text, "channel", ((own.open_mark, "its own open"),))


@rule("CON-035", "2.4.1, 2.4.7", MUST, ERROR, on="unopened close")
def close_without_open(event: Event, report: Reporter) -> None:
    """A peer sends its open before its close, even if only to refuse.

    Bad (headers):
        client: open container-id="c"
        server: close error=error(condition=:amqp:not-found)   # <- CON-035

    Good (opened):
        server: close error=error(condition=:amqp:not-found description="no such host")
        client: close
    """
    if first_frame(event):
        text = f"the {PEERS[event.peer]} closes the connection without an open before"
        report.sure(event, text, "close")
