"""What is out of the ordinary among the values of a frame: text that is none, tables."""

from __future__ import annotations

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.odd_tables import odd_table
from amqpscope.model.v0_9.roles import Role
from dissectors.v0_9.codec import Method
from dissectors.v0_9.message import ContentHeader
from dissectors.v0_9.values import Table, Unreadable, Value


def odd_values(event: Event, role: Role, method: Method, look: bytes) -> None:
    """Note what is out of the ordinary among arguments: text that is none, tables not empty."""
    values = method.values
    for place in role.texts:
        odd_text(event, values[place])
    for place in role.tables:
        value = values[place]
        if value:
            event.kinds |= kinds.TABLES
            if isinstance(value, Table) and odd_table(value, look, 1):
                event.kinds |= kinds.ODD_TABLE


def odd_properties(event: Event, header: ContentHeader, look: bytes) -> None:
    """Mark an event whose content properties hold an odd table or text."""
    for value in header.values:
        if value is None:
            continue
        kind = type(value)
        if kind is str or kind is Unreadable:
            odd_text(event, value)
        elif kind is Table and value:
            event.kinds |= kinds.TABLES
            if odd_table(value, look, 1):
                event.kinds |= kinds.ODD_TABLE


def odd_text(event: Event, value: Value) -> None:
    """Note a short string that has a zero octet or is no UTF-8."""
    if value is not None and (type(value) is Unreadable or "\0" in value):
        event.kinds |= kinds.ODD_TEXT
