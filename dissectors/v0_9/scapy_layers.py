"""Layers inside a frame of 0-8, 0-9 and 0-9-1: methods and content headers.

Each method of a dialect has a class (`BasicPublish`, `QueueDeclare`, ...) with the spec's field
names, `-` as `_`, and so has the content header of each class (`BasicContentHeader`). `layers` has
those of any dialect.
"""

from __future__ import annotations

import keyword
from functools import cache
from typing import Any, ClassVar, cast

from scapy.base_classes import Packet_metaclass
from scapy.fields import Field, ShortField
from scapy.packet import Packet

from dissectors.scapy_units import SUMMARISED, KeptLayer, fix, shorten
from dissectors.v0_9 import rows
from dissectors.v0_9.codec import Reader
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    content_payload,
    default_value,
    encode_table,
    letter_of,
    method_payload,
)
from dissectors.v0_9.message import read_content
from dissectors.v0_9.notation_text import text_argument
from dissectors.v0_9.plans import ContentPlan, Dialect, Plan
from dissectors.v0_9.primitives import readable
from dissectors.v0_9.values import FieldArray, Table, Value

# Values


def natural(value: Value, kind: str) -> Value:
    """What was written for a field, as the codec takes it."""
    if isinstance(value, dict):
        return Table([(key, natural(item, "")) for key, item in value.items()], _letters(value))
    if kind == "shortstr" and isinstance(value, bytes):
        return readable(value)
    if type(value) is list:
        items = [natural(item, "") for item in value]
        return FieldArray(items, bytes(map(letter_of, items)))
    return value


def _letters(pairs: dict[str, Value]) -> bytes:
    return bytes(letter_of(item) for item in pairs.values())


def attribute(name: str) -> str:
    """A field's name as Python can have it."""
    plain = name.replace("-", "_")
    return f"{plain}_" if keyword.iskeyword(plain) or hasattr(Packet, plain) else plain


class ArgumentField(Field[Value, bytes]):
    """An argument or property; the row says its type."""

    __slots__ = ["row"]
    islist = 1  # a table or array is one value, not a set of packets to generate

    def __init__(self, row: rows.Field, absent: Value) -> None:
        self.row = row
        super().__init__(attribute(row.name), absent)

    def any2i(self, pkt: Packet | None, x: Value) -> Value:
        """Take what was written."""
        return natural(x, self.row.type)

    def i2repr(self, pkt: Packet | None, x: Value) -> str:
        """Show it."""
        return text_argument(x, self.row)


# Layers


class AMQP09Layer(KeptLayer):
    """A method or content header."""

    spoken: ClassVar[Dialect]

    def read_fields(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """The fields; the reader is then behind them."""
        raise NotImplementedError

    def do_dissect(self, s: bytes) -> bytes:
        """Decode the fields; octets behind them are left for the payload."""
        reader = Reader(s, 0, self.spoken)
        found = self.read_fields(reader, s)
        self.fields = {name: value for name, value in found.items() if value is not None}
        self.explicit = 1
        end = len(s) if reader.faults and reader.faults[-1].kind != "trailing" else reader.at
        self.keep_octets(s[:end], [n for n, v in self.fields.items() if isinstance(v, Table)])
        return s[end:]

    def fingerprint_field(self, name: str) -> bytes:
        """The encoding of a table."""
        return encode_table(self.fields.get(name, Table()))

    def given_values(self) -> dict[str, Value]:
        """The fields that are not None, by the spec's names."""
        values = ((f.row.name, fix(self.getfieldval(f.name))) for f in self.argument_fields())
        return {name: value for name, value in values if value is not None}

    def argument_fields(self) -> list[ArgumentField]:
        """The fields that rows describe."""
        return [f for f in self.fields_desc if isinstance(f, ArgumentField)]

    def mysummary(self) -> Any:
        """Name the layer and the fields that say something."""
        said = [
            f"{f.row.name}={shorten(f.i2repr(self, value))}"
            for f in self.argument_fields()
            if (value := self.getfieldval(f.name)) not in (None, False, "")
        ]
        return " ".join([self._name, *said]), SUMMARISED


class MethodLayer(AMQP09Layer):
    """A method; each row has its subclass."""

    plan: ClassVar[Plan]

    def encode_fields(self) -> bytes:
        """Numbers and arguments."""
        return method_payload(self.plan.row, self.given_values())

    def read_fields(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """The arguments behind the numbers."""
        reader.at = 4
        values = reader.arguments(self.plan, len(octets))
        named = zip(self.argument_fields(), values, strict=True)
        return {field.name: value for field, value in named}


class ContentLayer(AMQP09Layer):
    """A content header; each class that carries contents has its subclass."""

    plan: ClassVar[ContentPlan]

    def encode_fields(self) -> bytes:
        """Sizes, flags and the properties that are there."""
        weight, body_size = int(fix(self.weight)), int(fix(self.body_size))
        return content_payload(self.plan.row, body_size, self.given_values(), weight)

    def read_fields(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """Sizes and properties."""
        found = read_content(reader, len(octets))
        named = zip(self.argument_fields(), found.values, strict=True)
        values = {field.name: value for field, value in named}
        return {"weight": found.weight, "body_size": found.body_size} | values


def class_name(name: str) -> str:
    """The name of a method's class: `BasicPublish`."""
    return name.replace(".", "-").title().replace("-", "")


def content_class_name(name: str) -> str:
    """The name of the class of a content header: `BasicContentHeader`."""
    return f"{name.title()}ContentHeader"


def _method(spoken: Dialect, plan: Plan) -> type[MethodLayer]:
    row = plan.row
    members = {
        "_name": row.name,
        "name": row.name,
        "plan": plan,
        "spoken": spoken,
        "fields_desc": [ArgumentField(field, default_value(field)) for field in row.fields],
        "__module__": __name__,
        "__doc__": f"The method `{row.name}` of {spoken.name}.",
    }
    made = Packet_metaclass(class_name(row.name), (MethodLayer,), members)
    return cast("type[MethodLayer]", made)


def _content(spoken: Dialect, plan: ContentPlan) -> type[ContentLayer]:
    sizes = [ShortField("weight", 0), Field("body_size", 0, "Q")]
    members = {
        "_name": f"{plan.name} content-header",
        "name": f"{plan.name} content-header",
        "plan": plan,
        "spoken": spoken,
        "fields_desc": [*sizes, *(ArgumentField(field, None) for field in plan.row.properties)],
        "__module__": __name__,
        "__doc__": f"The content header of the class `{plan.name}` of {spoken.name}.",
    }
    made = Packet_metaclass(content_class_name(plan.name), (ContentLayer,), members)
    return cast("type[ContentLayer]", made)


@cache
def layers(name: str) -> dict[str, type[AMQP09Layer]]:
    """The layers of a dialect by class name: `BasicPublish`, `BasicContentHeader`, ..."""
    spoken = dialect(name)
    made: list[type[AMQP09Layer]] = [_method(spoken, plan) for plan in spoken.by_name.values()]
    made += [_content(spoken, plan) for plan in spoken.contents.values()]
    return {layer.__name__: layer for layer in made}
