"""The SASL exchange: who says what, and in which order (SAS; spec 5.3.2, 5.3.3).

Both directions follow each other step by step, so nearly all of it is proved by the order in which
frames passed: what had not passed cannot have been answered.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER, Sasl
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.topics import LEFT_SASL
from dissectors.v1_0.bodies import (
    Body,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.v1_0.values import Array

STALL: Final = 10_000_000_000
"""Nanoseconds after which a step of the handshake that has not come is worth a word."""


def followed_sasl(event: Event) -> Sasl | None:
    """The exchange, if this peer's part in it was seen from the beginning."""
    sasl = event.connection.sasl
    if sasl.nested or not event.own.anchored or sasl.unclear[event.peer]:
        return None
    return sasl


def both_followed(event: Event) -> Sasl | None:
    """The exchange, if both peers' parts were seen from the beginning."""
    sasl = event.connection.sasl
    if sasl.unclear[1 - event.peer] or not event.partner.anchored or event.ahead:
        return None
    return followed_sasl(event)


@rule("SAS-009", "5.3.2", MUST, ERROR, on="sasl", needs="server")
def sasl_mechanisms_not_first(event: Event, report: Reporter) -> None:
    """The server opens the SASL exchange with sasl-mechanisms, and sends it once.

    Without the list a client cannot choose; most wait for it for ever. A client that already knows
    what it wants may send its sasl-init ahead of the list: that changes nothing for the server.

    Bad (sasl_headers):
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok   # <- SAS-009

    Bad (sasl):
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]   # <- SAS-009

    Good:
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        server: sasl-outcome code=ok
    """
    body = event.body
    sasl = followed_sasl(event)
    if sasl is None or sasl.outcome is not None:
        return
    if isinstance(body, SaslMechanisms):
        if sasl.mechanisms is not None:
            report.sure(
                event,
                "the server sends a second sasl-mechanisms in one exchange",
                "sasl-mechanisms",
                ((sasl.mechanisms_mark, "the first"),),
            )
    elif (
        isinstance(body, (SaslChallenge, SaslOutcome))
        and sasl.mechanisms is None
        and not sasl.challenges
        and not sasl.reversed[SERVER]
    ):
        report.sure(
            event,
            f"the server's first SASL frame is {body.row.name}, not sasl-mechanisms",
            body.row.name,
        )


@rule("SAS-010", "5.3.2", MUST, ERROR, on="sasl", needs="anchored")
def sasl_roles_reversed(event: Event, report: Reporter, sasl: Sasl) -> None:
    """The peer that opened the TCP connection is the SASL client, the other the SASL server.

    So mechanisms, challenge and outcome come from the server, init and response from the client.
    It is said once for each peer, and only when the opening of the TCP connection was seen.

    Bad (sasl_headers):
        client: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]   # <- SAS-010

    Good:
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
    """
    body, peer = event.body, event.peer
    if sasl.reversed[peer]:
        return
    if peer == CLIENT and isinstance(body, (SaslMechanisms, SaslChallenge, SaslOutcome)):
        text = f"the TCP client sends {body.row.name}, which only the SASL server sends"
    elif peer == SERVER and isinstance(body, (SaslInit, SaslResponse)):
        text = f"the TCP server sends {body.row.name}, which only the SASL client sends"
    else:
        return
    report.sure(event, text, body.row.name)


@rule("SAS-014", "5.3.2", MUST, ERROR, on="sasl")
def sasl_mechanism_not_offered(event: Event, report: Reporter, sasl: Sasl) -> None:
    """The client chooses a mechanism from the server's list.

    A server answers anything else by closing the connection. Names are compared as they are, upper
    case. A sasl-init sent ahead of the list is a guess, and is judged when the list has come.

    Bad (sasl):
        client: sasl-init mechanism=:EXTERNAL   # <- SAS-014

    Bad:
        client: header SASL 1.0.0
        client: sasl-init mechanism=:EXTERNAL   # <- SAS-014
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]

    Good (sasl_init):
        server: sasl-outcome code=ok
    """
    body = event.body
    if sasl.nested or sasl.outcome is not None:
        return
    if event.peer == CLIENT and isinstance(body, SaslInit):
        if sasl.init is None and body.mechanism is not None and not event.damaged:
            refuse(event, report, body.mechanism, sasl.offered, sasl.mechanisms_mark, event.mark)
    elif event.peer == SERVER and isinstance(body, SaslMechanisms) and sasl.mechanisms is None:
        said = body.sasl_server_mechanisms
        offered = list(said) if isinstance(said, Array) else [] if said is None else [said]
        if sasl.mechanism and not event.damaged and sasl.init_mark is not None:
            refuse(event, report, sasl.mechanism, offered, event.mark, sasl.init_mark)


def refuse(
    event: Event, report: Reporter, chosen: str, offered: list[str], offer: Mark | None, init: Mark
) -> None:
    """Say so if a mechanism is not in the list."""
    if not offered or chosen in offered:
        return
    report.sure(
        event,
        f"the client chooses {chosen}; the server offers {', '.join(offered)}",
        "sasl-init.mechanism",
        ((offer, "the server's list"),),
        peer=CLIENT,
        mark=init,
    )


