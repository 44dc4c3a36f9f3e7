"""Values against the rows of their types (TYP; spec part 1 and 2.8).

What a field must be is written in the rows of `dissectors.v1_0.tables`, so each rule here is one
loop over them for all performatives. Termini, delivery states, SASL frames and messages have
rules of their own in their groups; errors in detach, end and close are looked at here.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.field_checks import FITNESS, MAX_TAG
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import performative
from dissectors.v1_0.bodies import Body, Transfer
from dissectors.v1_0.rows import Field
from dissectors.v1_0.tables import RESTRICTED_TYPE, primitive
from dissectors.v1_0.values import Array, Described, Value, type_of

LOCALES: Final = frozenset(("outgoing-locales", "incoming-locales"))
"""Fields whose text calls an empty list the same as nothing."""


class Place:
    """A field, its path, and what stands there."""

    def __init__(self, path: str, field: Field, value: Value) -> None:
        self.path = path
        self.field = field
        self.value = value


def error_of(body: Body) -> Body | None:
    """The error in a detach, end or close."""
    if body.row.name not in {"detach", "end", "close"}:
        return None
    last: Value = body[len(body.row.fields) - 1]
    return last if isinstance(last, Body) else None


def mistyped_fields(event: Event) -> list[Place]:
    """The fields of a performative, and of an error in it, that have another type than declared."""
    body = performative(event)
    if body is None:
        return []
    found = [
        place
        for place in misfits(body, body.row.name)
        # An error that is none has a rule of its own (ERR-001).
        if place.field.type != "error"
    ]
    error = error_of(body)
    if error is not None:
        found += misfits(error, f"{body.row.name}.error")
    return found


def misfits(body: Body, path: str) -> list[Place]:
    """What is kept in `wrong`, with names."""
    fields = body.row.fields
    return [
        Place(f"{path}.{fields[place].name}", fields[place], value)
        for place, value in body.wrong.items()
        if place < len(fields)
    ]


def shapes_wrong(place: Place) -> bool:
    """A field of multiple values that holds a list, or an array of something else."""
    return place.field.multiple and isinstance(place.value, (list, Array))


def declared_type(field: Field) -> str:
    """A field's type in words, with the primitive behind it."""
    plain = primitive(field.type)
    return plain if plain == field.type else f"{field.type} ({plain})"


@rule("TYP-001", "1.3.4, 1.4", IMPLIED, ERROR, on="wrong")
def mandatory_field_missing(event: Event, report: Reporter) -> None:
    """A field that its type declares mandatory is there and not null.

    A list that ends early leaves out its last fields, so a begin or flow that is too short breaks
    this as much as one with a null inside. Zero and empty strings are values, not absent.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=10   # <- TYP-001

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=0
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=1 outgoing-window=0
    """
    body = performative(event)
    if body is None:
        return
    row = body.row
    missing = [
        row.fields[place].name
        for place in FITNESS[type(body)].mandatory
        if body[place] is None and place not in body.wrong
    ]
    if missing:
        names = " and ".join(missing)
        text = f"{row.name} lacks the mandatory {names}"
        report.sure(event, text, f"{row.name}.{missing[0]}")


@rule("TYP-002", "1.3.4", IMPLIED, ERROR, on="wrong")
def field_type_mismatch(event: Event, report: Reporter) -> None:
    """A field holds a value of its declared type, in any of that type's encodings.

    A number of another width or sign is another type, and a string is no symbol: strict decoders
    refuse the whole frame. The short encodings (uint0, smalluint) are the same type as the long.

    Bad (session):
        client: attach[0] name="s" handle=ushort 0 role=sender initial-delivery-count=0
                source=source() target=target(address="q")   # <- TYP-002

    Good (opened):
        client: begin[0] next-outgoing-id=0'70 incoming-window=5'52 outgoing-window=0'43
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=5 outgoing-window=0
    """
    found = [
        place
        for place in mistyped_fields(event)
        if not shapes_wrong(place) and not isinstance(place.value, Array)
    ]
    if found:
        first = found[0]
        what = "a described value" if isinstance(first.value, Described) else type_name(first.value)
        # A value too many or too few puts all that follow in the wrong place: one cause.
        more = f"; {len(found) - 1} more fields are of the wrong type" if len(found) > 1 else ""
        text = f"{first.path} is {what}, declared {declared_type(first.field)}{more}"
        report.sure(event, text, first.path)


def type_name(value: Value) -> str:
    """The type of a value in words."""
    name = value.row.name if isinstance(value, Body) else type_of(value)
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


