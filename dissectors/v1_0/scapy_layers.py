"""Layers inside a frame of AMQP 1.0: performatives, other values, message sections.

Each composite type has a class (`AMQPOpen`, `AMQPAttach`, ...) with the spec's field names, `-` as
`_`; source, target, error and delivery state are packets inside fields. Each message section that
is no composite has one too (`AMQPData`, ...), and `AMQPMessage` lists the sections of a transfer.

List and array values belong to the field: they do not make scapy generate one packet per item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from scapy.base_classes import BasePacket, Packet_metaclass
from scapy.fields import AnyField, Field, PacketListField
from scapy.packet import Packet, Raw
from scapy.volatile import VolatileValue

from dissectors.errors import Malformed
from dissectors.scapy_units import SUMMARISED, FramePart, KeptLayer, shorten
from dissectors.v1_0 import rows
from dissectors.v1_0.bodies import BODIES, Body, restore
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.encode import encode
from dissectors.v1_0.message import section_at, section_code, walk
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.tables import COMPOSITES, RESTRICTED, RESTRICTED_TYPE, choice, primitive
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Uuid, Value

SYMBOL_KEYS: Final = frozenset(("fields", "annotations", "filter-set", "node-properties"))
"""Types of map whose keys are symbols, so that a plain str as key is made one."""


# Values: as people write them, as scapy holds them, as the codec takes them.


def natural(value: Value, row: rows.Field) -> Value:
    """What was written for a field, as a value of the field's type where the two are close."""
    kind = primitive(row.type)
    if isinstance(value, Body):
        return layer_of(value)
    if isinstance(value, dict):
        return mapping(value, row.type)
    if row.multiple and type(value) in {list, tuple}:
        items = [natural(item, row) for item in value]
        return Array(0xA3 if all(len(item) < 256 for item in items) else 0xB3, items)
    if type(value) is str:
        if kind == "symbol":
            return Symbol(value)
        if kind == "binary":
            return value.encode()
        if kind != "string" and row.type in RESTRICTED_TYPE:
            return dict(RESTRICTED_TYPE[row.type].choices).get(value, value)
    return value


def mapping(pairs: dict[Value, Value], kind: str) -> Map:
    """A dict as the map that a field of this type holds."""
    while kind not in SYMBOL_KEYS and kind in RESTRICTED_TYPE:
        kind = RESTRICTED_TYPE[kind].source
    symbols = kind in SYMBOL_KEYS
    return Map(
        (Symbol(key) if symbols and type(key) is str else key, plain(value))
        for key, value in pairs.items()
    )


def plain(value: Value) -> Value:
    """A value without packets and random objects in it, for the codec."""
    if isinstance(value, VolatileValue):
        return plain(value._fix())
    if isinstance(value, AMQPLayer):
        return value.amqp()
    if isinstance(value, dict):
        return mapping(value, "map")
    if isinstance(value, Map):
        return Map((plain(key), plain(item)) for key, item in value)
    if type(value) is list:
        return [plain(item) for item in value]
    if isinstance(value, Described):
        return Described(plain(value.descriptor), plain(value.value))
    return value


def layer_of(body: Body) -> AMQPComposite:
    """A composite value as a packet."""
    layer = LAYERS[body.row.name]()
    layer.take(body)
    return layer


def text(value: Value, kind: str = "*") -> str:
    """A value as people read it."""
    named = choice(kind, value)
    if named:
        return named
    if isinstance(value, Symbol | Uuid):
        return str(value)
    if isinstance(value, Map):
        return "{" + ", ".join(f"{text(key)}: {text(item)}" for key, item in value) + "}"
    if type(value) is list or isinstance(value, Array):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, Described):
        return f"{descriptor_name(value.descriptor)}({text(value.value)})"
    if isinstance(value, Body):
        named_fields = zip(value.row.fields, value, strict=False)
        said = (f"{f.name}={text(v, f.type)}" for f, v in named_fields if v is not None)
        return f"{value.row.name}({', '.join(said)})"
    if isinstance(value, AMQPComposite):
        return text(value.amqp())
    return repr(value)


def read(octets: bytes) -> tuple[Value, int]:
    """The value at the start and its size; nothing of size 0 where none can be made out."""
    reader = Reader(octets)
    try:
        return reader.value(len(octets)), reader.at
    except Malformed:
        return None, 0


