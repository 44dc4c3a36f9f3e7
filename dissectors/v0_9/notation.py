r"""One unit of 0-8, 0-9 or 0-9-1 as one line of text, both ways, exact to the octet.

    connection.start-ok client-properties={product="x"} mechanism="PLAIN" response="\0u\0p"
    queue.declare[1] queue="q" durable=true arguments={x-max-length=10 x-expires=60000'l}
    basic.publish[1] exchange="amq.topic" routing-key="orders.new"
    content-header[1] class=basic body-size=5 content-type="text/plain" delivery-mode=2
    content-body[1] "hello"
    heartbeat
    basic.consume'0-8[1] queue="q"
    message.cancel'0-9[1 request=7 mark=3] destination="d"
    frame-0-x type=7 channel=0 0xdeadbeef

A method is its full name, the dialect behind a mark where it is not that of RabbitMQ, the channel
in brackets (0 if it goes unsaid), and its fields. A field left out is zero, empty or false; a
property left out is absent. Behind the channel come options: `cycle=1` and `head=7` or `head=8` for
the oldest frames, `end=0x00` for a wrong end octet, `request=` or `response=` with `mark=` and
`batch=` for the frames of 0-9. `heartbeat'short` is the one of four octets.

In tables a bare number is an `I`, text an `S`, binary an `x`, a time a `T`, `true` a `t`, `null` a
`V`, a number with a point a `d`; any other letter follows the value behind a mark: `5'l`, `"x"'s`,
`150e-2'D`, `null'00`. `[...]` is an array, `{...}` a table. Long strings for tests: `0x00*4096`.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from dissectors.notation_scanner import NAME, Scanner
from dissectors.notation_text import binary, hex_text, quoted
from dissectors.notation_units import brackets, header_text, read_line, read_options, reads_back
from dissectors.v0_9.dialects import DEFAULT, NAMES, dialect, refine
from dissectors.v0_9.encode import (
    content_payload,
    default_value,
    encode_frame,
    method_payload,
)
from dissectors.v0_9.framing import (
    BODY,
    FRAME_END,
    HEADER,
    HEARTBEAT,
    METHOD,
    REQUEST,
    RESPONSE,
    SHORT_HEARTBEAT,
    Unit,
    decode_unit,
)
from dissectors.v0_9.notation_parser import read_argument, read_octets
from dissectors.v0_9.notation_text import text_argument
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.rows import Field
from dissectors.v0_9.values import Value
from dissectors.v0_9.versions import DIALECT_OF

WORDS: Final = frozenset(("content-header", "content-body", "heartbeat", "frame-0-x"))
"""Units that are no methods."""
FRAME: Final = "frame-0-x"
EXPECTED: Final = "a method, content-header, content-body, heartbeat or frame-0-x"
_DIALECT: Final = re.compile(r"'(short|\d+-\d+(?:-\d+)?(?:-[a-z]+)?)")
_OPTIONS: Final = frozenset((
    "batch", "channel", "cycle", "end", "head", "mark", "request", "response", "size", "type",
))  # fmt: skip
_MOSTLY_UNSAID: Final = re.compile(r"reserved-\d+|ticket")


# octets to text


def write(raw: bytes, spoken: Dialect, limit: int = 0, head: int = 7) -> str:
    """One unit as one line; `notation.parse` gives the same octets, whatever they are.

    With a `limit` long strings and binaries are cut to it, for people's eyes only.
    """
    unit = decode_unit(raw, spoken, None, 0, head)
    if unit.header is not None:
        return header_text(raw)
    if raw == SHORT_HEARTBEAT:
        return "heartbeat'short"
    if len(raw) <= head:
        return f"octets {hex_text(raw, limit)}"
    text = _unit_text(unit, raw, limit)
    if text and (limit or reads_back(text, raw, read_text)):
        return text
    return _frame_text(unit, raw, limit)


def _unit_text(unit: Unit, raw: bytes, limit: int) -> str:
    """A unit by what it says; empty where that is not known."""
    method, content = unit.method, unit.content
    name = unit.name
    words: list[str] = []
    if method is not None and not method.raw:
        fields = zip(method.plan.row.fields, method.values, strict=True)
        words = [
            _argument_text(field, value, limit)
            for field, value in fields
            if _worth_saying(field, value)
        ]
    elif content is not None and content.plan is not None:
        words = [f"class={content.plan.name}", f"body-size={content.body_size}"]
        if content.weight:
            words.append(f"weight={content.weight}")
        fields = zip(content.plan.row.properties, content.values, strict=False)
        words += [
            _argument_text(field, value, limit) for field, value in fields if value is not None
        ]
    elif unit.label == "content-body":
        words = [_content_text(raw[unit.payload : -1], limit)]
    elif unit.label != "heartbeat" or unit.size:
        return ""
    mark = "" if _is_default(unit) else f"'{unit.dialect.name}"
    return " ".join((f"{name}{mark}{_frame_brackets(unit, raw)}", *words))


def _is_default(unit: Unit) -> bool:
    """Whether the dialect goes unsaid, as the usual one has the same fields."""
    name = unit.dialect.name
    if name == DEFAULT or unit.dialect.heads[0] != dialect(DEFAULT).heads[0]:
        return name == DEFAULT
    if unit.method is None:
        return unit.content is None or name.startswith("0-9-1")
    row = unit.method.plan.row
    usual = dialect(DEFAULT).by_name.get(row.name)
    return usual is not None and usual.code == row.code and usual.row.fields == row.fields


def _worth_saying(field: Field, value: Value) -> bool:
    """Whether an argument is worth a word: not what is reserved, unset or empty."""
    usual = default_value(field)
    if field.type in {"bit", "table"} or _MOSTLY_UNSAID.fullmatch(field.name):
        return bool(value != usual)
    return True


def _argument_text(field: Field, value: Value, limit: int) -> str:
    return f"{field.name}={text_argument(value, field, limit)}"


def _content_text(octets: bytes, limit: int) -> str:
    """A body: as text where it is text."""
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return binary(octets, limit)
    return quoted(text, limit) if text.isprintable() else binary(octets, limit)


def _frame_brackets(unit: Unit, raw: bytes) -> str:
    """The channel, and what is unusual about the frame."""
    words = [str(unit.channel)]
    if unit.head != unit.dialect.heads[0]:
        words.append(f"head={unit.head}")
    if unit.cycle:
        words.append(f"cycle={unit.cycle}")
    if unit.envelope is not None:
        word = "response" if unit.type == RESPONSE else "request"
        first, mark, batch = unit.envelope
        words += [f"{word}={first}", f"mark={mark}"]
        if batch:
            words.append(f"batch={batch}")
    elif unit.type not in _USUAL:
        words.append(f"type={unit.type}")
    if raw[-1] != FRAME_END:
        words.append(f"end=0x{raw[-1]:02x}")
    zero = words == ["0"] and (unit.class_id == 10 or unit.label == "heartbeat")
    return "" if zero else brackets(words)


_USUAL: Final = frozenset((METHOD, HEADER, BODY, HEARTBEAT))


def _frame_text(unit: Unit, raw: bytes, limit: int) -> str:
    """A frame by its header alone."""
    head = unit.head
    payload = raw[head:-1]
    words = [f"{FRAME} type={unit.type} channel={unit.channel}"]
    if head == 8:
        words.append(f"cycle={raw[1]}")
    if unit.size != len(payload):
        words.append(f"size={unit.size}")
    if raw[-1] != FRAME_END:
        words.append(f"end=0x{raw[-1]:02x}")
    if payload:
        words.append(hex_text(payload, limit))
    return " ".join(words)


# text to octets


def read_text(text: str, usual: str = DEFAULT) -> bytes:
    """The octets of one unit; `usual` is the dialect of one that does not name its own."""
    return read_line(Scanner(text), EXPECTED, partial(read_unit, usual=usual))


def next_dialect(raw: bytes, usual: str) -> str:
    """The dialect of what follows a unit: a header names it, and then the server's product."""
    spoken = dialect(usual)
    unit = decode_unit(raw, spoken, None, 0, spoken.heads[0])
    if unit.header is not None:
        named = DIALECT_OF.get(bytes(unit.header), usual)
        return DEFAULT if named == "0-9-1" else named
    if unit.method is not None and unit.name == "connection.start":
        return refine(spoken, unit.method.get("server-properties")).name
    return usual


