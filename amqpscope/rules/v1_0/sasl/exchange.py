"""The SASL exchange: who says what, and in which order (SAS; spec 5.3.2, 5.3.3).

Both directions follow each other step by step, so nearly all of it is proved by the order in which
frames passed: what had not passed cannot have been answered. Its end is in `outcome`.
"""

from __future__ import annotations

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER, Sasl
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from dissectors.v1_0.bodies import (
    Body,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.v1_0.values import Array


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
