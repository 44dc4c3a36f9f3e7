"""Every name that a filter may use, and what it stands for.

A name without a dot is a fact of our own, or else what the families make of it: the kind or name
of a frame, a field of frames or messages.
"""

from __future__ import annotations

from typing import Final

from amqpscope.filter.errors import FilterError, did_you_mean
from amqpscope.filter.facts import FACTS
from amqpscope.filter.parser import Path, PathPart
from amqpscope.protocols.names import Inside, Known
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.protocols.shapes import ANY, NOTHING, Holds, parts
from amqpscope.stream.types import PEERS

WIRESHARK: Final = "amqp"
"""A first name that says nothing: `amqp.channel` is `channel`."""


def add_own_names(roots: dict[str, Known]) -> None:
    """Add the facts."""
    for fact in FACTS:
        root, _, name = fact.name.partition(".")
        known = Known(fact.getter, fact.shape)
        known.reserved = True
        if name:
            roots.setdefault(root, Known(None, NOTHING)).children[name] = known
        else:
            roots[root] = known


def all_names() -> dict[str, Known]:
    """Every first name."""
    roots: dict[str, Known] = {}
    for protocol in PROTOCOLS:
        protocol.voice.add_frame_names(roots)
    add_own_names(roots)
    for protocol in PROTOCOLS:
        protocol.voice.add_field_names(roots)
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


def child(text: str, known: Known, said: str, part: PathPart) -> Known:
    """What a name behind a dot, or an index or key in brackets, stands for."""
    name, shape = part.name, known.shape
    if name in known.children:
        return known.children[name]
    if known.getter is not None:
        inside = Inside(known.getter, name)
        field = parts(shape).get(name)
        if field is not None:
            return Known(inside, field)
        if Holds.ANY in shape.holds:
            return Known(inside, ANY)
        if shape.several and name.isdigit():
            return Known(inside, shape._replace(several=False))
    names = parts_of(known)
    if not names:
        raise FilterError(text, part.position, part.length, f"{said} has no parts")
    near = did_you_mean(name, names)
    message = f"{said} has no field {name!r}{near or known.hint.format(name)}"
    raise FilterError(text, part.position, part.length, message)


def parts_of(known: Known) -> list[str]:
    """The names that may follow a dot, as far as they are known."""
    return list(dict.fromkeys((*known.children, *parts(known.shape))))