def begins_unit(scanner: Scanner, name: str) -> bool:
    """Whether a word that was read begins a unit of this family."""
    return name in WORDS or scanner.text.startswith(".", scanner.at)


def read_unit(scanner: Scanner, name: str, start: int, usual: str = DEFAULT) -> bytes:
    """The octets of a unit whose first word was read."""
    if scanner.eat("."):
        name += "." + scanner.take(NAME, "a method's name")[0]
    marked = _mark(scanner, usual)
    if marked == "short":
        return SHORT_HEARTBEAT
    spoken = dialect(marked)
    frame = _Frame(spoken)
    if scanner.eat("["):
        frame.channel = scanner.integer() if scanner.peek().isdigit() else 0
        frame.options(scanner, "]")
    if name == "heartbeat":
        return frame.octets(scanner, HEARTBEAT, b"")
    if name == "content-body":
        return frame.octets(scanner, BODY, read_octets(scanner))
    if name == FRAME:
        frame.options(scanner, "")
        payload = scanner.binary() if scanner.peek() else b""
        return frame.octets(scanner, frame.set.get("type", 0), payload)
    if name == "content-header":
        return frame.octets(scanner, HEADER, _read_content(scanner, spoken, start))
    return frame.octets(scanner, METHOD, _read_method(scanner, spoken, name, start))


