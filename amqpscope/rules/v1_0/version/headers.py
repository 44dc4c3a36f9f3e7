"""Protocol headers and what the two peers agree on by them (VER; spec 2.2).

Headers are compared in order, the first of one peer with the first of the other and so on: SASL
and TLS layers have headers too. That they differ is a refusal and no fault; continuing is the
fault. Headers that are late, cut short or none at all are in `start`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.connection import ConnectionEnd, SeenHeader
from amqpscope.model.v1_0.event import Event
from amqpscope.rules.foreign import speaks_otherwise
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS
from dissectors.wire import PROTOCOL_IDS, Header, u32

CLIENT: Final = 0
SERVER: Final = 1
AMQP: Final = 0
TLS: Final = 2
SASL_HEADER: Final = Header(3, 1, 0, 0)
CURRENT: Final = frozenset(Header(id, 1, 0, 0) for id in PROTOCOL_IDS)
"""The headers of 1.0, in its three layers."""
PUBLISHED: Final = CURRENT | frozenset(
    (
        Header(0, 0, 9, 1),
        Header(1, 1, 0, 9),
        Header(1, 1, 8, 0),
        Header(1, 1, 9, 1),
        Header(1, 1, 0, 10),
    )
)
"""The headers of all versions: besides 1.0 those of 0-9-1, 0-9, 0-8 (two) and 0-10."""
FRAME_END: Final = 0xCE
"""The last octet of a frame of 0-9."""


@rule("VER-001", "2.2", MUST, ERROR, on="unopened | header", needs="anchored")
def header_missing(event: Event, report: Reporter) -> None:
    """A peer sends a protocol header before anything else.

    Its partner cannot know which protocol and version the frames are of, and closes. Reported only
    when the beginning of the TCP connection was seen, and the octets are AMQP frames otherwise, or
    are answered with a header. TLS or HTTP at a port that is not theirs means something else.

    Bad:
        client: header AMQP 1.0.0
        server: open container-id="s"   # <- VER-001

    Good:
        server: header AMQP 1.0.0
        server: open container-id="s"
        client: header AMQP 1.0.0
        client: open container-id="c"
    """
    own, unit = event.own, event.frame.unit
    if own.frames or own.headers or event.frame.offset:
        return
    odd = event.partner.odd_start
    if event.peer == SERVER and unit.header is not None and odd is not None:
        mark, octets = odd
        if event.partner.anchored and not speaks_otherwise(octets):
            text = f"the client begins with {octets.hex(' ')}, which is not a header"
            related = ((event.mark, "the header that answers"),)
            report.sure(event, text, "header", related, peer=CLIENT, mark=mark)
    if event.unit.body is not None and not unit.faults and not event.frame.cut:
        report.sure(
            event,
            f"the {PEERS[event.peer]} begins with {unit.name} instead of a protocol header",
            "header",
        )


@rule("VER-002", "2.2", MUST, ERROR, on="header", needs="anchored")
def header_malformed(event: Event, report: Reporter) -> None:
    """A protocol header is "AMQP", an id and a version that some specification has.

    A client may ask for any version that exists, and a server may answer with another: no fault.
    An id of 1.0 with another version may be of a revision to come, and gets a warning.

    Bad:
        client: octets 0x414d515007010000   # <- VER-002

    Good:
        client: header AMQP 1.0.0
        server: octets 0x414d515000000901
    """
    header = event.frame.unit.header
    if header is None or header in PUBLISHED:
        return
    octets = f"{header.id} {header.major} {header.minor} {header.revision}"
    if header.id == TLS:
        return  # TLS-013 speaks of it.
    if header.id in PROTOCOL_IDS:
        text = f'the header "AMQP" {octets} asks for a version other than 1.0.0'
        report.sure(event, text, "header", severity=WARNING)
    else:
        report.sure(event, f'the header "AMQP" {octets} is of no version of AMQP', "header")


@rule("VER-005", "2.2", MUST, WARNING, on="finished", needs="server")
def supported_version_echoed(event: Event, report: Reporter) -> None:
    """A server that answers with the client's own header goes on with its open.

    To refuse a client it opens and closes with an error, or answers with another header. A crash
    looks the same, so this is a suspicion; and a client that sends no open, or anything that is
    not in order, has given the server its reason.

    Bad:
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0   # <- VER-005
        client: open container-id="c"
        server: FIN

    Good:
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        server: FIN
        client: FIN
    """
    own, partner = event.own, event.partner
    if own.finished != "fin" or partner.finished or own.open is not None:
        return
    if not (own.anchored and partner.anchored) or partner.damaged or not own.headers:
        return
    if partner.open is None or doubled(partner) or not event.connection.clean(CLIENT):
        return
    last = own.headers[-1]
    if last.header.id == AMQP and own.last_mark is last.mark and same_header(own, partner):
        report.suspect(
            event,
            f"the server agrees on {last.header} and closes the socket without an open",
            "open",
            ((partner.open_mark, "the client's open"),),
            mark=last.mark,
        )


def same_header(own: ConnectionEnd, partner: ConnectionEnd) -> bool:
    """Both peers' headers of this layer are there, and equal."""
    layer = len(own.headers)
    return len(partner.headers) >= layer and differing(own, partner) is None