class ValueField(Field[Value, bytes]):
    """Any AMQP value; the row says the type that it should have."""

    __slots__ = ["row"]
    islist = 1  # a list or a pair of numbers is one value, not a set of packets to generate

    def __init__(self, row: rows.Field) -> None:
        self.row = row
        super().__init__(row.name.replace("-", "_"), None)

    def any2i(self, pkt: Packet | None, x: Value) -> Value:
        """Take what was written."""
        return natural(x, self.row)

    def i2repr(self, pkt: Packet | None, x: Value) -> str:
        """Show it."""
        return text(x, self.row.type)

    def addfield(self, pkt: Packet, s: bytes, val: Value) -> bytes:
        """Append the canonical encoding."""
        return s + encode(plain(val), primitive(self.row.type))

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, Value]:
        """Read one value off the front."""
        value, size = read(s)
        return s[size:], natural(value, self.row)


class AMQPLayer(KeptLayer):
    """A described value."""

    def amqp(self) -> Value:
        """The value that the fields make now."""
        raise NotImplementedError

    def take(self, value: Value) -> bool:
        """Fill the fields from a value, if it is one of this type."""
        raise NotImplementedError

    def do_dissect(self, s: bytes) -> bytes:
        """Decode one value; octets that are none stay for the payload."""
        value, size = read(s)
        if not self.take(value):
            size = 0
        changing = (list, tuple, Described, Packet)
        self.keep_octets(s[:size], [n for n, v in self.fields.items() if isinstance(v, changing)])
        return s[size:]

    def encode_fields(self) -> bytes:
        """The canonical encoding."""
        return encode(self.amqp())

    def fingerprint_field(self, name: str) -> bytes:
        """The encoding of a field's value."""
        try:
            return self.get_field(name).addfield(self, b"", self.getfieldval(name))
        except (ValueError, KeyError, OverflowError):
            return b""  # a damaged value that no encoding has: not known to be changed

    def default_payload_class(self, payload: bytes) -> type[Packet]:
        """Octets behind a value in a frame are opaque, but for a transfer's message."""
        return message_class(payload) if isinstance(self, LAYERS["transfer"]) else Raw

    def mysummary(self) -> Any:
        """Name the layer and its fields, and have the other layers do the same."""
        values = ((f, self.getfieldval(f.name)) for f in self.fields_desc)
        said = [
            f"{f.name.replace('_', '-')}={shorten(f.i2repr(self, value))}"
            for f, value in values
            if value is not None
        ]
        return " ".join([self._name, *said]), SUMMARISED


class AMQPComposite(AMQPLayer):
    """A composite type; each row has its subclass."""

    __slots__ = ["beyond", "shown"]
    row: ClassVar[rows.Composite]

    def __init__(self, *args: Any, **fields: Any) -> None:
        self.beyond: tuple[Value, ...] = ()
        """List items past the last field of the row."""
        self.shown = False
        """Whether `show` is at work, which wants the layer's name (see `_get_name`)."""
        super().__init__(*args, **fields)

    def _show_or_dump(self, *args: Any, **kwargs: Any) -> str | None:
        self.shown = True
        try:
            return super()._show_or_dump(*args, **kwargs)
        finally:
            self.shown = False

    def amqp(self) -> Body:
        """The composite value."""
        values = (plain(self.getfieldval(f.name)) for f in self.fields_desc)
        return restore(self.row.name, [*values, *self.beyond], {})

    def take(self, value: Value) -> bool:
        """Fill the fields with what was on the wire, also of a wrong type."""
        if not isinstance(value, BODIES[self.row.name]):
            return False
        for place, field in enumerate(self.fields_desc):
            item = value.wire(place)
            if item is not None:
                self.fields[field.name] = layer_of(item) if isinstance(item, Body) else item
        self.beyond = tuple(value[len(self.row.fields) :])
        self.explicit = 1
        return True

    def copy(self) -> AMQPComposite:
        """Copy what scapy does not know of, too."""
        clone: AMQPComposite = super().copy()
        clone.beyond = self.beyond
        return clone

    def clone_with(self, payload: Any = None, **kargs: Any) -> Any:
        """A copy, also of what came beyond its fields."""
        clone = super().clone_with(payload, **kargs)
        clone.beyond = self.beyond
        return clone