def _mark(scanner: Scanner, usual: str) -> str:
    """The dialect behind a name."""
    found = _DIALECT.match(scanner.text, scanner.at)
    if found is None:
        return usual
    if found[1] not in NAMES and found[1] != "short":
        scanner.fail(f"expected one of {', '.join(NAMES)}")
    scanner.at = found.end()
    return found[1]


def _read_method(scanner: Scanner, spoken: Dialect, name: str, start: int) -> bytes:
    plan = spoken.by_name.get(name)
    if plan is None:
        scanner.fail(f"{spoken.name} has no method {name}", start)
    fields = {field.name: field for field in plan.row.fields}
    values = _read_fields(scanner, fields, name)
    return scanner.make_octets(lambda: method_payload(plan.row, values), start)


def _read_content(scanner: Scanner, spoken: Dialect, start: int) -> bytes:
    scanner.space()
    named = scanner.take(re.compile(r"class=([a-z]+)"), "class=basic or another class")
    rows = [row for row in spoken.classes if row.name == named[1]]
    if not rows:
        scanner.fail(f"{spoken.name} has no class {named[1]}", named.start())
    row = rows[0]
    fields = {field.name: field for field in row.properties}
    fields["body-size"] = Field("body-size", "longlong", "longlong")
    fields["weight"] = Field("weight", "short", "short")
    values = _read_fields(scanner, fields, f"the content of {row.name}")

    body_size, weight = values.get("body-size", 0), values.get("weight", 0)
    return scanner.make_octets(lambda: content_payload(row, body_size, values, weight), start)


def _read_fields(scanner: Scanner, fields: dict[str, Field], owner: str) -> dict[str, Value]:
    """Fields by name, in any order."""
    values: dict[str, Value] = {}
    while scanner.peek():
        start = scanner.at
        name = scanner.take(NAME, f"a field of {owner}")[0]
        if name not in fields:
            scanner.fail(f"{owner} has no field {name}", start)
        if name in values:
            scanner.fail(f"{name} is here twice", start)
        scanner.expect("=")
        values[name] = read_argument(scanner, fields[name])
    return values


class _Frame:
    """What is around a payload."""

    def __init__(self, spoken: Dialect) -> None:
        self.spoken = spoken
        self.channel = 0
        self.set: dict[str, int] = {}

    def options(self, scanner: Scanner, closing: str) -> None:
        """Read `name=number`: up to a bracket, or while there are some."""
        expected = f"one of {', '.join(sorted(_OPTIONS))}"
        for name in read_options(scanner, closing, _OPTIONS, expected):
            self.set[name] = scanner.integer()

    def octets(self, scanner: Scanner, type: int, payload: bytes) -> bytes:
        """The whole frame."""
        options = self.set
        head = options.get("head", 8 if "cycle" in options else self.spoken.heads[0])
        if head not in {7, 8}:
            scanner.fail("a frame's header has 7 or 8 octets")

        def make() -> bytes:
            kind, inside = type, payload
            for number, word in ((REQUEST, "request"), (RESPONSE, "response")):
                if word in options:
                    kind = number
                    ids = options[word], options.get("mark", 0), options.get("batch", 0)
                    inside = b"".join(map(_number_octets, ids, (8, 8, 4))) + payload
            kind = options.get("type", kind)
            channel = options.get("channel", self.channel)
            cycle, end = options.get("cycle", 0), options.get("end", FRAME_END)
            raw = encode_frame(kind, channel, inside, head=head, cycle=cycle, end=end)
            if "size" in options:
                raw = raw[: head - 4] + _number_octets(options["size"], 4) + raw[head:]
            return raw

        return scanner.make_octets(make, scanner.at)


def _number_octets(number: int, width: int) -> bytes:
    return number.to_bytes(width, "big")
