"""Performatives of AMQP 1.0 without the field that makes them illegal."""

from __future__ import annotations

from typing import Any

from dissectors.v1_0.body import Body
from dissectors.v1_0.values import Described, Map, Value


def with_fields(body: Body, **fields: Value) -> Any:
    """A performative with other values in some fields."""
    names = [field.name for field in body.row.fields]
    values = [body.wire(place) for place in range(len(body))]
    values += [None] * (len(names) - len(values))
    for name, value in fields.items():
        values[names.index(name.replace("_", "-"))] = value
    return type(body)(values=values)


def without_path(body: Body, path: str) -> Body | None:
    """A performative without what a path such as `attach.source.filter` names; None: it must be."""
    return without(body, path.split(".")[1:])


def without(body: Body, path: list[str]) -> Body | None:
    """A composite without the field that a path leads to."""
    field = next((each for each in body.row.fields if path and each.name == path[0]), None)
    if field is None:
        return None
    value = body.part_named(field.name)
    if value is None:
        return None
    rest: Value = None
    if len(path) > 1 and isinstance(value, Body):
        rest = without(value, path[1:])
    elif field.name == "filter" and isinstance(value, Map):
        # 3.5.8: a filter is a described value, or null; the others can stay.
        pairs = [pair for pair in value if isinstance(pair[1], Described | None)]
        rest = Map(pairs) if pairs and len(pairs) < len(value) else None
    if rest is None and field.mandatory:
        return None
    return with_fields(body, **{field.name.replace("-", "_"): rest})  # type: ignore[no-any-return]