class AMQPDescribed(AMQPLayer):
    """A frame's body under a descriptor that is no composite type's."""

    name = "described"
    fields_desc: ClassVar[list[AnyField]] = [
        ValueField(rows.Field("descriptor", "*")),
        ValueField(rows.Field("value", "*")),
    ]

    def amqp(self) -> Described:
        """The described value."""
        return Described(plain(self.descriptor), plain(self.value))

    def take(self, value: Value) -> bool:
        """Take descriptor and value apart."""
        if not isinstance(value, Described):
            return False
        self.fields |= {"descriptor": value.descriptor, "value": natural(value.value, ANY)}
        self.explicit = 1
        return True


ANY: Final = rows.Field("value", "*")


class AMQPSection(AMQPLayer):
    """A message section that is one described value; each row has its subclass."""

    row: ClassVar[rows.Restricted]

    def amqp(self) -> Described:
        """The section as a described value."""
        return Described(Ulong(self.row.code or 0), plain(self.value))

    def take(self, value: Value) -> bool:
        """Take the value out of its description."""
        if not isinstance(value, Described) or section_code(value.descriptor) != self.row.code:
            return False
        self.fields["value"] = natural(value.value, ANY)
        self.explicit = 1
        return True


def _class_name(name: str) -> str:
    if name == "header":
        return "AMQPMessageHeader"  # AMQPHeader is the protocol's
    return "AMQP" + name.removeprefix("amqp-").title().replace("-", "")


def _composite(row: rows.Composite) -> type[AMQPComposite]:
    members = {
        "_name": row.name,
        "row": row,
        "fields_desc": [ValueField(field) for field in row.fields],
        "__module__": __name__,
        "__doc__": f"The composite type `{row.name}`.",
    }
    made = Packet_metaclass(_class_name(row.name), (AMQPComposite,), members)
    if "name" in {field.name for field in row.fields}:
        type.__setattr__(made, "name", property(_get_name, _set_name))
    return cast("type[AMQPComposite]", made)


# Packets have an attribute `name`, the layer's, that would hide the name of a link.


def _get_name(layer: AMQPComposite) -> Value:
    return layer._name if layer.shown else layer.getfieldval("name")


def _set_name(layer: AMQPComposite, value: Value) -> None:
    try:
        Packet.default_fields.__get__(layer)  # type: ignore[attr-defined]
    except AttributeError:
        return  # scapy names the layer before it has any fields
    layer.setfieldval("name", value)


def _section(row: rows.Restricted) -> type[AMQPSection]:
    members = {
        "_name": row.name,
        "row": row,
        "fields_desc": [ValueField(rows.Field("value", row.name))],
        "__module__": __name__,
        "__doc__": f"The message section `{row.name}`.",
    }
    return cast(
        "type[AMQPSection]", Packet_metaclass(_class_name(row.name), (AMQPSection,), members)
    )


LAYERS: Final = {row.name: _composite(row) for row in COMPOSITES}
"""The layer of each composite type, by the spec's name."""

SECTION_LAYERS: Final[dict[int, type[AMQPLayer]]] = {
    **{row.code: LAYERS[row.name] for row in COMPOSITES if "section" in row.provides},
    **{row.code: _section(row) for row in RESTRICTED if row.code is not None},
}
"""The layer of each message section, by descriptor."""

MADE: Final = {made.__name__: made for made in (*LAYERS.values(), *SECTION_LAYERS.values())}
globals().update(MADE)

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[AMQPLayer]:
        """Whatever class the rows make."""


class SectionsField(PacketListField):
    """The sections of a message."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[BasePacket]]:
        """Take sections off the front, as far as they are whole and known."""
        found: list[BasePacket] = []
        at = 0
        for section in walk(s)[0]:
            made = SECTION_LAYERS.get(section.code)
            if made is None:
                break
            found.append(made(s[section.start : section.stop]))
            at = section.stop
        return s[at:], found


class AMQPMessage(FramePart):
    """The payload of a transfer: a message, or the part of it that this transfer holds."""

    name = "message"
    fields_desc: ClassVar[list[AnyField]] = [SectionsField("sections", [])]

    def do_dissect(self, s: bytes) -> bytes:
        """Dissect the sections, each of which knows itself whether it was changed."""
        rest = super().do_dissect(s)
        self.raw_packet_cache = None
        return rest

    def mysummary(self) -> Any:
        """Name the sections."""
        said = " ".join(section._name for section in self.sections)
        return f"message [{said}]", SUMMARISED


def message_class(payload: bytes) -> type[Packet]:
    """The class for a transfer's payload: a message only where a section begins."""
    try:
        known = section_at(payload, 0, len(payload)).code in SECTION_LAYERS
    except Malformed:
        known = False
    return AMQPMessage if known else Raw
