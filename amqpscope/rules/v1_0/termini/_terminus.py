"""Sources and targets as an attach describes them: what the rules about termini share.

Each end of an attach describes both termini. The one that answers mostly repeats what it was asked
for; a fault that is only repeated is reported of the peer that made it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0.parameters import attach_of
from dissectors.v1_0.bodies import Attach, Body, Coordinator, Source, Target
from dissectors.v1_0.values import Array, Map, Symbol, Value, same

PLACES: Final = {
    row.name: {field.name: place for place, field in enumerate(row.fields)}
    for row in (Source.row, Target.row)
}
"""The positions of the fields of both."""


class Terminus:
    """One terminus of an attach."""

    def __init__(self, path: str, body: Body, other: Body | None) -> None:
        self.path = path
        """`attach.source` or `attach.target`."""
        self.body = body
        self.other = other
        """The terminus in the partner's attach, when that came before."""

    def repeated(self, position: int) -> bool:
        """A field that only repeats what the partner has sent."""
        other = self.other
        if other is None or position >= len(other) or other.row.name != self.body.row.name:
            return False
        return same(other.wire(position), self.body.wire(position))

    def field(self, name: str) -> tuple[int, Value]:
        """A field's position, or -1, and its value as declared or None."""
        position = PLACES[self.body.row.name].get(name, -1)
        return position, None if position < 0 else self.body.values[position]


def answered_end(event: Event, attach: Attach) -> LinkEnd | None:
    """The partner's end of the link, if an attach is the answer to it."""
    session = event.session
    if session is None or session.pair is None or attach.name is None or attach.role is None:
        return None
    for link in session.pair.unpaired:
        if link.name == attach.name and link.role is (not attach.role):
            return link
    return None


def initiates(event: Event, attach: Attach) -> bool:
    """Whether a link is set up by this attach, so far as everything before it was seen."""
    session = event.session
    if session is None or session.assumed or attach.name is None:
        return False
    if not event.own.anchored or not event.partner.anchored:
        return False
    return answered_end(event, attach) is None


def perhaps_asked(event: Event, attach: Attach) -> bool:
    """An attach may only repeat what the partner asked for in one that was not seen."""
    session = event.session
    if session is None or answered_end(event, attach) is not None:
        return session is None
    if session.pair is not None and session.pair.whole and not event.ahead:
        return False
    return not initiates(event, attach) or event.ahead


Termini = list[Terminus]


def termini_of(event: Event) -> Termini | None:
    """The source and target of an attach, where they are what they should be; None without any.

    None of them where an attach may repeat one that was not seen: the fault would be another's.
    """
    attach = attach_of(event)
    if attach is None or perhaps_asked(event, attach):
        return None
    link = answered_end(event, attach)
    other = None if link is None else link.attach
    found: Termini = []
    if isinstance(attach.source, Source):
        found.append(Terminus("attach.source", attach.source, partner_terminus(other, "source")))
    if isinstance(attach.target, Target):
        found.append(Terminus("attach.target", attach.target, partner_terminus(other, "target")))
    return found or None


def partner_terminus(attach: Attach | None, slot: str) -> Body | None:
    """A terminus of the partner's attach."""
    if attach is None:
        return None
    found = attach.source if slot == "source" else attach.target
    return found if isinstance(found, (Source, Target, Coordinator)) else None


def symbols(value: Value) -> list[str]:
    """The symbols of a field that takes one or several."""
    if isinstance(value, Symbol):
        return [str(value)]
    if isinstance(value, Array):
        return [str(item) for item in value]
    return []


def node_properties(terminus: Terminus) -> Map | None:
    """The properties of a dynamic node."""
    _, found = terminus.field("dynamic-node-properties")
    return found if isinstance(found, Map) else None
