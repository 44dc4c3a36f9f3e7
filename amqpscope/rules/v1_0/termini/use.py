"""Whether a link's termini do what they were agreed to: dynamic nodes, filters (SRC; spec 3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.expectations import Filter
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.link_pairing import attached_still
from amqpscope.model.v1_0.message import APPLICATION_PROPERTIES, PROPERTIES, Message
from amqpscope.rules.v1_0 import IMPLIED, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Body, Detach, Source, Target
from dissectors.v1_0.tables import COMPOSITE
from dissectors.v1_0.values import Map, Value

GONE: Final = frozenset(("amqp:not-found", "amqp:resource-deleted"))
FIELDS: Final = {field.name: place for place, field in enumerate(COMPOSITE["properties"].fields)}
NAMES: Final = {PROPERTIES: "properties", APPLICATION_PROPERTIES: "application-properties"}
UNKNOWN: Final = object()
"""What a message has in a place that cannot be read."""


@rule(
    "SRC-013",
    "3.5.9",
    IMPLIED,
    WARNING,
    on="detach",
    needs="!damaged anchored partner-anchored !discarded",
)
def dynamic_node_died_early(
    event: Event, report: Reporter, body: Detach, link: LinkEnd, pair: LinkEnd
) -> None:
    """A node that was made for a link lives at least as long as that link is attached.

    Whatever its lifetime policy is, it counts from the end of the link that made it. Replies sent
    to a queue that is gone are lost. Sure when the error names the node.

    Bad (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(dynamic=true address="c-r-1")
                target=target() initial-delivery-count=0
        client: attach[0] name="s" handle=1 role=sender source=source()
                target=target(address="c-r-1") initial-delivery-count=0
        server: attach[0] name="s" handle=1 role=receiver source=source()
        server: detach[0] handle=1 closed=true error=error(condition=:amqp:not-found
                description="no queue c-r-1")   # <- SRC-013

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(dynamic=true address="c-r-1")
                target=target() initial-delivery-count=0
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
        client: attach[0] name="s" handle=1 role=sender source=source()
                target=target(address="c-r-1") initial-delivery-count=0
        server: attach[0] name="s" handle=1 role=receiver source=source()
        server: detach[0] handle=1 closed=true error=error(condition=:amqp:not-found
                description="no queue c-r-1")
    """
    if body.error is None:
        return
    if body.error.condition not in GONE or not refusal(event, link):
        return
    address = pair.terms.address
    for maker in dynamic_links(event, address):
        text = (
            f"link {link.label()} is refused with {body.error.condition} for the dynamic node"
            f' "{address}", while link {maker.label()} that made it is attached'
        )
        related = ((maker.mark, "the link that made the node"), (pair.mark, "the attach"))
        told = body.error.description
        if isinstance(told, str) and address in told:
            report.sure(event, text, "detach.error.condition", related)
        else:
            report.suspect(event, text, "detach.error.condition", related)
        return


def refusal(event: Event, link: LinkEnd) -> bool:
    """A link that is detached by who answered the attach, before it was of any use."""
    if not link.replied or link.sending.delivery_total or link.flow is not None:
        return False
    return link.terms.no_terminus or event.since(link.mark) < GRACE


def dynamic_links(event: Event, address: str) -> Iterator[LinkEnd]:
    """Links that are attached, and for which a peer made a node of this address."""
    if not address:
        return
    for links in event.connection.attached.values():
        for link in links:
            attach = link.attach
            if attach is None or link.session.owner.peer != event.peer or link is event.link:
                continue
            for terminus in (attach.source, attach.target):
                made = isinstance(terminus, (Source, Target)) and terminus.dynamic is True
                if made and terminus.address == address and attached_still(link):
                    yield link


@rule("SRC-028", "3.5.8", IMPLIED, WARNING, on="watched")
def filtered_message_delivered(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A source sends only messages that pass all filters that its attach lists.

    Judged for the filters that ask for exact values of properties or application-properties; what
    an expression in SQL selects is not worked out here, and neither are filters by parts of a
    value.

    Bad (receiving source=source(address="q" filter={:f=@:amqp:properties-filter {:subject="a"}})):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(subject="b") data(b"0")   # <- SRC-028

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(subject="a") data(b"0")
    """
    parts = event.parts
    if link.sending.watch is None or parts is None or parts.fault is not None:
        return
    for each in link.sending.watch.filters:
        found = filtered_value(parts, each)
        if found is UNKNOWN or not differ(each.value, found):
            continue
        where = f"{NAMES[each.section]}.{each.key}"
        text = (
            f"link {link.label()} gets a message with {where} {value_text(found)}, its filter asks"
            f" for {value_text(each.value)}"
        )
        report.sure(event, text, where, ((link.mark, "the filters that are in force"),))
        return


def filtered_value(parts: Message, each: Filter) -> Value:
    """What a message has where a filter looks; None for nothing, UNKNOWN if it cannot be read."""
    section = parts.find(each.section)
    if section is None:
        return None
    if parts.faults(section):
        return UNKNOWN
    value = parts.value(section)
    if isinstance(value, Map):
        return value.get(each.key)
    place = FIELDS.get(each.key)
    if not isinstance(value, Body) or place is None or place in value.wrong:
        return UNKNOWN
    return value[place] if place < len(value) else None


def differ(wanted: Value, found: Value) -> bool:
    """Whether a value is surely not the one that a filter asks for."""
    if isinstance(wanted, str):
        # "&" begins a filter by parts of a string.
        exact = not wanted.startswith("&")
        return exact and (found is None or (isinstance(found, str) and str(found) != str(wanted)))
    if type(wanted) is bytes:
        return found is None or (type(found) is bytes and found != wanted)
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return found is None or (isinstance(found, int) and int(found) != int(wanted))
    return False


def value_text(value: Value) -> str:
    """A value as messages show it."""
    if value is None:
        return "missing"
    return f'"{value}"' if isinstance(value, str) else repr(value)
