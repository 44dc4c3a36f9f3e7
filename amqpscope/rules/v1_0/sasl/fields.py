"""What the fields of SASL frames hold (SAS; spec 5.3.3).

Each of these is shown by the octets of one frame, but for host names, of which there are two.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import Sasl
from amqpscope.rules.v1_0 import (
    ADVISORY,
    ERROR,
    IMPLIED,
    INFO,
    MUST,
    SHOULD,
    WARNING,
    Reporter,
    rule,
)
from dissectors.v1_0.bodies import (
    Open,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.v1_0.values import Array, type_of

CODES: Final = ("ok", "auth", "sys", "sys-perm", "sys-temp")


@rule("SAS-011", "5.3.3.1", MUST, ERROR, on="sasl", needs="!damaged")
def sasl_mechanism_list_malformed(event: Event, report: Reporter, body: SaslMechanisms) -> None:
    """The server's list of mechanisms is one symbol or an array of one or more symbols.

    An empty or missing list leaves the client nothing to choose, and strings or a list in its place
    are not understood. A single bare symbol is the legal short form of an array of one.

    Bad (sasl_headers):
        server: sasl-mechanisms sasl-server-mechanisms=[]   # <- SAS-011

    Good (sasl_init sasl-server-mechanisms=:ANONYMOUS):
        server: sasl-outcome code=ok
    """
    said = body.wire(0)
    if said is None:
        found = "is null"
    elif isinstance(said, Array) and not said:
        found = "is an empty array"
    elif 0 in body.wrong:
        found = f"is of type {type_of(said)}"
        if isinstance(said, Array):
            found = "is an array of something else than symbols"
    else:
        return
    report.sure(
        event,
        f"the list of mechanisms {found}; it must be one or more symbols",
        "sasl-mechanisms.sasl-server-mechanisms",
    )


@rule("SAS-021", "5.3.3.6", MUST, ERROR, on="sasl", needs="!damaged")
def sasl_outcome_code_invalid(event: Event, report: Reporter, body: SaslOutcome) -> None:
    """The code of a sasl-outcome is a ubyte from 0 to 4.

    Clients choose their next step by it: try again, ask for other credentials, or give up.

    Bad (sasl_init):
        server: sasl-outcome code=5   # <- SAS-021

    Good (sasl_init):
        server: sasl-outcome code=sys-temp
    """
    said = body.wire(0)
    if said is None:
        found = "is missing"
    elif 0 in body.wrong:
        found = f"is of type {type_of(said)}, not ubyte"
    elif said > 4:
        found = f"is {said}, the highest is 4"
    else:
        return
    report.sure(event, f"the code of the sasl-outcome {found}", "sasl-outcome.code")


@rule("SAS-022", "5.3.3.5", IMPLIED, WARNING, on="sasl")
def sasl_additional_data_on_failure(event: Event, report: Reporter, body: SaslOutcome) -> None:
    """A sasl-outcome carries additional data only when the authentication succeeded.

    An empty binary is a small slip and told as information.

    Bad (sasl_init):
        server: sasl-outcome code=auth additional-data=b"no"   # <- SAS-022

    Good (sasl_init):
        server: sasl-outcome code=ok additional-data=b"Welcome!"
    """
    if not body.code or body.additional_data is None:
        return
    name = CODES[body.code] if body.code < len(CODES) else str(body.code)
    report.sure(
        event,
        f"the sasl-outcome {name} carries {len(body.additional_data)} octets of additional data",
        "sasl-outcome.additional-data",
        severity="" if body.additional_data else INFO,
    )


@rule("SAS-027", "5.3.3.2", ADVISORY, INFO, on="open", needs="client")
def sasl_hostname_differs_from_open(event: Event, report: Reporter, body: Open, sasl: Sasl) -> None:
    """A client names the same host in its sasl-init and in its open.

    Proxies choose the back end and the domain of the credentials by the one, brokers the virtual
    host by the other; what two different names mean is not defined.

    Bad (sasl_done sasl-server-mechanisms=[:ANONYMOUS] sasl-init.hostname="a.example"):
        client: header AMQP 1.0.0
        client: open container-id="c" hostname="b.example"   # <- SAS-027

    Good (sasl_done sasl-server-mechanisms=[:ANONYMOUS] sasl-init.hostname="a.example:5672"):
        client: header AMQP 1.0.0
        client: open container-id="c" hostname="A.example"
    """
    if sasl.init is None:
        return
    first, second = sasl.init.hostname, body.hostname
    # "vhost:name" is how a virtual host is asked for at RabbitMQ, on purpose.
    if not first or not second or second.startswith("vhost:"):
        return
    if host(first) != host(second):
        report.sure(
            event,
            f'open names the host "{second}", sasl-init named "{first}"',
            "open.hostname",
            ((sasl.init_mark, "the sasl-init"),),
        )


def host(name: str) -> str:
    """A host name as names are compared: without case, port and last dot."""
    head, colon, port = name.rpartition(":")
    if colon and port.isdigit():
        name = head
    return name.rstrip(".").lower()


@rule("SAS-026", "5.3.3.2", SHOULD, WARNING, on="sasl", needs="client !damaged")
def sasl_hostname_differs_from_sni(event: Event, report: Reporter, body: SaslInit) -> None:
    """The host name of sasl-init is the one that TLS was begun with, or absent.

    A server that serves several hosts has chosen its certificate by the name in the ClientHello,
    and chooses the users by this one. Through a proxy the first may name the proxy.

    Bad:
        client: TLS client-hello one.example
        server: TLS server-hello
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
        client: sasl-init mechanism=:PLAIN hostname="two.example"   # <- SAS-026

    Good:
        client: TLS client-hello one.example
        server: TLS server-hello
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client: sasl-init mechanism=:ANONYMOUS hostname="One.Example:5671"
        server: sasl-outcome code=ok
    """
    carrier = event.connection.carrier
    tls = None if carrier is None else carrier.tls
    name = body.hostname
    if tls is None or not tls.server_name or not name or name.startswith("vhost:"):
        return
    if host(name) != host(tls.server_name):
        text = f'sasl-init names the host "{name}", TLS was begun for "{tls.server_name}"'
        report.sure(event, text, "sasl-init.hostname")


@rule("SAS-028", "5.3.3", MUST, ERROR, on="sasl")
def sasl_field_type_wrong(event: Event, report: Reporter) -> None:
    """The fields of SASL frames are there where they must be, and of their declared types.

    A mechanism is a symbol, a host name a string, and what the mechanism says is binary. An empty
    binary is something else than null: an empty response is a response.

    Bad (sasl):
        client: sasl-init mechanism="ANONYMOUS"   # <- SAS-028

    Bad (sasl_init):
        server: sasl-challenge   # <- SAS-028

    Good (sasl_init initial-response=b""):
        server: sasl-challenge challenge=b""
        client: sasl-response response=b""
        server: sasl-outcome code=ok
    """
    body = event.body
    # sasl-mechanisms and the code of an outcome have rules of their own.
    if not isinstance(body, (SaslInit, SaslChallenge, SaslResponse, SaslOutcome)):
        return
    if event.frame.unit.faults or event.frame.missing:
        return
    for place, field in enumerate(body.row.fields):
        if field.name == "code":
            continue
        path = f"{body.row.name}.{field.name}"
        if place in body.wrong:
            kind = type_of(body.wrong[place])
            report.sure(event, f"{path} is of type {kind}, not {field.type}", path)
        elif field.mandatory and body[place] is None:
            report.sure(event, f"{path} is missing", path)