def doubled(end: ConnectionEnd) -> bool:
    """A peer has sent a header twice in a row, so that its layers cannot be counted by them."""
    return any(one.header == other.header for one, other in pairwise(end.headers))


def differing(own: ConnectionEnd, partner: ConnectionEnd) -> SeenHeader | None:
    """The partner's header of the layer that this peer is in, if it is not the same as its own."""
    layer = len(own.headers)
    if not layer or len(partner.headers) < layer:
        return None
    other = partner.headers[layer - 1]
    return None if other.header == own.headers[-1].header else other


@rule("VER-006", "2.2", MUST, ERROR, on="unopened | sasl | finished", needs="server")
def unsupported_version_refusal(event: Event, report: Reporter) -> None:
    """A server that does not speak the client's version answers with its own header and closes.

    A client that gets neither a header nor a reason cannot know what to try next. Frames that the
    server wrote before it can have read the client's header are lost, and no fault. Frames sent
    within a second may have been on their way; a socket closed without a header may be the work of
    a balancer: both are only suspected.

    Bad:
        client: header AMQP 1.1.0
        server: header AMQP 1.0.0
        @2s server: open container-id="s"   # <- VER-006

    Bad:
        client: header AMQP 1.0.0   # <- VER-006
        server: FIN

    Bad (sasl_done):
        client: header AMQP 1.0.0   # <- VER-006
        client: open container-id="c"
        server: FIN

    Good:
        server: header AMQP 1.0.0
        server: open container-id="s"
        client: octets 0x414d515000000901
    """
    if event.own.finished:
        closed_without_header(event, report)
    else:
        goes_on(event, report, False)


def closed_without_header(event: Event, report: Reporter) -> None:
    """The server ends its direction and has not answered the client's newest header."""
    own, partner = event.own, event.partner
    layer = len(own.headers)
    if own.finished not in {"fin", "rst"} or partner.finished or len(partner.headers) <= layer:
        return
    asked = partner.headers[layer]
    if asked.header in PUBLISHED - CURRENT or (own.frames and not signed_in(event, asked)):
        return
    if own.anchored and partner.anchored and not partner.damaged and not doubled(partner):
        how = "closes" if own.finished == "fin" else "resets the connection"
        report.suspect(
            event,
            f"the server {how} without a header after the client's {asked.header}",
            "header",
            ((partner.last_mark, "the last frame that it had received"),),
            severity=WARNING if own.finished == "fin" else INFO,
            mark=asked.mark,
        )


def signed_in(event: Event, asked: SeenHeader) -> bool:
    """The server has let the client in, which then began the AMQP layer and did nothing wrong."""
    sasl = event.connection.sasl
    done = sasl.outcome is not None and not sasl.failed
    return done and asked.header.id == AMQP and event.connection.clean(CLIENT)


def layers_differ(one: Header, other: Header) -> bool:
    """Both headers are of 1.0, and of different layers."""
    return one.id != other.id and CURRENT.issuperset((one, other))


def goes_on(event: Event, report: Reporter, ids: bool) -> None:
    """A server sends a frame although the headers differ, in ids or only in versions."""
    own, partner = event.own, event.partner
    other = differing(own, partner)
    if other is None or not own.anchored or not partner.anchored:
        return
    if partner.damaged or doubled(partner):
        return
    mine = own.headers[-1]
    if layers_differ(other.header, mine.header) != ids or own.last_mark is not mine.mark:
        return
    if not event.knew(other.mark):
        return
    late = event.since(other.mark) > GRACE
    answered = other.mark.frame < mine.mark.frame
    text = (
        f"the server goes on with {event.frame.unit.name} after its header {mine.header},"
        f" though the client's is {other.header}"
    )
    related = ((other.mark, "the client's header"), (mine.mark, "the server's header"))
    if late and answered:
        report.sure(event, text, "header", related)
    elif late or answered:
        report.suspect(event, text, "header", related)


