r"""One unit of AMQP 1.0 as one line of text, both ways, exact to the octet.

    sasl-init mechanism=:PLAIN initial-response=b"\0user\0pass"
    open container-id="c1" max-frame-size=512 channel-max=10
    begin[3] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
    attach[0] name="s" handle=0 role=sender source=source(address="q")
    transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" | header(durable=true) data(b"hello")
    disposition[0] role=receiver first=0 settled=true state=accepted()
    empty
    body[0] @:example:performative ["x"]
    frame type=2 channel=0 extended=0x00000000 0xdeadbeef

A performative is its name, its channel in brackets (0 if it goes unsaid), fields by the spec's
names, and the payload behind a bar: sections, or any values. Fields may come in any order; those
left out are null, and what lies behind the last field named is not sent, so a trailing null is
sent by `last=null`. `+[...]` are list items past the last field of the type.

Values: `null true false "string" b"binary" 0xff :symbol :"odd symbol" [a list] {key=value}`, and
the type before the literal where the field does not declare it: `uint 5`, `char "x"`, `float 0.5`,
`timestamp 2024-01-01T00:00:00.000Z`, `uuid ...`, `decimal64 1.50`. A bare number is a long or a
double where nothing is declared. A field of a restricted type takes the spec's names:
`role=sender`. `array uint[1 2]` is an array; where a field takes multiple values, `[:a :b]` is one
too, and `list[...]` is a list. `@descriptor value` is a described value; `source(...)` and
`data(...)` are those that the specification names. `raw 0x...` puts any octets in the place of a
value.

Encodings are the canonical, shortest ones, but for those marked with another format code:
`handle=0'70`, `[1 2]'d0`, `array uint'52[1 2]'f0`; `transfer'80'd0[0]` has its descriptor as an
8-octet ulong and its list as a list32, `transfer'symbol` has it as a symbol.
`[0 type=1 extended=0x00000000]` sets the frame's type and extended header.
"""

from __future__ import annotations

from typing import Final

from dissectors.notation_scanner import Scanner
from dissectors.notation_text import hex_text
from dissectors.notation_units import brackets, header_text, read_line, read_options, reads_back
from dissectors.tree import Node
from dissectors.v1_0.notation_parser import Parser
from dissectors.v1_0.notation_writer import Inexact, Writer
from dissectors.v1_0.span import section_tree, unit_tree
from dissectors.v1_0.tables import COMPOSITE
from dissectors.wire import HEADER_SIZE, MAGIC

EXPECTED: Final = "empty, body, frame or a performative's name"
_CONNECTION: Final = frozenset(("open", "close", "empty"))
"""Units on channel 0 as a rule, which goes unsaid."""
_OPTIONS: Final = frozenset(("type", "channel", "doff", "extended"))


# octets to text


def write(raw: bytes, limit: int = 0) -> str:
    """One unit as one line; `notation.parse` gives the same octets, whatever they are.

    With a `limit` long strings and binaries are cut to it, for people's eyes only.
    """
    if len(raw) == HEADER_SIZE and raw[:4] == MAGIC:
        return header_text(raw)
    if len(raw) < HEADER_SIZE or int.from_bytes(raw[:4], "big") != len(raw):
        return f"octets {hex_text(raw, limit)}"
    try:
        text = _frame_says(raw, limit)
    except Inexact:
        return _frame_text(raw, limit)
    return text if limit or reads_back(text, raw, read_text) else _frame_text(raw, limit)


def _frame_says(raw: bytes, limit: int) -> str:
    """A frame by what it says."""
    begin = raw[4] * 4
    if begin < HEADER_SIZE or begin > len(raw) or raw[5] > 1:
        raise Inexact
    if begin == len(raw):
        return "empty" + _frame_brackets(raw, "empty")
    body = next((node for node in unit_tree(raw).children if node.start == begin), None)
    if body is None or body.type == "octets":
        raise Inexact
    text = _body_text(raw, body, Writer(raw, limit))
    if body.end == len(raw):
        return text
    return f"{text} | {_payload(raw[body.end :], limit)}"


