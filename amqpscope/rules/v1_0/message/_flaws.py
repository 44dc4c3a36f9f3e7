"""What is wrong inside a message, found in one closer look; each rule reports its own part.

A message is often not the work of the peer that sends it: a broker hands on what a producer wrote
and may not repair it. So on a link that the receiver set up (a broker's way out) only the header
and the delivery annotations, which each hop writes for itself, are surely the sender's own fault.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.message import (
    AMQP_SEQUENCE,
    AMQP_VALUE,
    APPLICATION_PROPERTIES,
    BODY,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MAX_DECODED,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    RANK,
    Message,
    repeated_key,
)
from amqpscope.rules.v1_0 import ERROR, Reporter
from amqpscope.rules.wording import a
from dissectors.errors import Damage, Malformed
from dissectors.v1_0.bodies import Body, Error
from dissectors.v1_0.encodings import DESCRIBED, TYPE_OF, TYPES, label
from dissectors.v1_0.message import Section
from dissectors.v1_0.tables import SECTIONS
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Uuid, Value, type_of

OWN: Final = frozenset((HEADER, DELIVERY_ANNOTATIONS))
"""Sections that every sender writes for itself."""

HOLDS: Final = {
    HEADER: "list",
    DELIVERY_ANNOTATIONS: "map",
    MESSAGE_ANNOTATIONS: "map",
    PROPERTIES: "list",
    APPLICATION_PROPERTIES: "map",
    DATA: "binary",
    AMQP_SEQUENCE: "list",
    FOOTER: "map",
}
"""The type that each section holds; amqp-value holds any."""

DAMAGED: Final = {
    # what: the rule that reports it
    Damage.ODD_MAP: "MSG-053",
    Damage.CHAR: "TYP-023",
    Damage.UTF8: "TYP-024",
    Damage.ASCII: "TYP-025",
    Damage.BOOLEAN: "TYP-026",
    Damage.LIMIT: "",
}
"""Other damage inside a section is MSG-007."""

_DESCRIPTORS: Final = b"\x44\x53\x80\xa3\xb3"
_NUMBERS: Final = b"\x44\x53\x80"
SYM8: Final = 0xA3


class Flaw:
    """One thing that is wrong in a message."""

    def __init__(
        self, rule: str, code: int, path: str, text: str, sure: bool = True, severity: str = ""
    ) -> None:
        self.rule = rule
        """The id of the rule that says so."""
        self.code = code
        """The section's descriptor, or -1."""
        self.path = path
        self.text = text
        self.sure = sure
        self.severity = severity
        """Where it is not that of the rule."""


def report_flaws(event: Event, report: Reporter, severity: str = "") -> None:
    """Report what the closer look has found for the rule: the first of it, and how much more."""
    message = event.parts
    if message is None or event.discarded:
        return
    first: Flaw | None = None
    more = 0
    for flaw in flaws_of(message):
        if flaw.rule == report.running.id:
            if first is None:
                first = flaw
            else:
                more += 1
    if first is None:
        return
    text = f"{first.text} (and {more} more like it)" if more else first.text
    chosen = severity or first.severity
    report_section(event, report, first.code, text, first.path, first.sure, chosen)


def report_section(
    event: Event,
    report: Reporter,
    code: int,
    text: str,
    path: str,
    sure: bool = True,
    severity: str = "",
) -> None:
    """Report something about a section, as sure as its sender is its author."""
    link, delivery = event.link, event.delivery
    if link is None or delivery is None:
        return
    relayed = passed_on(event) and code not in OWN
    related = [(delivery.mark, "the delivery begins here")] if delivery.transfers else []
    if relayed and link.pair is not None:
        related.append((link.pair.mark, "the receiver set up the link: others may have written it"))
    how = "sent by or through" if relayed else "from"
    said = f"message {how} sender {link.label()}: {text}"
    if sure and not relayed and delivery.message_format is not None:
        report.sure(event, said, path, tuple(related), severity=severity)
    else:
        report.suspect(event, said, path, tuple(related), severity=severity)


def passed_on(event: Event) -> bool:
    """Whether the sender of a message may only hand on what another wrote."""
    link = event.link
    return link is None or link.attach is None or link.may_answer