@rule("VER-007", "2.2", MUST, WARNING, on="unopened | sasl | begin | attach", needs="client")
def mismatch_both_close(event: Event, report: Reporter) -> None:
    """A client that gets a header other than its own closes; it sends no more frames.

    What it had sent before it read the header is lost and no fault. Nothing on the wire proves that
    it has read it, so frames a second later are only suspected.

    Bad:
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        @3s client: open container-id="c"   # <- VER-007

    Good:
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        client: open container-id="c"
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: FIN
        server: FIN
    """
    own, partner = event.own, event.partner
    other = differing(own, partner)
    if other is None or not own.anchored or not partner.anchored:
        return
    if event.knew(other.mark) and event.since(other.mark) > GRACE:
        if not report.once(own):
            return
        report.suspect(
            event,
            f"the client goes on with {event.frame.unit.name} though the server answered"
            f" {own.headers[-1].header} with {other.header}",
            "header",
            ((own.headers[-1].mark, "the client's header"), (other.mark, "the server's header")),
        )


@rule("VER-011", "2.2", MUST, ERROR, on="unopened | sasl")
def protocol_id_refusal(event: Event, report: Reporter) -> None:
    """A server that wants another layer first (SASL, TLS) says so by its header, then closes.

    The header is the answer: the client connects anew with that id. A server that goes on in the
    layer it prefers talks to a client that is in another. Frames within a second of the client's
    header may have been written before it was read, and are only suspected.

    Bad:
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        @2s server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]   # <- VER-011

    Good:
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
        client: header AMQP 1.0.0
        client: FIN
        server: FIN
    """
    if event.peer == SERVER:
        goes_on(event, report, True)


@rule("VER-012", "2.2", MUST, ERROR, on="malformed", needs="anchored")
def data_matches_version(event: Event, report: Reporter) -> None:
    """What follows a header is of the version that the header names.

    Two frames in a row in the shape of 0-9-1, each with the octet 0xCE where its size puts the end,
    leave no doubt; a single one is only suspected.

    Bad (headers):
        client: octets 0x0100000000000400000000ce0100000000000400000000ce
        client: FIN   # <- VER-012

    Good (headers):
        client: open container-id="c" properties={:a=0x0100000000000400000000ce}
    """
    own = event.own
    if not own.headers:
        return
    count = frames_of_0_9(event.frame.raw)
    if not count:
        return
    text = f"the {PEERS[event.peer]} sends frames of AMQP 0-9-1 after {own.headers[-1].header}"
    related = ((own.headers[-1].mark, "its header"),)
    if count > 1:
        report.sure(event, text, "header", related)
    else:
        report.suspect(event, text, "header", related)


def frames_of_0_9(raw: bytes) -> int:
    """How many frames in the shape of AMQP 0-9-1 stand at the start, up to two."""
    at = 0
    for count in range(2):
        if at + 8 > len(raw) or not 1 <= raw[at] <= 8:
            return count
        stop = at + 7 + u32(raw, at + 3)
        if stop >= len(raw) or raw[stop] != FRAME_END:
            return count
        at = stop + 1
    return 2


@rule("VER-013", "2.2, 2.4.7", IMPLIED, ERROR, on="header", needs="!closed anchored")
def header_repeated(event: Event, report: Reporter) -> None:
    """After the header of the AMQP layer a peer sends no other header.

    A SASL or TLS layer ends with the header of the next one; the AMQP layer ends with the socket.
    In a SASL layer each peer has frames to send, so no header comes right after its header.

    Bad:
        client: header AMQP 1.0.0
        client: header AMQP 1.0.0   # <- VER-013

    Bad (sasl sasl-server-mechanisms=[:PLAIN]):
        client: header AMQP 1.0.0   # <- VER-013

    Good (sasl_init):
        client: header AMQP 1.0.0
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
    """
    own = event.own
    if not own.headers:
        return
    last = own.headers[-1]
    bare = last.header == SASL_HEADER and own.last_mark is last.mark
    if last.header.id == AMQP or (bare and differing(own, event.partner) is None):
        where = "right after that of the SASL layer" if bare else "in the AMQP layer"
        report.sure(
            event,
            f"the {PEERS[event.peer]} sends another header ({event.frame.unit.header}) {where}",
            "header",
            ((last.mark, "the header that began the layer"),),
        )
