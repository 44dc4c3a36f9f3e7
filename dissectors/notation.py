r"""One unit as one line of text, both ways, exact to the octet.

    header AMQP 1.0.0
    sasl-init mechanism=:PLAIN initial-response=b"\0user\0pass"
    open container-id="c1" max-frame-size=512 channel-max=10
    begin[3] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
    attach[0] name="s" handle=0 role=sender source=source(address="q")
    transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" | header(durable=true) data(b"hello")
    disposition[0] role=receiver first=0 settled=true state=accepted()
    empty
    body[0] @:example:performative ["x"]
    frame type=2 channel=0 extended=0x00000000 0xdeadbeef
    octets 0x0000000702

A performative is its name, its channel in brackets (0 if it goes unsaid), fields by the spec's
names, and the payload behind a bar: sections, or any values. Fields may stand in any order; those
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

A conversation is lines of units with who sent them, and when if that matters:

    client: open container-id="c"
    @1.5s server: close error=error(condition=:amqp:not-found
                                    description="no")   # <- CON-001

A line indented deeper goes on with the one before. `#` begins a comment, `# <- ID` marks the line.
Units of the older family (`basic.publish[1] exchange="x"`) are told by `notation_older`; in a
conversation they are of the dialect that its header, and then `connection.start`, announce.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dissectors.notation_older import announced, is_older, read_older
from dissectors.notation_parse import Parser
from dissectors.notation_scan import NAME, WORD, NotationError
from dissectors.notation_text import hex_text, text_value
from dissectors.notation_write import Inexact, Writer
from dissectors.span import Node, section_tree, unit_tree
from dissectors.v0_9.dialects import DEFAULT
from dissectors.v1_0.encode import encode_header
from dissectors.v1_0.framing import HEADER_SIZE, PROTOCOL_IDS
from dissectors.v1_0.types import COMPOSITE

__all__ = ["Line", "NotationError", "parse", "parse_conversation", "text_value", "write"]

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_PROTOCOLS = {name: number for number, name in PROTOCOL_IDS.items()}
_START = re.compile(r"[ \t]*(?:@(?P<time>\d+(?:\.\d+)?)s[ \t]+)?(?P<peer>client|server):")
_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|(?:^|(?<=\s))#')
_TARGETS = re.compile(r"#\s*<-\s*(.+)")
_CONNECTION = frozenset(("open", "close", "empty"))
"""Units on channel 0 as a rule, which goes unsaid."""


class Line(NamedTuple):
    """One unit of a conversation."""

    peer: str
    """`client` or `server`."""
    time: float
    """Seconds; without one of its own, that of the line before."""
    raw: bytes
    number: int
    """Which line of the text it begins on, from 1."""
    marks: tuple[str, ...] = ()
    """What its comment points out: `# <- FLW-001`."""


def write(raw: bytes, limit: int = 0) -> str:
    """One unit as one line; `parse` gives the same octets, whatever they are.

    With a `limit` long strings and binaries are cut to it, for people's eyes only.
    """
    if len(raw) == HEADER_SIZE and raw[:4] == b"AMQP":
        name = PROTOCOL_IDS.get(raw[4], str(raw[4]))
        return f"header {name} {raw[5]}.{raw[6]}.{raw[7]}"
    if len(raw) < HEADER_SIZE or int.from_bytes(raw[:4], "big") != len(raw):
        return f"octets {hex_text(raw, limit)}"
    try:
        text = _written(raw, limit)
    except Inexact:
        return _frame_text(raw, limit)
    return text if limit or _reads_back(text, raw) else _frame_text(raw, limit)


def _reads_back(text: str, raw: bytes) -> bool:
    try:
        return parse(text) == raw
    except NotationError:
        return False


def _written(raw: bytes, limit: int) -> str:
    """A frame by what it says."""
    begin = raw[4] * 4
    if begin < HEADER_SIZE or begin > len(raw) or raw[5] > 1:
        raise Inexact
    if begin == len(raw):
        return "empty" + _brackets(raw, "empty")
    body = next((node for node in unit_tree(raw).children if node.start == begin), None)
    if body is None or body.type == "octets":
        raise Inexact
    text = _body_text(raw, body, Writer(raw, limit))
    if body.end == len(raw):
        return text
    return f"{text} | {_payload(raw[body.end :], limit)}"


def _body_text(raw: bytes, body: Node, writer: Writer) -> str:
    if body.type not in COMPOSITE:
        return f"body{_brackets(raw, 'body')} {writer.described(body)}"
    marks, fields = writer.composite(body)
    return " ".join((f"{body.type}{marks}{_brackets(raw, body.type)}", *fields))


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


def _brackets(raw: bytes, name: str) -> str:
    """The channel, and what is unusual about the frame's header."""
    channel = int.from_bytes(raw[6:8], "big")
    words = [] if not channel and (name in _CONNECTION or _usual_type(name)) else [str(channel)]
    if raw[5] != _usual_type(name):
        words.append(f"type={raw[5]}")
    if raw[4] > 2:
        words.append(f"extended=0x{raw[8 : raw[4] * 4].hex()}")
    return f"[{' '.join(words)}]" if words else ""


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


