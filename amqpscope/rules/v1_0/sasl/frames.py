"""SASL frames and the borders of the SASL layer (SAS; spec 5.3, 5.3.1).

A layer begins with a protocol header in each direction and ends with the header of the next one.
Which layer a peer is in follows from its own last header alone, so nothing here depends on what was
in flight, but for what a client does after a refusal that it may not have read.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import KIND, Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER, Sasl
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.sasl.exchange import followed_sasl
from amqpscope.rules.v1_0.sasl.fields import CODES
from amqpscope.rules.v1_0.topics import LEFT_SASL
from amqpscope.stream.types import PEERS
from dissectors.errors import Damage
from dissectors.v1_0.bodies import (
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.wire import Header, Unit

MIN_MAX_FRAME_SIZE: Final = 512
AMQP: Final = 0
SASL: Final = 3
MISPLACED: Final = KIND["misplaced"]
SASL_HEADER: Final = Header(SASL, 1, 0, 0)


@rule("SAS-001", "5.3", MUST, ERROR, on="sasl", needs="anchored")
def sasl_header_wrong(event: Event, report: Reporter) -> None:
    """Each peer begins the SASL layer with the header "AMQP" 3 1 0 0 before its first SASL frame.

    The header is what tells SASL from AMQP and TLS, and which version is meant. A client may ask
    for another version, but not go on when the server has answered with this one. (A server that
    goes on after headers that differ is reported by VER-006.)

    Bad:
        client: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]   # <- SAS-001

    Bad:
        client: header SASL 1.1.0
        server: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS   # <- SAS-001

    Good:
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
    """
    own = event.own
    if broken(event.frame.unit):
        return
    if not own.headers:
        if not own.frames and not event.frame.offset:
            report.sure(event, f"the {PEERS[event.peer]} sends SASL frames without a header")
        return
    last = own.headers[-1]
    if event.peer != CLIENT or last.header.id != SASL or last.header == SASL_HEADER:
        return
    other = event.partner.headers
    if own.last_mark is not last.mark or not other or not event.partner.anchored:
        return
    if other[-1].header == SASL_HEADER and event.knew(other[-1].mark):
        report.sure(
            event,
            f"the client goes on after the header {last.header}, which the server refused",
            "header",
            ((last.mark, "its header"), (other[-1].mark, "the server's answer")),
        )


@rule("SAS-003", "5.3.1", IMPLIED, ERROR, on="misplaced")
def sasl_frame_type_wrong(event: Event, report: Reporter) -> None:
    """Between its SASL header and its next header a peer sends only frames of type 1.

    The other peer's SASL code cannot read anything else, and many close at once. A client may send
    the AMQP header and its open before the outcome has come: the header makes them no SASL.

    Bad (sasl_init):
        client: open container-id="c"   # <- SAS-003

    Good (sasl_init):
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
        server: open container-id="s"
    """
    unit = event.frame.unit
    if event.own.layer != SASL or broken(unit):
        return
    sasl = event.connection.sasl
    if sasl.outcome is not None or sasl.opaque or sasl.nested:
        return
    headers = event.own.headers
    report.sure(
        event,
        f"the {PEERS[event.peer]} sends {unit.name}, of type {unit.type}, in the SASL layer",
        "type",
        ((headers[-1].mark if headers else None, "the header that began the SASL layer"),),
    )


def broken(unit: Unit) -> bool:
    """The frame's own header is damaged, so that its type means nothing."""
    return bool(unit.faults) and unit.faults[0].kind is Damage.FRAME


@rule("SAS-004", "5.3.1", SHOULD, WARNING, on="sasl")
def sasl_header_bytes_not_zero(event: Event, report: Reporter) -> None:
    """Octets 6 and 7 of a SASL frame, where other frames have their channel, are zero.

    Bad (sasl):
        client: sasl-init[1] mechanism=:ANONYMOUS   # <- SAS-004

    Good (sasl):
        client: sasl-init[0] mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
    """
    channel = event.frame.unit.channel
    if channel and not broken(event.frame.unit):
        report.sure(event, f"octets 6 and 7 of a SASL frame are 0x{channel:04x}, not 0", "channel")


@rule("SAS-005", "5.3.1", SHOULD, WARNING, on="sasl")
def sasl_doff_not_two(event: Event, report: Reporter) -> None:
    """A SASL frame has no extended header: its data offset is 2.

    Bad (sasl):
        client: sasl-init[0 extended=0x00000000] mechanism=:ANONYMOUS   # <- SAS-005

    Good (sasl_init):
        server: sasl-outcome code=ok
    """
    doff = event.frame.unit.head // 4
    if doff > 2 and not broken(event.frame.unit):
        report.sure(event, f"the data offset of a SASL frame is {doff}, not 2", "doff")


@rule("SAS-006", "5.3.1", MUST, ERROR, on="sasl")
def sasl_frame_too_large(event: Event, report: Reporter) -> None:
    """A SASL frame has at most 512 octets.

    There is no way to agree on more, and a peer may drop what exceeds it. Tokens and tickets often
    need more, and many brokers take more; it is their choice, and others may not.

    Bad (sasl_headers):
        server: sasl-mechanisms sasl-server-mechanisms=[
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-1
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-2
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-3
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-4
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-5
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-6
                :X-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHANISM-NAME-LONG-MECHA-7
                :ANONYMOUS]   # <- SAS-006

    Good (sasl_init initial-response=b"trace"):
        server: sasl-outcome code=ok
    """
    frame = event.frame
    size = len(frame.raw) + frame.missing
    if size > MIN_MAX_FRAME_SIZE and not broken(frame.unit):
        report.sure(
            event, f"a SASL frame of {size} octets, the most is {MIN_MAX_FRAME_SIZE}", "size"
        )


