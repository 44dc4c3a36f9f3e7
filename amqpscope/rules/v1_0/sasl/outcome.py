"""How a SASL handshake ends: frames after its outcome, no outcome, or silence (SAS; spec 5.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER, Sasl
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, Reporter, rule
from amqpscope.rules.v1_0.sasl.exchange import followed_sasl
from amqpscope.rules.v1_0.topics import LEFT_SASL
from amqpscope.stream.types import PEERS
from dissectors.v1_0.bodies import SaslInit, SaslResponse

STALL: Final = 10_000_000_000
"""Nanoseconds after which a step of the handshake that has not come is worth a word."""


@rule("SAS-020", "5.3.2", IMPLIED, ERROR, on="sasl | header")
def sasl_frame_after_outcome(event: Event, report: Reporter) -> None:
    """One sasl-outcome ends the exchange: none may be left out, and no SASL frame follows it.

    A response that was on its way when the server gave its verdict is no fault.

    Bad (sasl_done):
        server: sasl-outcome code=ok   # <- SAS-020

    Bad (sasl_init):
        server: header AMQP 1.0.0   # <- SAS-020

    Good (sasl_init):
        server: sasl-challenge challenge=b"1"
        server: sasl-outcome code=auth
        client~1: sasl-response response=b"1"
    """
    sasl = followed_sasl(event)
    if sasl is None:
        return
    if event.frame.unit.header is not None:
        header_without_outcome(event, report, sasl)
        return
    body = event.body
    if sasl.outcome is None or body is None or not sasl.begun[event.peer]:
        return
    evidence = ((sasl.outcome_mark, "the outcome"),)
    text = f"the {PEERS[event.peer]} sends {body.row.name} after the sasl-outcome"
    if event.peer == SERVER:
        if event.own.layer == 3:
            report.sure(event, text, body.row.name, evidence)
    elif event.knew(sasl.outcome_mark):
        again = isinstance(body, SaslInit) and sasl.init is not None
        if again or (isinstance(body, SaslResponse) and sasl.responses >= sasl.challenges):
            report.sure(event, text, body.row.name, evidence)
        elif event.since(sasl.outcome_mark) > GRACE:
            report.suspect(event, text, body.row.name, evidence)


def header_without_outcome(event: Event, report: Reporter, sasl: Sasl) -> None:
    """The server begins another layer although it has not ended this one."""
    if event.peer != SERVER or event.own.layer != 3 or sasl.outcome is not None:
        return
    if sasl.mechanisms is None or event.own.finished:
        return
    if not report.once(event.own, topic=LEFT_SASL):
        return
    report.sure(
        event,
        "the server begins the next layer without a sasl-outcome",
        "header",
        ((sasl.mechanisms_mark, "the exchange that it leaves open"),),
    )


@rule("SAS-025", "5.3.2", IMPLIED, INFO, on="finished", needs="server anchored")
def sasl_close_without_outcome(event: Event, report: Reporter, sasl: Sasl) -> None:
    """A server that refuses a client says so by a sasl-outcome before it closes.

    A client that sees only the end of the connection cannot tell wrong credentials from a crash,
    and many try again for ever. For a mechanism that is not supported a bare close is all that is
    asked for, and a crash looks the same, so this stays a hint.

    Bad (sasl):
        client: sasl-init mechanism=:ANONYMOUS   # <- SAS-025
        server: FIN

    Good (sasl_init):
        client: FIN
        server: FIN
    """
    if sasl.init_mark is None or sasl.outcome is not None:
        return
    if event.own.finished not in ("fin", "rst") or event.partner.finished or sasl.nested:
        return
    offered = sasl.offered
    if sasl.unclear[SERVER] or event.own.layer != 3:
        return
    if not offered or sasl.mechanism not in offered or sasl.challenges > sasl.responses:
        return
    report.suspect(
        event,
        "the server closes the connection without a sasl-outcome",
        "sasl-outcome",
        ((sasl.init_mark, "the client's choice"),),
        mark=sasl.response_mark or sasl.init_mark,
    )


@rule("SAS-036", "5.3", ADVISORY, INFO, on="sasl | header | finished")
def sasl_handshake_stalled(event: Event, report: Reporter, sasl: Sasl) -> None:
    """The steps of a SASL handshake follow each other without long pauses.

    After ten seconds it is worth knowing which peer the other waited for.

    Bad (sasl):
        client: sasl-init mechanism=:ANONYMOUS   # <- SAS-036
        @20s server: sasl-outcome code=ok

    Good (sasl_init):
        @2s server: sasl-outcome code=ok
    """
    last = sasl.last_mark
    if last is None or sasl.nested or event.since(last) < STALL:
        return
    owner, step = awaited_turn(event, sasl)
    end = event.connection.ends[owner]
    if step and end.anchored and end.finished not in ("fin", "rst"):
        seconds = event.since(last) // 1_000_000_000
        if not report.once(event.connection, last.frame):
            return
        report.suspect(
            event,
            f"the SASL handshake stood still for {seconds} s, waiting for the"
            f" {PEERS[owner]}'s {step}",
            step,
            peer=owner,
            mark=last,
        )


def awaited_turn(event: Event, sasl: Sasl) -> tuple[int, str]:
    """Whose turn it is, and to say what; nothing when the layer is through."""
    if not sasl.begun[CLIENT]:
        return CLIENT, ""
    if not sasl.begun[SERVER]:
        return SERVER, "header"
    if sasl.mechanisms is None:
        return SERVER, "sasl-mechanisms"
    if sasl.init is None:
        return CLIENT, "sasl-init"
    if sasl.outcome is not None:
        return CLIENT, ""
    if sasl.challenges > sasl.responses:
        return CLIENT, "sasl-response"
    return SERVER, "sasl-outcome"