class _Last:
    """The message that was looked at last: several rules ask for what is wrong in it."""

    def __init__(self) -> None:
        self.message: Message | None = None
        self.found: list[Flaw] = []


_last: Final = _Last()


def flaws_of(message: Message) -> list[Flaw]:
    """Everything that is wrong in a message, looked for once."""
    if _last.message is not message:
        found: list[Flaw] = []
        _last.message, _last.found = message, found
        find_disorder(message, found)
        before = len(found)
        for section in message.sections:
            if section.code >= 0:
                find_inside(message, section, found)
        # A wrong size inside a section is why the next one is not where it should be.
        if message.fault is not None and all(each.rule != "MSG-007" for each in found[before:]):
            found.append(damage_flaw(message.fault, -1))
    return _last.found


def find_disorder(message: Message, found: list[Flaw]) -> None:
    """Sections that are strange, out of place, too many or missing."""
    seen: set[int] = set()
    highest, rank, body, strange = -1, -1, 0, message.fault is not None
    for place, section in enumerate(message.sections):
        code, name = section.code, section.name
        if code < 0:
            found.append(stranger(message, section, place))
            strange = True
            continue
        if RANK[code - HEADER] == BODY:
            if body and code != body:
                text = f"its body mixes {SECTIONS[body]} and {name} sections"
                found.append(Flaw("MSG-004", code, name, text))
                continue
            if body and code == AMQP_VALUE:
                found.append(Flaw("MSG-005", code, name, "has a second amqp-value section"))
                continue
            body = code
        elif code in seen:
            found.append(Flaw("MSG-002", code, name, f"has a second {name} section"))
            continue
        seen.add(code)
        if RANK[code - HEADER] < rank:
            text = f"{name} comes after {SECTIONS[highest]}"
            found.append(Flaw("MSG-001", code, name, text))
        else:
            rank, highest = RANK[code - HEADER], code
    if not body and not strange:
        found.append(missing_body(message))


def stranger(message: Message, section: Section, place: int) -> Flaw:
    """A section that the standard does not know."""
    first = message.data[section.start + 1]
    path = f"section[{place}]"
    if first not in _DESCRIPTORS:
        kind = "a described value" if first == DESCRIBED else a(label(first))
        return Flaw("MSG-009", -1, path, f"section {place + 1} has {kind} as its descriptor")
    raw = message.data[section.start + 1 : section.content]
    if first in _NUMBERS:
        number = int.from_bytes(raw[1:], "big")
        text = f"section {place + 1} has the descriptor 0x{number:x}"
        if number >> 32:
            return Flaw("MSG-006", -1, path, text)
        return Flaw("MSG-006", -1, path, f"{text}, of the standard's own domain", severity=ERROR)
    spelled = repr(raw[2 if first == SYM8 else 5 :].decode("ascii", "replace"))
    return Flaw("MSG-006", -1, path, f"section {place + 1} has the descriptor {spelled}")


def missing_body(message: Message) -> Flaw:
    """No body at all."""
    names = ", ".join(section.name for section in message.sections)
    return Flaw("MSG-003", -1, "body", f"has no body, only {names}")


def damage_flaw(fault: Malformed, code: int) -> Flaw:
    """Damage, by the rule that reports its kind."""
    rule = DAMAGED.get(fault.kind, "MSG-007")
    text = f"{fault.reason} (octet {fault.offset} of the message)"
    return Flaw(rule, code, fault.path, text)


def find_inside(message: Message, section: Section, found: list[Flaw]) -> None:
    """What is wrong inside one section."""
    code = section.code
    declared = HOLDS.get(code, "")
    constructor = message.data[section.content]
    if declared and type_name(constructor) != declared:
        text = f"{section.name} holds {holding(constructor)}, not {a(declared)}"
        found.append(Flaw("MSG-008", code, section.name, text))
        return
    if code == DATA or section.stop - section.start > MAX_DECODED:
        return
    value, faults = message.read(section)
    if faults:
        found.append(damage_flaw(faults[0], code))
        return
    if isinstance(value, Body) and code in (HEADER, PROPERTIES):
        find_in_fields(value, code, found)
    elif isinstance(value, Map) and code == APPLICATION_PROPERTIES:
        find_in_application_properties(value, found)
    elif isinstance(value, Map) and code != AMQP_VALUE:
        find_in_annotations(value, code, found)
    repeated = repeated_key(value)
    if repeated:
        text = f"a map in {section.name} has the key {repeated} twice"
        found.append(Flaw("MSG-053", code, section.name, text))