@rule("SAS-015", "5.3.3.2", MUST, WARNING, on="sasl", needs="server")
def sasl_unoffered_mechanism_served(event: Event, report: Reporter, sasl: Sasl) -> None:
    """A server ends the exchange when the client chose a mechanism that it does not support.

    It may support more than it lists, so this is never more than a suspicion; but a server that
    takes what it does not offer often takes it without looking.

    Bad (sasl):
        client: sasl-init mechanism=:EXTERNAL   # <- SAS-014
        server: sasl-outcome code=ok   # <- SAS-015

    Good (sasl_init):
        server: sasl-outcome code=ok
    """
    body = event.body
    if sasl.nested or sasl.outcome is not None or sasl.challenges:
        return
    if isinstance(body, SaslOutcome):
        if body.code != 0:
            return
        answer = "accepts the client"
    elif isinstance(body, SaslChallenge):
        answer = "sends a challenge"
    else:
        return
    offered, chosen = sasl.offered, sasl.mechanism
    if not offered or not chosen or chosen in offered:
        return
    report.suspect(
        event,
        f"the server {answer} by {chosen}, which it does not offer ({', '.join(offered)})",
        body.row.name,
        ((sasl.mechanisms_mark, "the server's list"), (sasl.init_mark, "the client's choice")),
    )


@rule("SAS-018", "5.3.2", IMPLIED, ERROR, on="sasl", needs="client")
def sasl_init_repeated(event: Event, report: Reporter, body: SaslInit) -> None:
    """A client sends one sasl-init in an exchange.

    To try another mechanism or other credentials it opens a new connection.

    Bad (sasl_init):
        client: sasl-init mechanism=:ANONYMOUS   # <- SAS-018

    Good (sasl_done):
        client: header AMQP 1.0.0
    """
    sasl = followed_sasl(event)
    if sasl is None or sasl.init is None or event.knew(sasl.outcome_mark):
        return
    report.sure(
        event,
        "the client sends a second sasl-init in one exchange",
        "sasl-init",
        ((sasl.init_mark, "the first"),),
    )


@rule("SAS-019", "5.3.2", IMPLIED, ERROR, on="sasl")
def sasl_challenge_response_out_of_step(event: Event, report: Reporter) -> None:
    """Challenges follow the sasl-init, and each is answered by one response before the next.

    What had not passed cannot have been answered, so a response without an open challenge and a
    challenge while one is open are out of step whatever was in flight. A success before the client
    has said who it is belongs here too; a failure that early only arouses suspicion.

    Bad (sasl_init):
        client: sasl-response response=b"x"   # <- SAS-019

    Bad (sasl):
        server: sasl-challenge challenge=b""   # <- SAS-019

    Good (sasl_init):
        server: sasl-challenge challenge=b"1"
        client: sasl-response response=b"1"
        server: sasl-challenge challenge=b"2"
        client: sasl-response response=b"2"
        server: sasl-outcome code=ok
    """
    body = event.body
    sasl = both_followed(event)
    if sasl is None or event.knew(sasl.outcome_mark) or sasl.outcome is not None:
        return
    if event.peer == CLIENT:
        if isinstance(body, SaslResponse):
            response_out_of_step(event, report, sasl, body)
    elif isinstance(body, (SaslChallenge, SaslOutcome)) and not sasl.reversed[CLIENT]:
        server_out_of_step(event, report, sasl, body)


def response_out_of_step(event: Event, report: Reporter, sasl: Sasl, body: Body) -> None:
    """A response of the client that answers nothing."""
    if sasl.reversed[SERVER] or sasl.responses < sasl.challenges:
        return
    asked = f"{sasl.challenges} challenge(s), all answered" if sasl.challenges else "no challenge"
    report.sure(
        event,
        f"the client sends a sasl-response that answers nothing: the server has sent {asked}",
        body.row.name,
        ((sasl.challenge_mark, "the last challenge"), (sasl.response_mark, "its answer")),
    )


def server_out_of_step(event: Event, report: Reporter, sasl: Sasl, body: Body) -> None:
    """A challenge or outcome of the server before its time."""
    if sasl.mechanisms is None:
        return
    if sasl.init is None:
        text = f"the server sends {body.row.name} before the client has sent sasl-init"
        if isinstance(body, SaslOutcome) and body.code != 0:
            report.suspect(event, text, body.row.name)
        else:
            report.sure(event, text, body.row.name)
    elif isinstance(body, SaslChallenge) and sasl.challenges > sasl.responses:
        report.sure(
            event,
            "the server sends a sasl-challenge while its last one is not answered",
            body.row.name,
            ((sasl.challenge_mark, "the open challenge"),),
        )


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
    text = f"the {NAMES[event.peer]} sends {body.row.name} after the sasl-outcome"
    if event.peer == SERVER:
        if event.own.layer == 3:
            report.sure(event, text, body.row.name, evidence)
    elif event.knew(sasl.outcome_mark):
        again = isinstance(body, SaslInit) and sasl.init is not None
        if again or (isinstance(body, SaslResponse) and sasl.responses >= sasl.challenges):
            report.sure(event, text, body.row.name, evidence)
        elif event.since(sasl.outcome_mark) > GRACE:
            report.suspect(event, text, body.row.name, evidence)


NAMES: Final = ("client", "server")


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
            f" {NAMES[owner]}'s {step}",
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