def parse(text: str, dialect: str = DEFAULT) -> bytes:
    """The octets of one unit; `dialect` is that of an older one which does not say it itself."""
    return _unit(Parser(text), dialect)


def _unit(parser: Parser, dialect: str) -> bytes:
    parser.space()
    start = parser.at
    name = parser.take(NAME, "header, open, transfer, empty, frame, octets, ...")[0]
    if is_older(parser, name):
        octets = read_older(parser, name, start, dialect)
    else:
        octets = _read_unit(parser, name, start)
    if parser.peek():
        parser.fail("expected nothing more")
    return octets


def _read_unit(parser: Parser, name: str, start: int) -> bytes:
    if name == "header" and parser.peek() not in {"[", "'"} and _is_protocol(parser):
        return _read_header(parser)
    if name == "octets":
        parser.space()
        return parser.binary()
    if name == "frame":
        return _read_frame(parser)
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


def _is_protocol(parser: Parser) -> bool:
    """Tell a protocol header from the message section `header` in the place of a performative."""
    word = WORD.match(parser.text, parser.at)
    return word is not None and (word[0] in _PROTOCOLS or word[0].isdecimal())


def _read_header(parser: Parser) -> bytes:
    start = parser.at
    word = parser.take(WORD, "AMQP, TLS, SASL or a number")[0]
    number = _PROTOCOLS[word] if word in _PROTOCOLS else int(word)
    parser.space()
    version = parser.take(_VERSION, "a version such as 1.0.0")
    major, minor, revision = map(int, version.groups())
    return parser.made(lambda: encode_header(number, major, minor, revision), start)


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
        while parser.peek() != closing:
            found = NAME.match(parser.text, parser.at)
            if found is None and not closing:
                return
            if found is None or found[0] not in {"type", "channel", "doff", "extended"}:
                parser.fail("expected type=, channel=, doff= or extended=")
            parser.at = found.end()
            parser.expect("=")
            parser.space()
            value = parser.binary() if found[0] == "extended" else parser.integer()
            setattr(self, found[0], value)
        parser.at += len(closing)

    def octets(self, parser: Parser, rest: bytes) -> bytes:
        """The whole frame."""
        if len(self.extended) % 4:
            parser.fail("the extended header is a whole number of four octets")
        doff = 2 + len(self.extended) // 4 if self.doff is None else self.doff
        size = HEADER_SIZE + len(self.extended) + len(rest)

        def make() -> bytes:
            head = size.to_bytes(4, "big") + bytes((doff, self.type))
            return head + self.channel.to_bytes(2, "big") + self.extended + rest

        return parser.made(make, parser.at)


def parse_conversation(text: str) -> list[Line]:
    """The units of a conversation in order."""
    lines: list[Line] = []
    time = 0.0
    dialect = DEFAULT
    for number, block, marks in _blocks(text):
        found = _START.match(block)
        if found is None:
            column = len(block) - len(block.lstrip()) + 1
            raise NotationError(number, column, "expected client: or server:")
        time = float(found["time"]) if found["time"] else time
        raw = _unit(Parser(block, found.end(), number), dialect)
        dialect = announced(raw, dialect)
        lines.append(Line(found["peer"], time, raw, number, marks))
    return lines


def _blocks(text: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Each line with those that go on with it, without comments: number, text, marks."""
    blocks: list[tuple[int, str, tuple[str, ...]]] = []
    indent = 0
    for number, line in enumerate(text.splitlines(), 1):
        code, comment = _uncommented(line)
        if not code.strip():
            continue
        found = _TARGETS.match(comment)
        marks = tuple(re.split(r"[\s,]+", found[1].strip())) if found else ()
        depth = len(code) - len(code.lstrip())
        if blocks and depth > indent and _START.match(code) is None:
            first, block, before = blocks[-1]
            missing = number - first - block.count("\n")  # lines that only held a comment
            blocks[-1] = (first, block + "\n" * missing + code, before + marks)
        else:
            indent = depth
            blocks.append((number, code, marks))
    return blocks


def _uncommented(line: str) -> tuple[str, str]:
    for found in _COMMENT_OR_STRING.finditer(line):
        if found[0][0] == "#":
            return line[: found.start()], line[found.start() :]
    return line, ""