def type_name(constructor: int) -> str:
    """The type of a format code, or nothing."""
    number = TYPE_OF[constructor]
    return TYPES[number - 1] if number else ""


def holding(constructor: int) -> str:
    """A format code in a sentence."""
    return "a described value" if constructor == DESCRIBED else label(constructor)


FIELD_RULES: Final = {"header": "MSG-010", "message-id": "MSG-030", "correlation-id": "MSG-030",
                      "user-id": "MSG-031", "to": "MSG-033", "reply-to": "MSG-033"}  # fmt: skip
"""The rule that reports a wrong type, by section or field; for other properties MSG-032."""


def find_in_fields(body: Body, code: int, found: list[Flaw]) -> None:
    """Fields of header and properties that are not of their types, and surplus ones."""
    name = body.row.name
    default = FIELD_RULES.get(name, "MSG-032")
    for place, field in enumerate(body.row.fields):
        value = body.wire(place)
        if value is None:
            continue
        path = f"{name}.{field.name}"
        rule = FIELD_RULES.get(field.name, default)
        if place in body.wrong:
            text = f"{path} is of type {type_of(value)}, not {field.type}"
            found.append(Flaw(rule, code, path, text))
        elif field.requires == "message-id" and not is_message_id(value):
            text = f"{path} is of type {type_of(value)}, not ulong, uuid, binary or string"
            sure = not isinstance(value, (Described, Body))
            found.append(Flaw(rule, code, path, text, sure))
        elif field.requires == "address" and type(value) is not str:
            text = f"{path} is of type {type_of(value)}, not string"
            found.append(Flaw(rule, code, path, text, False))
    if len(body) > len(body.row.fields):
        text = f"{name} has {len(body)} items, {len(body.row.fields)} are defined"
        found.append(Flaw("MSG-011", code, name, text))


def is_message_id(value: Value) -> bool:
    """Whether a value is of one of the four types of message-id."""
    kind = type(value)
    return kind is str or kind is bytes or kind is Uuid or kind is Ulong


def find_in_annotations(value: Map, code: int, found: list[Flaw]) -> None:
    """Keys that are neither symbol nor ulong, and the one that the standard gives a type."""
    name = SECTIONS[code]
    for key, item in value:
        if not isinstance(key, (Symbol, Ulong)):
            text = f"{name} has the key {key!r} of type {type_of(key)}, not symbol or ulong"
            found.append(Flaw("MSG-020", code, name, text))
        elif code == DELIVERY_ANNOTATIONS and key == "rejected" and not is_error(item):
            text = f"{name}.rejected is of type {type_of(item)}, not error"
            found.append(Flaw("MSG-025", code, f"{name}.rejected", text))


def is_error(value: Value) -> bool:
    """Whether a value is an error, or nothing."""
    return value is None or isinstance(value, Error)


def find_in_application_properties(value: Map, found: list[Flaw]) -> None:
    """Keys that are no strings, and values that are not simple."""
    code, name = APPLICATION_PROPERTIES, SECTIONS[APPLICATION_PROPERTIES]
    for key, item in value:
        if type(key) is not str:
            text = f"{name} has the key {key!r} of type {type_of(key)}, not string"
            found.append(Flaw("MSG-051", code, name, text))
        elif isinstance(item, (list, Map, Array)):
            text = f"{name}.{key} is of type {type_of(item)}, which is not a simple type"
            found.append(Flaw("MSG-052", code, f"{name}.{key}", text))
        elif isinstance(item, (Described, Body)):
            text = f"{name}.{key} is a described value; whether that is simple is not said"
            found.append(Flaw("MSG-052", code, f"{name}.{key}", text, False))
