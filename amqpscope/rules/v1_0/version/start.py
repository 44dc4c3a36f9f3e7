"""Connections that begin late, cut short, or with no header at all (VER; spec 2.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.version.headers import CLIENT
from amqpscope.stream.types import PEERS

LATE: Final = 5_000_000_000
"""Nanoseconds after which a client's header is missed."""


@rule("VER-003", "2.2", MUST, WARNING, on="header", needs="client anchored")
def client_header_late(event: Event, report: Reporter) -> None:
    """A client sends its header as soon as the connection is there.

    A server waits for it with the socket open, and many close after a few seconds. Reported after
    more than five of them, counted from TCP's own handshake, or from the end of TLS's. Balancers
    and pools connect long before they have something to say, hence a suspicion.

    Bad:
        server: header AMQP 1.0.0
        @7s client: header AMQP 1.0.0   # <- VER-003

    Good:
        server: header AMQP 1.0.0
        @2s client: header AMQP 1.0.0
    """
    own, carrier = event.own, event.connection.carrier
    if own.frames or event.frame.offset:
        return
    if carrier is None or not carrier.opened:
        return
    start = carrier.opened if carrier.tls is None else max(carrier.opened, carrier.tls.quiet)
    waited = event.time - start
    if waited > LATE:
        report.suspect(
            event, f"the client sends its header {waited / 1e9:.1f} s after it connected", "header"
        )


@rule("VER-009", "2.2", MUST, WARNING, on="finished", needs="server")
def unparsable_header_refusal(event: Event, report: Reporter) -> None:
    """A server that cannot read the client's header answers with its own, and then closes.

    So a client of another protocol, or of a version to come, learns what to speak. A socket closed
    without a word may be the work of a balancer, hence a suspicion; told only of servers that
    speak AMQP in this capture, and of clients that have sent as much as a header.

    Bad:
        client: octets 0x48454c4f20776f726c640d0a
        server: FIN   # <- VER-009

    Good:
        client: octets 0x474554202f20485454502f312e310d0a
        server: header AMQP 1.0.0
        server: FIN
    """
    own, partner, frame = event.own, event.partner, event.frame
    if own.finished != "fin" or own.frames or partner.headers:
        return
    if not (own.anchored and partner.anchored) or partner.finished or partner.frames != 1:
        return
    if frame.sender == CLIENT and not frame.offset and frame.unit.faults and not frame.cut:
        text = f"the server closes without a header after the client's {frame.raw[:8].hex(' ')}"
        report.suspect(event, text, "header")


@rule("VER-014", "2.2", IMPLIED, WARNING, on="finished")
def header_truncated(event: Event, report: Reporter) -> None:
    """A protocol header has eight octets.

    A stream that ends inside it is left by a crash or a port scanner, hence a suspicion.

    Bad:
        client: header AMQP 1.0.0
        server: octets 0x414d515000
        server: FIN   # <- VER-014

    Bad:
        client: octets 0x414d515000
        client: FIN   # <- VER-014

    Good:
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        server: FIN
    """
    frame, own = event.frame, event.own
    if not frame.cut or frame.sender != event.peer or own.finished not in {"fin", "rst"}:
        return
    if frame.raw[:4] == b"AMQP"[: len(frame.raw)]:
        report.suspect(
            event,
            f"the {PEERS[event.peer]} ends its stream after {len(frame.raw)} octets of a header",
            "header",
        )