@rule("TYP-003", "1.4", IMPLIED, ERROR, on="wrong")
def multiple_field_shape(event: Event, report: Reporter) -> None:
    """A field of multiple values is null, one bare value, or an array of values of its type.

    A list is a natural guess and wrong: most receivers drop the frame. One bare symbol and an array
    of one symbol mean the same. An empty array is an absent field, whatever its constructor. The
    text on the two locale fields speaks of an empty list, so that one is only noted.

    Bad (headers):
        client: open container-id="c" desired-capabilities=list[:ANONYMOUS-RELAY]   # <- TYP-003

    Good (headers):
        client: open container-id="c" offered-capabilities=:a desired-capabilities=array symbol[]
        server: open container-id="s" offered-capabilities=[:ANONYMOUS-RELAY]
    """
    for place in mistyped_fields(event):
        if not shapes_wrong(place):
            continue
        value = place.value
        if isinstance(value, Array) and not len(value):
            continue
        kind = primitive(place.field.type)
        if isinstance(value, list):
            text = f"{place.path} is a list of {len(value)}, not {kind} or an array of it"
            level = INFO if not value and place.field.name in LOCALES else ERROR
        else:
            inner = "described values" if value.descriptors else "another type"
            text = f"{place.path} is an array of {inner}, declared {kind}"
            level = ERROR
        report.sure(event, text, place.path, severity=level)


@rule("TYP-004", "1.4", IMPLIED, ERROR, on="wrong")
def array_on_single_field(event: Event, report: Reporter) -> None:
    """Only a field declared to take multiple values may hold an array.

    Bad (headers):
        client: open container-id="c" hostname=array string["a"]   # <- TYP-004

    Good (headers):
        client: open container-id="c" hostname="a" offered-capabilities=array symbol[:a]
    """
    for place in mistyped_fields(event):
        if isinstance(place.value, Array) and not place.field.multiple:
            report.sure(
                event,
                f"{place.path} is an array, declared a single {declared_type(place.field)}",
                place.path,
            )


@rule("TYP-007", "1.3.2, 1.4", IMPLIED, WARNING, on="wrong", needs="!closed trusted")
def composite_extra_fields(event: Event, report: Reporter) -> None:
    """A composite value has no more elements than its type has fields.

    Receivers either refuse the frame or ignore the surplus. A later revision may define it, hence
    a warning; nulls in surplus places say nothing and are only noted.

    Bad (session):
        client: end[0] error=null +[true]   # <- TYP-007

    Good (session):
        client: end[0] error=null
        server: end[0]
    """
    body = event.body
    if body is None or event.frame.unit.faults:
        return
    for path, inner in composites(body):
        surplus = inner[len(inner.row.fields) :]
        if not surplus:
            continue
        filled = any(value is not None for value in surplus)
        text = f"{path} has {len(inner)} items, {len(inner.row.fields)} are defined"
        report.sure(event, text, path, severity=WARNING if filled else INFO)


def composites(body: Body) -> list[tuple[str, Body]]:
    """A body with the termini or the error in it."""
    found = [(body.row.name, body)]
    for place in FITNESS[type(body)].inner:
        inner: Value = body[place]
        if isinstance(inner, Body):
            found.append((f"{body.row.name}.{body.row.fields[place].name}", inner))
    return found


@rule("TYP-010", "1.3.5", IMPLIED, ERROR, on="wrong")
def restricted_choice_invalid(event: Event, report: Reporter) -> None:
    """A field with a fixed set of choices holds one of them.

    These are the settle modes: 0 to 2 for the sender, 0 and 1 for the receiver. With any other
    number neither peer can know who settles a delivery, and when.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender snd-settle-mode=3 source=source()
                target=target(address="q") initial-delivery-count=0   # <- TYP-010

    Good (attaching_sender snd-settle-mode=2 rcv-settle-mode=1):
        server: attach[0] name="s" handle=0 role=receiver snd-settle-mode=2 rcv-settle-mode=1
                source=source() target=target(address="q")
    """
    body = performative(event)
    if body is None:
        return
    fitness = FITNESS[type(body)]
    for place in fitness.ranged:
        limit = fitness.limits[place]
        number: Value = body[place]
        if number is None or number <= limit or place in body.wrong:
            continue
        field = body.row.fields[place]
        choices = RESTRICTED_TYPE[field.type].choices
        known = ", ".join(f"{value} ({name})" for name, value in choices)
        path = f"{body.row.name}.{field.name}"
        report.sure(event, f"{path} is {number}, the choices are {known}", path)


@rule("TYP-019", "2.8.7", IMPLIED, ERROR, on="transfer wrong")
def delivery_tag_too_long(event: Event, report: Reporter) -> None:
    """A delivery-tag has at most 32 octets.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 message-format=0 settled=true
                delivery-tag=b"012345678901234567890123456789012" | data(b"0")   # <- TYP-019

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 message-format=0 settled=true
                delivery-tag=b"01234567890123456789012345678901" | data(b"0")
    """
    body = performative(event)
    if not isinstance(body, Transfer) or body.delivery_tag is None:
        return
    size = len(body.delivery_tag)
    if size > MAX_TAG:
        report.sure(
            event, f"delivery-tag has {size} octets, the most is {MAX_TAG}", "transfer.delivery-tag"
        )
