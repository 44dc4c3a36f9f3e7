"""Every name that a filter may use, and what it stands for.

All of the protocol's names come from the rows. A name without a dot is, in this order: a fact of
our own, a kind of frame, a performative, a message section, a field of the frame's performative,
a composite inside the frame, a field of such a composite, a field of a message section.
"""

from __future__ import annotations

from typing import Final

from amqpscope.filter import older
from amqpscope.filter.errors import FilterError, did_you_mean
from amqpscope.filter.getters import (
    Getter,
    HasSection,
    Inside,
    Kind,
    Nested,
    Own,
    Performative,
    PerformativeField,
    Sections,
    Sequence,
    Several,
    SharedField,
)
from amqpscope.filter.own import FACTS, KINDS, PERFORMATIVES
from amqpscope.filter.parser import Part, Path
from amqpscope.filter.shapes import (
    ANY,
    BINARY,
    NOTHING,
    NUMBER,
    TEXT,
    Holds,
    Shape,
    composite,
    merge,
    shape_of,
)
from amqpscope.stream import PEERS
from dissectors.rows import Field
from dissectors.v1_0.message import AMQP_SEQUENCE, AMQP_VALUE, DATA
from dissectors.v1_0.types import COMPOSITE, COMPOSITES, SECTIONS

NESTED: Final = tuple(
    row for row in COMPOSITES if row not in PERFORMATIVES and "section" not in row.provides
)
SECTION_CODES: Final = {name: code for code, name in SECTIONS.items()}
OWN: Final = frozenset(fact.name for fact in FACTS)
WIRESHARK: Final = "amqp"
"""A first name that says nothing: `amqp.channel` is `channel`."""


class Known:
    """A name and what it stands for."""

    def __init__(self, getter: Getter | None, shape: Shape) -> None:
        self.getter = getter
        """None for a name that needs another behind it."""
        self.shape = shape
        self.presence = getter
        """What says whether it is there, where that is cheaper than to get it."""
        self.children: dict[str, Known] = {}
        """The names that may follow, besides those that the shape allows."""


def own_names(roots: dict[str, Known]) -> None:
    """The facts."""
    for fact in FACTS:
        root, _, name = fact.name.partition(".")
        known = Known(Own(fact.read), fact.shape)
        if name:
            roots.setdefault(root, Known(None, NOTHING)).children[name] = known
        else:
            roots[root] = known


def performative_names(roots: dict[str, Known]) -> None:
    """Kinds of frame, performatives, and their fields under them."""
    for kind in KINDS:
        roots[kind] = Known(Kind(kind), NOTHING)
    for row in PERFORMATIVES:
        known = roots[row.name] = Known(Performative(row), NOTHING)
        for place, field in enumerate(row.fields):
            known.children[field.name] = Known(PerformativeField(row, place), shape_of(field))


def section_names(roots: dict[str, Known]) -> None:
    """Message sections, alone and under `message`."""
    message = roots["message"]
    for name, code in SECTION_CODES.items():
        getter: Getter = Sequence() if code == AMQP_SEQUENCE else Sections(code)
        shape = composite(name) if name in COMPOSITE else BINARY if code == DATA else ANY
        known = message.children[name] = Known(getter, shape)
        known.presence = HasSection(code)
        if name in roots:  # `header` alone is a protocol header
            roots[name].children |= {
                field.name: Known(Inside(getter, field.name), shape_of(field))
                for field in COMPOSITE[name].fields
            }
        else:
            roots[name] = known
    both = ("delivery-annotations", "message-annotations")
    roots["annotations"] = Known(Sections(*(SECTION_CODES[name] for name in both)), ANY)
    body = roots["body"] = Known(Sections(DATA, AMQP_SEQUENCE, AMQP_VALUE), ANY)
    body.presence = HasSection(DATA, AMQP_SEQUENCE, AMQP_VALUE)


def shared_names(roots: dict[str, Known]) -> None:
    """Fields of performatives without the performative's name."""
    places: dict[str, dict[str, int]] = {}
    shapes: dict[str, list[Shape]] = {}
    for row in PERFORMATIVES:
        for place, field in enumerate(row.fields):
            places.setdefault(field.name, {})[row.name] = place
            shapes.setdefault(field.name, []).append(shape_of(field))
    for name, where in places.items():
        roots.setdefault(name, Known(SharedField(where), merge(shapes[name])))


def nested_names(roots: dict[str, Known]) -> None:
    """Composites inside frames, then their fields and those of sections."""
    for row in NESTED:
        roots.setdefault(row.name, Known(Nested(row.name), composite(row.name)))
    sections = [COMPOSITE[name] for name in SECTION_CODES if name in COMPOSITE]
    for rows in (NESTED, sections):
        getters: dict[str, list[Getter]] = {}
        shapes: dict[str, list[Shape]] = {}
        for row in rows:
            code = SECTION_CODES.get(row.name)
            whole = Nested(row.name) if code is None else Sections(code)
            for field in row.fields:
                getters.setdefault(field.name, []).append(Inside(whole, field.name))
                shapes.setdefault(field.name, []).append(shape_of(field))
        for name, found in getters.items():
            getter = found[0] if len(found) == 1 else Several(found)
            roots.setdefault(name, Known(getter, merge(shapes[name])))


