"""How the layers beneath AMQP were set up: TLS and WebSocket (TLS; spec 5.2.1, 2.8.19).

The capture's reader notes what a TLS handshake shows in the clear and what a WebSocket agreed on
(`stream.types.Tls`, `stream.types.WebSocket`). These are no frames, so what is found is reported at
the first header of the peer at fault, or at the header that shows it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS, Certificate, Tls, WebSocket

AMQPS: Final = 5671
"""The port for AMQP inside TLS (2.8.19)."""
ALERT: Final = 21
HANDSHAKE: Final = 22
TLS_HEADER: Final = 2
SUBPROTOCOLS: Final = frozenset(("amqp", "amqpwsb10", "binary"))
"""What AMQP over WebSocket is called: by the binding, by Azure's older services, by proxies."""


def tls_of(event: Event) -> Tls | None:
    """What was seen of TLS beneath a connection whose beginning was captured."""
    carrier = event.connection.carrier
    return None if carrier is None or not carrier.complete else carrier.tls


def start_of(event: Event, peer: int) -> Mark | None:
    """A peer's first header."""
    headers = event.connection.ends[peer].headers
    return headers[0].mark if headers else None


@rule("TLS-003", "5.2", IMPLIED, ERROR, on="header | finished")
def tls_roles_reversed(event: Event, report: Reporter) -> None:
    """The peer that opened the TCP connection is the client of TLS too.

    A ClientHello of the server meets a peer that waits for one, or sends its own. Reported where
    TLS is begun by a header, and only when the capture shows who opened the connection.

    Bad:
        client: header TLS 1.0.0
        server: header TLS 1.0.0   # <- TLS-003
        server: TLS client-hello
        client: FIN

    Good (tls):
        client: TLS client-hello
        server: TLS server-hello
        client: FIN
    """
    tls = tls_of(event)
    if tls is None or not tls.hello[SERVER]:
        return
    mark = start_of(event, SERVER)
    if mark is not None and report.once(event.connection):
        text = f"the server begins TLS with a ClientHello, in packet {tls.hello[SERVER]}"
        report.sure(event, text, "header", peer=SERVER, mark=mark)


@rule("TLS-006", "5.2", MUST, WARNING, on="header")
def tls_certificate_not_validated(event: Event, report: Reporter) -> None:
    """A client goes on inside TLS only with a server whose certificate it has validated.

    One that has run out, or is for other names than the client asks for, does not pass. Whom a
    client trusts is not on the wire: it may know the certificate itself, hence a suspicion, and
    who signed it is not judged. Certificates pass in the clear up to TLS 1.2.

    Bad:
        client: TLS client-hello broker.example
        server: TLS server-hello
        server: TLS certificate broker.example until 2021
        client: header AMQP 1.0.0   # <- TLS-006

    Bad:
        client: TLS client-hello broker.example
        server: TLS server-hello
        server: TLS certificate other.example until 2099
        client: header AMQP 1.0.0   # <- TLS-006

    Good:
        client: TLS client-hello broker.example
        server: TLS server-hello
        server: TLS certificate *.example until 2099
        client: header AMQP 1.0.0
    """
    tls = tls_of(event)
    if tls is None or event.peer != CLIENT or tls.certificate is None or tls.plain[CLIENT]:
        return
    if event.connection.encrypted or event.own.layer == TLS_HEADER:
        wrong = invalid(tls.certificate, tls.server_name, event.time)
        if wrong and report.once(event.connection):
            text = f"the client goes on although the server's certificate {wrong}"
            report.suspect(event, text, "header")


def invalid(certificate: Certificate, name: str, time: int) -> str:
    """Why a certificate does not count at a time for a name; empty where it does."""
    if time > certificate.not_after:
        return f"expired on {day(certificate.not_after)}"
    if time < certificate.not_before:
        return f"is not valid before {day(certificate.not_before)}"
    names = certificate.names
    if name and names and not any(fits(one, name) for one in names):
        return f'is for {", ".join(names[:3])} and not for "{name}"'
    return ""