def _body_text(raw: bytes, body: Node, writer: Writer) -> str:
    if body.type not in COMPOSITE:
        return f"body{_frame_brackets(raw, 'body')} {writer.described_text(body)}"
    marks, fields = writer.composite(body)
    return " ".join((f"{body.type}{marks}{_frame_brackets(raw, body.type)}", *fields))


def _payload(data: bytes, limit: int) -> str:
    """The sections of a message, as far as they are whole."""
    writer = Writer(data, limit)
    return " ".join(
        writer.octets(node) if node.type == "octets" else writer.value(node)
        for node in section_tree(data).children
    )


def _usual_type(name: str) -> int:
    row = COMPOSITE.get(name)
    return 1 if row is not None and "sasl-frame" in row.provides else 0


def _frame_brackets(raw: bytes, name: str) -> str:
    """The channel, and what is unusual about the frame's header."""
    channel = int.from_bytes(raw[6:8], "big")
    words = [] if not channel and (name in _CONNECTION or _usual_type(name)) else [str(channel)]
    if raw[5] != _usual_type(name):
        words.append(f"type={raw[5]}")
    if raw[4] > 2:
        words.append(f"extended=0x{raw[8 : raw[4] * 4].hex()}")
    return brackets(words)


def _frame_text(raw: bytes, limit: int) -> str:
    """A frame by its header alone."""
    begin = raw[4] * 4
    words = [f"frame type={raw[5]} channel={int.from_bytes(raw[6:8], 'big')}"]
    if not HEADER_SIZE <= begin <= len(raw):
        words.append(f"doff={raw[4]}")
        begin = HEADER_SIZE
    elif begin > HEADER_SIZE:
        words.append(f"extended=0x{raw[HEADER_SIZE:begin].hex()}")
    if begin < len(raw):
        words.append(hex_text(raw[begin:], limit))
    return " ".join(words)


# text to octets


def read_text(text: str) -> bytes:
    """The octets of one unit of AMQP 1.0."""
    return read_line(Scanner(text), EXPECTED, read_unit)


def read_unit(scanner: Scanner, name: str, start: int) -> bytes:
    """The octets of a unit whose first word was read."""
    parser = Parser(scanner.text, scanner.at, scanner.line)
    octets = _read_frame(parser) if name == "frame" else _read_body(parser, name, start)
    scanner.at = parser.at
    return octets


def _read_body(parser: Parser, name: str, start: int) -> bytes:
    """A frame by what it says."""
    row = COMPOSITE.get(name)
    if row is None and name not in {"empty", "body"}:
        parser.fail("expected header, octets, frame, empty, body or a performative's name", start)
    spelled, code = parser.spelling() if row is not None else (0, None)
    head = _Head(_usual_type(name))
    if parser.eat("["):
        head.read(parser, "]")
    octets = parser.body(row, spelled, code) if row is not None else b""
    if name == "body":
        octets = parser.value()
    if parser.peek() == "|":
        parser.at += 1
        while parser.peek():
            octets += parser.value()
    return head.octets(parser, octets)


def _read_frame(parser: Parser) -> bytes:
    head = _Head(0)
    head.read(parser, "")
    rest = b"" if not parser.peek() else parser.binary()
    return head.octets(parser, rest)


class _Head:
    """What a frame's header says, the size apart."""

    def __init__(self, type: int) -> None:
        self.type = type
        self.channel = 0
        self.doff: int | None = None
        self.extended = b""

    def read(self, parser: Parser, closing: str) -> None:
        """Read a channel and options: up to a bracket, or while there are some."""
        if closing and parser.peek().isdigit():
            self.channel = parser.integer()
        expected = "type=, channel=, doff= or extended="
        for name in read_options(parser, closing, _OPTIONS, expected):
            setattr(self, name, parser.binary() if name == "extended" else parser.integer())

    def octets(self, parser: Parser, rest: bytes) -> bytes:
        """The whole frame."""
        if len(self.extended) % 4:
            parser.fail("the extended header is a whole number of four octets")
        doff = 2 + len(self.extended) // 4 if self.doff is None else self.doff
        size = HEADER_SIZE + len(self.extended) + len(rest)

        def make() -> bytes:
            head = size.to_bytes(4, "big") + bytes((doff, self.type))
            return head + self.channel.to_bytes(2, "big") + self.extended + rest

        return parser.make_octets(make, parser.at)