@rule("SAS-007", "5.3.1", MUST, ERROR, on="sasl")
def sasl_body_not_one_type(event: Event, report: Reporter) -> None:
    """The body of a SASL frame is exactly one of the five SASL types, and nothing after it.

    Bad (sasl):
        client: open[0 type=1] container-id="c"   # <- SAS-007

    Bad (sasl):
        client: sasl-init mechanism=:ANONYMOUS | 0x00   # <- SAS-007

    Good (sasl):
        client: sasl-init'symbol mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
    """
    unit = event.frame.unit
    if unit.kind == "empty" or event.frame.missing or broken(unit):
        return
    if event.own.layer == AMQP and event.own.headers:
        return  # no SASL frame at all is due here, whatever is in it: FRM-005
    body = event.unit.body
    if body is None:
        if not unit.faults:
            found = "a type that is none of the five"
        elif unit.faults[0].kind is Damage.NOT_DESCRIBED and not unit.faults[0].path:
            found = "no described type"
        else:
            return
        report.sure(event, f"the body of a SASL frame is {found}", "body")
    elif not isinstance(
        body, SaslMechanisms | SaslInit | SaslChallenge | SaslResponse | SaslOutcome
    ):
        report.sure(
            event, f"a SASL frame carries {body.row.name}, which is not a SASL type", "body"
        )
    elif unit.payload < len(event.frame.raw) and not unit.faults:
        more = len(event.frame.raw) - unit.payload
        report.sure(event, f"{more} octets follow {body.row.name} in its SASL frame", "body")


@rule("SAS-008", "5.3.1", MUST, ERROR, on="sasl empty")
def sasl_frame_empty(event: Event, report: Reporter) -> None:
    """No SASL frame is empty.

    An empty frame keeps an AMQP connection alive; in the SASL layer it is an error from which there
    is no way back. Stacks that start their heartbeat before the layer is through send it.

    Bad (sasl):
        client: empty[0 type=1]   # <- SAS-008

    Good (sasl_done):
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: empty
    """
    report.sure(event, f"the {PEERS[event.peer]} sends an empty SASL frame", "size")


@rule("SAS-023", "5.3.3.5", MUST, ERROR, on="misplaced")
def sasl_success_not_followed_by_header(event: Event, report: Reporter, sasl: Sasl) -> None:
    """After a successful SASL exchange each peer begins the next layer with a protocol header.

    Whatever layer follows, AMQP, TLS or SASL again, its header comes before anything else. The
    server may send its header together with the outcome. Mechanisms that wrap what follows in a
    layer of their own are left alone.

    Bad (sasl_done):
        server: open container-id="s"   # <- SAS-023

    Good (sasl_done):
        server: header AMQP 1.0.0
        server: open container-id="s"
        client: header AMQP 1.0.0
        client: open container-id="c"
    """
    unit = event.frame.unit
    if event.own.layer != SASL or unit.type == 1 or broken(unit):
        return
    if sasl.outcome is None or sasl.outcome.code != 0 or sasl.opaque or sasl.nested:
        return
    report.sure(
        event,
        f"the {PEERS[event.peer]} sends {unit.name} after the SASL exchange without a new header",
        "header",
        ((sasl.outcome_mark, "the outcome"),),
    )


@rule("SAS-024", "5.3.3.5", IMPLIED, ERROR, on="header | misplaced")
def sasl_failure_ignored(event: Event, report: Reporter, sasl: Sasl) -> None:
    """After a sasl-outcome other than ok the connection is over for both peers.

    A server that goes on lets in a client that it has just refused: a security hole. What a client
    sent before it could read the outcome is in flight, and no fault; whether it had read it is not
    seen on the wire, so a client is only suspected.

    Bad (sasl_refused):
        server: header AMQP 1.0.0   # <- SAS-024

    Good (sasl_refused):
        client~1: header AMQP 1.0.0
        client~1: open container-id="c"
        server: FIN
    """
    if not sasl.failed or followed_sasl(event) is None or report.has_reported(LEFT_SASL, event.own):
        return
    unit = event.frame.unit
    if unit.header is None and (event.own.layer != SASL or unit.type == 1 or broken(unit)):
        return
    code = 0 if sasl.outcome is None or sasl.outcome.code is None else sasl.outcome.code
    name = CODES[code] if code < len(CODES) else str(code)
    text = f"the {PEERS[event.peer]} goes on with {unit.name} after the sasl-outcome {name}"
    evidence = ((sasl.outcome_mark, "the outcome"),)
    if event.peer == SERVER:
        report.sure(event, text, "", evidence)
    elif event.knew(sasl.outcome_mark):
        late = event.since(sasl.outcome_mark) > GRACE
        report.suspect(event, text, "", evidence, severity=WARNING if late else INFO)
    else:
        return
    report.once(event.own, topic=LEFT_SASL)