def day(time: int) -> str:
    """A time as its date."""
    return datetime.fromtimestamp(time // 1_000_000_000, UTC).strftime("%Y-%m-%d")


def fits(pattern: str, name: str) -> bool:
    """Whether a certificate's name is the one asked for; a star stands for one label."""
    name = name.rstrip(".")
    if pattern.startswith("*."):
        return name.partition(".")[2] == pattern[2:]
    return pattern.rstrip(".") == name


@rule("TLS-009", "2.8.19", SHOULD, WARNING, on="header | malformed")
def secure_port_expects_amqp_header(event: Event, report: Reporter) -> None:
    """On port 5671 TLS comes first, without any AMQP header before it.

    A server that answers a ClientHello there with a header expects what is meant for port 5672, and
    so does a client that sends a header and gets a TLS alert.

    Bad (amqps):
        client: TLS client-hello
        server: header AMQP 1.0.0   # <- TLS-009
        server: FIN

    Bad (amqps):
        client: header AMQP 1.0.0   # <- TLS-009
        server: TLS alert 70
        server: FIN

    Good (amqps):
        client: TLS client-hello
        server: TLS server-hello
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
    """
    carrier = event.connection.carrier
    if carrier is not None and carrier.server[1] == AMQPS:
        if answers_tls_plainly(event):
            text = f"the server answers TLS on port {AMQPS} with {event.frame.unit.header}"
            report.sure(event, text, "header")
        elif answers_plain_by_tls(event):
            text = f"the client sends a header in the clear to port {AMQPS}, which is for TLS"
            related = ((event.mark, "the server answers with a TLS record"),)
            report.sure(event, text, "header", related, peer=CLIENT, mark=start_of(event, CLIENT))


@rule("TLS-010", "5.2.1", ADVISORY, WARNING, on="header | malformed")
def tls_plain_mixed_up(event: Event, report: Reporter) -> None:
    """A client speaks TLS where the server does, and AMQP in the clear where the server does not.

    A ClientHello sent to a plain port is answered with an AMQP header, an AMQP header sent to a TLS
    port with an alert. Most often the port or the scheme in the client's set-up is wrong. (TLS-009
    speaks of port 5671.)

    Bad:
        client: TLS client-hello
        server: header AMQP 1.0.0   # <- TLS-010
        server: FIN

    Bad:
        client: header AMQP 1.0.0   # <- TLS-010
        server: TLS alert 70
        server: FIN

    Good:
        client: header TLS 1.0.0
        server: header AMQP 1.0.0
        server: FIN
    """
    carrier = event.connection.carrier
    if carrier is None or carrier.server[1] == AMQPS:
        return
    if answers_tls_plainly(event):
        text = f"the client begins TLS, the server answers with {event.frame.unit.header}"
        report.sure(event, text, "header", peer=CLIENT)
    elif answers_plain_by_tls(event):
        text = "the client sends a header in the clear, the server answers with a TLS record"
        related = ((event.mark, "the server's answer"),)
        report.sure(event, text, "header", related, peer=CLIENT, mark=start_of(event, CLIENT))


def answers_tls_plainly(event: Event) -> bool:
    """A server's first octets are a header in the clear, the client's were a ClientHello."""
    tls = tls_of(event)
    if tls is None or event.frame.unit.header is None or event.peer != SERVER:
        return False
    plain = tls.plain[SERVER] and tls.hello[CLIENT] > 0
    return plain and not event.own.headers and not event.partner.headers


def answers_plain_by_tls(event: Event) -> bool:
    """A server's first octets are a TLS record, the client's were a header of AMQP or SASL."""
    own, partner, raw = event.own, event.partner, event.frame.raw
    if event.peer != SERVER or own.frames or not own.anchored or event.frame.offset:
        return False
    if not partner.headers or partner.headers[0].header.id == TLS_HEADER:
        return False
    return len(raw) >= 3 and raw[0] in (ALERT, HANDSHAKE) and raw[1] == 3 and raw[2] <= 4


@rule("TLS-015", "WebSocket binding", ADVISORY, WARNING, on="header | finished")
def websocket_binding_wrong(event: Event, report: Reporter) -> None:
    """AMQP over WebSocket is agreed on as subprotocol "amqp" and goes in binary messages.

    Without the name a server cannot know what it will be spoken to in, and a browser's client drops
    a connection whose server does not repeat it. Octets are no text: a text message that is not
    UTF-8 ends the WebSocket. The older name AMQPWSB10 and the "binary" of proxies pass.

    Bad:
        client: HTTP upgrade
        server: HTTP switching
        client: header AMQP 1.0.0   # <- TLS-015

    Bad:
        client: HTTP upgrade amqp
        server: HTTP switching amqp
        client: HTTP text messages follow
        client: header AMQP 1.0.0   # <- TLS-015
        client: FIN

    Good:
        client: HTTP upgrade amqp
        server: HTTP switching amqp
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
    """
    carrier = event.connection.carrier
    websocket = None if carrier is None else carrier.websocket
    if websocket is None:
        return
    peer = event.peer
    if websocket.text[peer] and report.once(event.connection.ends[peer], topic="TLS-015 text"):
        mark = start_of(event, peer) or event.mark
        text = f"the {PEERS[peer]} sends AMQP in text messages, from packet {websocket.text[peer]}"
        report.sure(event, text, "websocket", mark=mark)
    wrong = subprotocol_fault(websocket, peer)
    if (
        wrong
        and event.frame.unit.header is not None
        and report.once(event.connection.ends[peer], topic="TLS-015 name")
    ):
        report.sure(event, f"the {PEERS[peer]} {wrong}", "websocket")


def subprotocol_fault(websocket: WebSocket, peer: int) -> str:
    """What is wrong with a peer's part in the choice of a subprotocol."""
    asked, agreed = websocket.asked, websocket.agreed
    if asked is None:
        return ""
    known = SUBPROTOCOLS.intersection(name.lower() for name in asked)
    if peer == CLIENT:
        if known:
            return ""
        named = f"only for {', '.join(asked)}" if asked else "for no subprotocol"
        return f'asks {named} in its WebSocket request, where "amqp" is due'
    if agreed is None:
        return "does not repeat the subprotocol in its WebSocket response" if known else ""
    if agreed not in asked:
        return f'answers with the WebSocket subprotocol "{agreed}", which was not asked for'
    return ""
