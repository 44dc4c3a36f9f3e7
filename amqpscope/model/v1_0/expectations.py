"""What the messages of a link are compared with: set by rules, and None for nearly all links.

Filters count where the receiver asked for them and the sender's attach lists them; only those that
ask for exact values can be judged here (`amqp:properties-filter` and its kin).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.model.mark import Mark
from dissectors.v1_0.bodies import Attach, Source
from dissectors.v1_0.values import Described, Map, Value, same

if TYPE_CHECKING:
    from amqpscope.model.v1_0.delivery import Delivery

MAX_WATCHED: Final = 256
"""Messages of one link that are remembered."""

PROPERTIES: Final = 0x73
APPLICATION_PROPERTIES: Final = 0x74
FILTERS: Final[dict[int | str, int]] = {
    # a filter's descriptor: the section that it looks at
    0x173: PROPERTIES,
    "amqp:properties-filter": PROPERTIES,
    0x174: APPLICATION_PROPERTIES,
    "amqp:application-properties-filter": APPLICATION_PROPERTIES,
}


class Filter(NamedTuple):
    """A field of a message that must have a certain value."""

    section: int
    key: str
    value: Value


class Watch:
    """What is known about messages that a sender may or may not send on a link."""

    def __init__(self) -> None:
        self.unwanted: dict[bytes, Mark] = {}
        """Messages that the receiver has called undeliverable here, by their bare octets."""
        self.held: dict[bytes, Delivery] = {}
        """Those that the receiver holds after a rollback."""
        self.before: dict[bytes, Delivery] = {}
        """What was left unsettled when the link was attached before, by tag."""
        self.filters: list[Filter] = []


def active_filters(sender: Attach | None, receiver: Attach | None) -> list[Filter]:
    """The filters that a receiver asked for and its sender says to apply."""
    given = None if sender is None else sender.source
    asked = None if receiver is None else receiver.source
    if not isinstance(given, Source) or not isinstance(asked, Source):
        return []
    if not isinstance(given.filter, Map) or not isinstance(asked.filter, Map):
        return []
    wished = [each for _, each in asked.filter]
    found: list[Filter] = []
    for _, each in given.filter:
        if isinstance(each, Described) and any(same(each, other) for other in wished):
            name = each.descriptor
            section = FILTERS.get(name, 0) if isinstance(name, int | str) else 0
            if section and isinstance(each.value, Map):
                found += [Filter(section, str(key), value) for key, value in each.value]
    return found
