"""TLS begun inside the connection by a protocol header of its own (TLS; spec 5.2).

What lies inside TLS records is taken off before it comes here, so what follows a TLS header is
either what was decrypted, which begins with the header of the next layer, or it was never TLS.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.sasl.frames import broken
from amqpscope.stream.types import PEERS
from dissectors.wire import Header

TLS: Final = 2
TLS_HEADER: Final = Header(TLS, 1, 0, 0)


@rule("TLS-001", "5.2", MUST, ERROR, on="misplaced | malformed", needs="anchored")
def tls_layer_start_broken(event: Event, report: Reporter) -> None:
    """Each peer that agrees to TLS sends the header "AMQP" 2 1 0 0, and then nothing but TLS.

    Frames right after that header are in the clear, which is what TLS was to prevent. A server
    that answers with TLS records has left out its own header. TLS without any such header, as on
    port 5671, is another way to begin and is not meant; frames inside TLS are reported by TLS-011.

    Bad (tls):
        client: open container-id="c"   # <- TLS-001

    Bad:
        client: header TLS 1.0.0
        server: octets 0x16030300400200003c   # <- TLS-001

    Good (tls):
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: header AMQP 1.0.0
        server: open container-id="s"
    """
    own, frame = event.own, event.frame
    if frame.missing:
        return
    if own.headers:
        if own.layer == TLS and not broken(frame.unit) and not inside(event):
            report.sure(
                event,
                f"the {PEERS[event.peer]} goes on with {frame.unit.name} after its TLS header",
                "header",
                ((own.headers[-1].mark, "its TLS header"),),
            )
        return
    theirs = event.partner.headers
    if own.frames or not theirs or theirs[0].header.id != TLS or len(theirs) > 1:
        return
    if broken(frame.unit) and record(frame.raw):
        report.sure(
            event,
            f"the {PEERS[event.peer]} sends TLS records without a TLS header of its own",
            "header",
            ((theirs[0].mark, "the TLS header of the other peer"),),
        )


def inside(event: Event) -> bool:
    """Whether TLS records of this peer were opened, so that what it sends is inside them."""
    carrier = event.connection.carrier
    tls = None if carrier is None else carrier.tls
    return tls is not None and any(tls.hello) and not tls.plain[event.peer]


def record(raw: bytes) -> bool:
    """Whether octets begin a TLS handshake.

    An alert is what a server says that expects TLS without any header, and no fault of its own.
    """
    return len(raw) >= 3 and raw[0] == 0x16 and raw[1] == 3 and raw[2] <= 4


@rule("TLS-011", "5.1", IMPLIED, WARNING, on="misplaced", needs="anchored")
def tls_inner_header_missing(event: Event, report: Reporter) -> None:
    """Inside TLS that a header has begun, each peer starts anew with a header of its own.

    The TLS header names the TLS layer and no other: which layer comes next, SASL or AMQP, is
    shown by the first eight octets inside. Seen only where the records can be decrypted.

    Bad (tls):
        client: TLS client-hello
        server: TLS server-hello
        client: open container-id="c"   # <- TLS-011

    Good (tls):
        client: TLS client-hello
        server: TLS server-hello
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: header AMQP 1.0.0
        server: open container-id="s"
    """
    own, unit = event.own, event.frame.unit
    if own.layer != TLS or event.frame.missing or broken(unit):
        return
    if inside(event):
        report.sure(
            event,
            f"the {PEERS[event.peer]} begins with {unit.name} inside TLS, without a header",
            "header",
            ((own.headers[-1].mark, "its TLS header"),),
        )


@rule("TLS-012", "5.1", IMPLIED, INFO, on="header", needs="anchored")
def tls_inside_tls(event: Event, report: Reporter) -> None:
    """A peer begins TLS once.

    TLS inside TLS is legal, and surely a mistake: it encrypts twice and authenticates nobody else.

    Bad (tls):
        client: header TLS 1.0.0   # <- TLS-012

    Good (tls):
        client: header SASL 1.0.0
    """
    header = event.frame.unit.header
    if header is None or header.id != TLS:
        return
    for seen in event.own.headers:
        if seen.header.id == TLS:
            report.sure(
                event,
                f"the {PEERS[event.peer]} begins TLS inside TLS",
                "header",
                ((seen.mark, "its first TLS header"),),
            )
            return


@rule("TLS-013", "5.2.2", MUST, WARNING, on="header", needs="anchored")
def tls_header_version_wrong(event: Event, report: Reporter) -> None:
    """A TLS header names version 1.0.0.

    A client may ask for a version that is yet to come, hence a warning.

    Bad:
        client: header TLS 1.1.0   # <- TLS-013

    Good:
        client: header TLS 1.0.0
        server: header TLS 1.0.0
    """
    header = event.frame.unit.header
    if header is None or header.id != TLS or header == TLS_HEADER:
        return
    report.sure(event, f"a TLS header of version {str(header)[4:]}, not 1.0.0", "header")
