"""Errors in detach, end and close: what they say (ERR; spec 2.8.14 to 2.8.18)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import error_in
from amqpscope.rules.wording import a
from dissectors.v1_0.bodies import Close, Detach, End, Error
from dissectors.v1_0.names import CONDITIONS
from dissectors.v1_0.values import type_of

CARRIER: Final = {
    # family of conditions: the performative that states it
    "amqp:connection:": "close",
    "amqp:session:": "end",
    "amqp:link:": "detach",
}
REDIRECTS: Final = ("amqp:connection:redirect", "amqp:link:redirect")
WHERE_TO: Final = ("network-host", "port")


@rule("ERR-001", "2.8.14", IMPLIED, ERROR, on="detach | end | close", needs="!damaged !closed")
def error_not_composite(event: Event, report: Reporter) -> None:
    """An error field holds an error, with a condition.

    A program that gets anything else there can tell its user nothing, and strict ones close the
    connection because of it.

    Bad (session):
        client: end[0] error=error(description="failed")   # <- ERR-001
        server: end[0]

    Good (session):
        client: end[0] error=error(condition=:amqp:resource-limit-exceeded description="failed")
        server: end[0]
    """
    body = event.body
    if not isinstance(body, (Detach, End, Close)):
        return
    place, name = len(body.row.fields) - 1, body.row.name
    if place in body.wrong:
        found = type_of(body.wire(place))
        report.sure(event, f"the error of {a(name)} is {a(found)}, not an error", f"{name}.error")
    elif body.error is not None and body.error.wire(0) is None:
        report.sure(event, f"the error of {a(name)} has no condition", f"{name}.error.condition")


@rule("ERR-002", "2.8.14-2.8.18", IMPLIED, WARNING, on="detach | end | close")
def error_condition_unknown(event: Event, report: Reporter, error: Error) -> None:
    """A condition that begins with "amqp:" is one that the specification lists.

    Partners choose by the condition whether to try again, and how; one that they do not know is a
    failure without a reason. Conditions of vendors have a prefix of their own and are fine.

    Bad (session):
        client: end[0] error=error(condition=:amqp:session:invalid-field
                description="bad window")   # <- ERR-002
        server: end[0]

    Good (session):
        client: end[0] error=error(condition=:"com.example:invalid-field" description="bad window")
        server: end[0]
    """
    if error.condition is None:
        return
    condition = str(error.condition)
    if condition.startswith("amqp:") and condition not in CONDITIONS:
        name = event.frame.unit.name
        report.sure(
            event,
            f'the condition "{condition}" of {a(name)} is not in the specification',
            f"{name}.error.condition",
        )


@rule("ERR-003", "2.8.16-2.8.18", IMPLIED, INFO, on="detach | end | close")
def error_condition_scope(event: Event, report: Reporter, error: Error) -> None:
    """The error of a connection comes in close, that of a session in end, that of a link in detach.

    Some programs close the connection for everything, so this is a note. handle-in-use is an error
    of a session that a close tells; an error of a link in end or close is reported by LNK-025.

    Bad (session):
        client: end[0] error=error(condition=:amqp:connection:forced
                description="stopped")   # <- ERR-003
        server: end[0]

    Good (session):
        client: close error=error(condition=:amqp:connection:forced description="stopped")
        server: close
    """
    if error.condition is None:
        return
    condition, name = str(error.condition), event.frame.unit.name
    for family, carrier in CARRIER.items():
        if not condition.startswith(family) or carrier == name or carrier == "detach":
            continue
        if condition == "amqp:session:handle-in-use" and name == "close":
            continue
        report.suspect(
            event, f"{a(name)} gives {condition}, which belongs in {carrier}", f"{name}.error"
        )


@rule("ERR-004", "2.7.7-2.7.9", SHOULD, INFO, on="detach | end | close")
def error_without_detail(event: Event, report: Reporter, error: Error) -> None:
    """An error says more than its condition: a description, or details in info.

    Who reads the log at the other end has nothing else to go by.

    Bad (session):
        client: end[0] error=error(condition=:amqp:resource-limit-exceeded)   # <- ERR-004
        server: end[0]

    Good (session):
        client: end[0] error=error(condition=:amqp:resource-limit-exceeded description="disk full")
        server: end[0]
    """
    if error.condition is None:
        return
    if error.wire(1) is None and error.wire(2) is None:
        name = event.frame.unit.name
        report.sure(
            event,
            f"the error {error.condition} of {a(name)} has neither a description nor info",
            f"{name}.error",
        )


@rule("ERR-017", "2.8.16", IMPLIED, INFO, on="detach | close")
def redirect_info(event: Event, report: Reporter, error: Error) -> None:
    """A redirect says where to: network-host and port in the error's info.

    A client that is sent away without them has no place to go.

    Bad (opened):
        server: close error=error(condition=:amqp:connection:redirect
                description="elsewhere")   # <- ERR-017
        client: close

    Good (opened):
        server: close error=error(condition=:amqp:connection:redirect
                info={:hostname="b" :network-host="b.example" :port=ushort 5672})
        client: close
    """
    if error.condition not in REDIRECTS:
        return
    info = error.info
    lacks = [key for key in WHERE_TO if info is None or info.get(key) is None]
    if lacks:
        name = event.frame.unit.name
        report.sure(
            event, f"{error.condition} without {' and '.join(lacks)} in info", f"{name}.error.info"
        )


@rule("ERR-019", "2.8.15", IMPLIED, INFO, on="detach")
def frame_size_too_small_use(event: Event, report: Reporter) -> None:
    """frame-size-too-small is for performatives that do not fit, never for messages.

    A message is split over as many transfers as it needs, so its size is no reason for this error.

    Bad (sent settled=true):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:frame-size-too-small
                description="message too large")   # <- ERR-019

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:frame-size-too-small
                description="unsettled map too large")
    """
    error, link = error_in(event), event.link
    if error is None or link is None or error.condition != "amqp:frame-size-too-small":
        return
    if link.sending.delivery_total or (link.pair is not None and link.pair.sending.delivery_total):
        report.suspect(
            event,
            f"link {link.label()} is detached with amqp:frame-size-too-small after messages were"
            " sent on it: a message can always be split",
            "detach.error",
        )


@rule("ERR-021", "2.8.18", IMPLIED, INFO, on="detach")
def stolen_condition(event: Event, report: Reporter) -> None:
    """A link that is detached as stolen was attached again from elsewhere.

    On this connection nobody did, so another one did, of the same container: look for a second
    process with the same container-id.

    Bad (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
                description="attached elsewhere")   # <- ERR-021
        client: detach[0] handle=0 closed=true

    Good (sending):
        client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
                description="attached again")
        server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
    """
    error, link = error_in(event), event.link
    if error is None or link is None or error.condition != "amqp:link:stolen":
        return
    if not event.partner.anchored or attached_again(event, link):
        return
    report.suspect(
        event,
        f"link {link.label()} was stolen, but not on this connection: another one of the same"
        " container has attached it",
        "detach.error",
        ((None if link.pair is None else link.pair.mark, "the attach that lost the link"),),
    )


def attached_again(event: Event, link: LinkEnd) -> bool:
    """The partner has attached a link more than once on this connection, or that is not known."""
    if link.role is None or not link.named:
        return True
    return event.connection.links.get((event.partner.peer, link.name, not link.role), 0) != 1