def older_names(roots: dict[str, Known]) -> None:
    """Classes and methods of the older protocols, their arguments, and content properties."""
    shared: dict[str, Shape] = {}
    for name, fields in older.methods().items():
        class_name, _, method = name.partition(".")
        whole = roots.setdefault(class_name, Known(older.Class(class_name), NOTHING))
        known = whole.children[method] = Known(older.Method(name), NOTHING)
        for field, shape in fields.items():
            known.children[field] = Known(older.Argument(field, name), shape)
            shared[field] = merge([shared[field], shape]) if field in shared else shape
    header = roots["content-header"]
    for field, attribute in older.HEADER_FIELDS.items():
        header.children[field] = Known(older.HeaderField(attribute), NUMBER)
    for field, shape in older.properties().items():
        header.children[field] = Known(older.Property(field), shape)
        also(roots, field, older.Property(field), shape)
    for field, shape in shared.items():
        if field not in older.CARRIED:
            also(roots, field, older.Argument(field), shape)
    for field in older.CARRIED:
        also(roots, field, older.Carried(field), TEXT)
    also(roots, "body", older.Body(), BINARY)


def also(roots: dict[str, Known], name: str, getter: Getter, shape: Shape) -> None:
    """Let a name mean something in the older protocols too; a fact of our own stays that alone."""
    known = roots.get(name)
    if known is None:
        roots[name] = Known(getter, shape)
    elif known.shape is NOTHING and isinstance(known.getter, older.Class):
        # `queue` is a class, and a field that more people ask for.
        known.getter, known.shape, known.presence = getter, shape, getter
    elif known.getter is not None and name not in OWN:
        both = Several([known.getter, getter])
        if known.presence is not known.getter and known.presence is not None:
            known.presence = Several([known.presence, getter])
        else:
            known.presence = both
        known.getter = both
        if known.shape is not NOTHING:
            known.shape = merge([known.shape, shape])


def all_names() -> dict[str, Known]:
    """Every first name."""
    roots: dict[str, Known] = {}
    performative_names(roots)
    own_names(roots)
    section_names(roots)
    shared_names(roots)
    nested_names(roots)
    older_names(roots)
    return roots


ROOTS: Final = all_names()


def resolve(text: str, path: Path) -> Known:
    """What a field stands for; an error with its place if there is no such field."""
    parts = path.parts
    if len(parts) > 1 and parts[0].name == WIRESHARK:
        parts = parts[1:]
    first = parts[0]
    known = ROOTS.get(first.name)
    if known is None:
        near = did_you_mean(first.name, ROOTS)
        raise FilterError(
            text, first.position, first.length, f"there is no field {first.name!r}{near}"
        )
    said = first.name
    for part in parts[1:]:
        known = child(text, known, said, part)
        said = f"{said}.{part.name}"
    if known.getter is None:
        names = " or ".join(f"{said}.{name}" for name in known.children)
        peer = f", or from == {said}" if said in PEERS else ""
        message = f"{said} is no field; write {names}{peer}"
        raise FilterError(text, path.position, path.length, message)
    return known


def child(text: str, known: Known, said: str, part: Part) -> Known:
    """What a name behind a dot, or an index or key in brackets, stands for."""
    name, shape = part.name, known.shape
    if name in known.children:
        return known.children[name]
    if known.getter is not None:
        inside = Inside(known.getter, name)
        fields = fields_of(shape, name)
        if fields:
            return Known(inside, merge([shape_of(field) for field in fields]))
        if Holds.ANY in shape.holds:
            return Known(inside, ANY)
        if shape.several and name.isdigit():
            return Known(inside, shape._replace(several=False))
    names = parts_of(known)
    if not names:
        raise FilterError(text, part.position, part.length, f"{said} has no parts")
    near = did_you_mean(name, names)
    hint = "" if near or said != "properties" else f"; of a performative: open.properties.{name}"
    message = f"{said} has no field {name!r}{near or hint}"
    raise FilterError(text, part.position, part.length, message)


def fields_of(shape: Shape, name: str) -> list[Field]:
    """The fields of this name in the composites that a shape allows."""
    return [
        field for row in shape.composites for field in COMPOSITE[row].fields if field.name == name
    ]


def parts_of(known: Known) -> list[str]:
    """The names that may follow a dot, as far as they are known."""
    names = dict.fromkeys(known.children)
    for row in known.shape.composites:
        names.update(dict.fromkeys(field.name for field in COMPOSITE[row].fields))
    return list(names)
