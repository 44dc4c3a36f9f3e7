"""Protocol headers: who asks for which version, and who refuses it (A09-FRM-01 to 06; 4.2.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.foreign import speaks_otherwise
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method
from dissectors.v0_9.versions import DIALECT_OF

RANKS: Final = {
    # what connection.start says as its version: how new that is
    (10, 3): 0,
    (8, 0): 1,
    (0, 8): 1,
    (0, 9): 2,
    (0, 91): 2,
    (9, 1): 2,
    (0, 10): 3,
    (1, 0): 4,
}
FRAME_TYPES: Final = range(1, 11)
"""The first octets that a frame of any version can have."""
RANK_OF: Final = {"10-3": 0, "0-8": 1, "0-9": 2, "0-9-1": 2}
"""The rank of the version that a client's header asks for."""


def asked_dialect(event: Event) -> str:
    """The dialect that the client's header asks for; empty for one that nobody knows."""
    header = event.connection.ends[CLIENT].header
    return "" if header is None else DIALECT_OF.get(bytes(header), "")


@rule("A09-FRM-01", "4.2.2, 2.2.4", MUST, ERROR, on="early frame", needs="client anchored")
def not_amqp_header(event: Event, report: Reporter) -> None:
    """The first that a client sends is a protocol header of eight octets.

    Without it the server cannot know which version the client speaks, and closes. TLS or HTTP at a
    port that is not theirs means something else.

    Bad:
        client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-FRM-01
        client: FIN
        server: FIN

    Good (header):
        server: header AMQP 0.9.1
        server: FIN
        client: FIN
    """
    if not (event.own.frames or event.frame.cut or speaks_otherwise(event.frame.raw)):
        report.sure(event, f"the client begins with {event.name}, not with a protocol header")


@rule("A09-FRM-02", "4.2.2, 1.5.2", IMPLIED, WARNING, on="header", needs="client")
def unknown_amqp_version(event: Event, report: Reporter) -> None:
    """The client asks for a version that exists.

    All eight octets count: `1 1` and a version of two numbers up to 0-10, and from 0-9-1 on a zero
    and a version of three. Texts of 0-9 show other numbers in an example; no broker knows them.

    Bad:
        client: header 1 1.0.11   # <- A09-FRM-02
        server: header AMQP 0.9.1
        server: FIN
        client: FIN

    Good:
        client: header 1 1.9.1
        server: header AMQP 0.9.1
        server: FIN
        client: FIN
    """
    header = event.unit.header
    if header is not None and event.own.header is None and bytes(header) not in DIALECT_OF:
        said = " ".join(map(str, header))
        report.sure(event, f"the client asks for AMQP {said}, which is not a version", "header")


@rule(
    "A09-FRM-03",
    "4.2.2",
    MUST,
    WARNING,
    on="finished | early malformed | connection.close",
    needs="server anchored",
)
def unsupported_version_answer_broken(event: Event, report: Reporter) -> None:
    """A server that does not speak the client's version says which one it does, and closes.

    Closed without a word, the client cannot tell a wrong version from a server that is down. What
    closes may also be a load balancer before it.

    Bad (header):
        server: FIN   # <- A09-FRM-03
        client: FIN

    Good (header):
        server: header AMQP 0.9.1
        server: FIN
        client: FIN

    Bad (header):
        server: connection.close reply-code=501 reply-text="FRAME_ERROR"   # <- A09-FRM-03
        server: FIN
        client: FIN

    Bad (header):
        server: octets 0x485454502f312e31203430300d0a   # <- A09-FRM-03, A09-FRM-08
        server: FIN
        client: FIN

    Good (header):
        server: header 1 1.8.0
        server: FIN
        client: FIN
    """
    own, connection = event.own, event.connection
    if own.frames or connection.stage != stages.HDR:
        return
    if event.name == "connection.close":
        text = "the server refuses the client's header with connection.close, not with a header"
        related = ((event.partner.header_mark, "the header"),)
        report.sure(event, text, "header", related, severity=ERROR)
    elif event.name != "finished":
        if not event.frame.cut and event.frame.raw[0] not in FRAME_TYPES:
            text = "the server answers the client's header with neither a header nor a frame"
            report.suspect(event, text, "header", ((event.partner.header_mark, "the header"),))
    elif own.finished == "fin" and not event.partner.finished:
        text = "the server closes upon the client's header without saying which version it speaks"
        report.suspect(event, text, "header", mark=event.partner.header_mark)


@rule("A09-FRM-04", "4.2.2", MUST, ERROR, on="early", needs="server anchored")
def data_after_refusal_header(event: Event, report: Reporter) -> None:
    """A server that answers with a header sends nothing else.

    Bad (header):
        server: header 1 1.8.0
        server: connection.start version-major=8 mechanisms="PLAIN" locales="en_US" # <- A09-FRM-04

    Good (header):
        server: header 1 1.8.0
        server: FIN
        client: FIN
    """
    own = event.own
    if own.header is not None:
        related = ((own.header_mark, "its header"),)
        text = f"the server refuses with a header and then sends {event.name}"
        report.sure(event, text, "", related)


@rule("A09-FRM-05", "4.2.2", MUST, WARNING, on="early", needs="client")
def client_data_after_refusal(event: Event, report: Reporter) -> None:
    """A client that was refused sends nothing more on this connection.

    What was under way when the refusal came is not meant, so a second has to pass.

    Bad (header):
        server: header 1 1.8.0
        @2s client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-FRM-05

    Good (header):
        server: header 1 1.8.0
        client: FIN
        server: FIN
    """
    partner = event.partner
    if event.connection.stage != stages.REFUSED:
        return
    if event.knew(partner.header_mark) and event.since(partner.header_mark) > GRACE:
        related = ((partner.header_mark, "the refusal"),)
        report.suspect(event, f"the client sends {event.name} after it was refused", "", related)


@rule("A09-FRM-06", "1.1.1.1", MUST, ERROR, on="connection.start")
def start_version_above_request(event: Event, report: Reporter, method: Method) -> None:
    """The server does not start a later version than the client asked for.

    Bad:
        client: header 1 1.8.0
        server: connection.start version-major=0 version-minor=10 mechanisms="PLAIN"
                locales="en_US"   # <- A09-FRM-06

    Good:
        client: header 1 1.8.0
        server: connection.start version-major=8 version-minor=0 mechanisms="PLAIN"
                locales="en_US" server-properties={product="b" version="1" platform="p"
                copyright="c" information="i"}
    """
    wanted = RANK_OF.get(asked_dialect(event))
    version = (method.get("version-major"), method.get("version-minor"))
    if wanted is not None and RANKS.get(version, 0) > wanted:
        started = f"{version[0]}-{version[1]}"
        text = f"the server starts {started}, the client asked for {asked_dialect(event)}"
        related = ((event.partner.header_mark, "the client's header"),)
        report.sure(event, text, "connection.start.version-minor", related)
