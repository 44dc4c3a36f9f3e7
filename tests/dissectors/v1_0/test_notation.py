"""One unit as one line of text, both ways."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.notation import NotationError, parse, parse_conversation, text_value, write
from dissectors.v1_0.bodies import Attach, Close, Error, Open, Source, Transfer
from dissectors.v1_0.codec import decode
from dissectors.v1_0.encode import encode_frame, encode_header, encode_message
from dissectors.v1_0.framing import decode_unit
from dissectors.v1_0.values import (
    Array,
    Char,
    Decimal64,
    Described,
    Float,
    Map,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Uuid,
    same,
)
from kit.dissectors.samples import captures, frame, octets, units
from kit.dissectors.strategies_v1_0 import any_units, values

# fmt: off
LINES = [
    # text, octets: each is written from the other
    ('header AMQP 1.0.0',                          encode_header()),
    ('header SASL 1.0.0',                          encode_header(3)),
    ('header 9 0.9.1',                             encode_header(9, 0, 9, 1)),
    ('empty',                                      encode_frame()),
    ('empty[3]',                                   encode_frame(channel=3)),
    ('empty[type=1]',                              encode_frame(type=1)),
    ('empty[extended=0x00000000]',                 encode_frame(extended=bytes(4))),
    ('open container-id="c1" max-frame-size=512',
     encode_frame(Open(container_id="c1", max_frame_size=512))),
    ('open[2 type=1 extended=0x61626364]',
     encode_frame(Open(), 2, type=1, extended=b"abcd")),
    ('close',                                      frame("00 53 18 45")),
    ('close error=null',                           frame("00 53 18 c0 02 01 40")),
    ("close'c0",                                   frame("00 53 18 c0 01 00")),
    ("close'80",                                   frame("00 80 00 00 00 00 00 00 00 18 45")),
    ("close'80'd0",
     frame("00 80 00 00 00 00 00 00 00 18 d0 00 00 00 04 00 00 00 00")),
    ("close'a3",
     frame("00 a3 0f" + b"amqp:close:list".hex() + "45")),
    ("close'b3",
     frame("00 b3 00 00 00 0f" + b"amqp:close:list".hex() + "45")),
    ('close +[true null]',                         frame("00 53 18 c0 04 03 40 41 40")),
    ('close error=error(condition=:amqp:not-found description="no")',
     encode_frame(Close(Error(Symbol("amqp:not-found"), "no")))),
    ("sasl-outcome code=ok",                       frame("00 53 44 c0 03 01 50 00", type=1)),
    ("sasl-outcome code=9",                        frame("00 53 44 c0 03 01 50 09", type=1)),
    ("sasl-outcome[type=0] code=sys",              frame("00 53 44 c0 03 01 50 02")),
    (r'sasl-init mechanism=:PLAIN initial-response=b"\0user\0pass"',
     frame("00 53 41 c0 14 02 a3 05 50 4c 41 49 4e a0 0a" + b"\0user\0pass".hex(), type=1)),
    ('transfer[0] handle=0',                       frame("00 53 14 c0 02 01 43")),
    ("transfer[0] handle=0'70",                    frame("00 53 14 c0 06 01 70 00 00 00 00")),
    ("transfer[0] handle=0'52",                    frame("00 53 14 c0 03 01 52 00")),
    ("transfer[0] handle=ulong 5",                 frame("00 53 14 c0 03 01 53 05")),
    ("transfer[0] handle=ulong 5'80",
     frame("00 53 14 c0 0a 01 80 00 00 00 00 00 00 00 05")),
    ('transfer[0] handle="x"',                     frame("00 53 14 c0 04 01 a1 01 78")),
    ("transfer[0] handle=raw 0x5f01",              frame("00 53 14 c0 03 01 5f 01")),
    ("transfer[0] more=true'56",                   frame("00 53 14 c0 08 06 40 40 40 40 40 56 01")),
    ('transfer[0] handle=0 | raw b"tail"',         frame("00 53 14 c0 02 01 43 74 61 69 6c")),
    ('transfer[0] handle=0 | data(b"hi") data(b"")',
     encode_frame(Transfer(handle=0), payload=encode_message([("data", b"hi"), ("data", b"")]))),
    ("transfer[0] handle=0 | header(durable=true) properties(message-id=ulong 5)",
     frame("00 53 14 c0 02 01 43 00 53 70 c0 02 01 41 00 53 73 c0 03 01 53 05")),
    ("transfer[0] | data'80(b\"x\"'b0)",
     frame("00 53 14 45 00 80 00 00 00 00 00 00 00 75 b0 00 00 00 01 78")),
    ('transfer[0] | application-properties({"k"=int -1}\'d1)',
     frame("00 53 14 45 00 53 74 d1 00 00 00 09 00 00 00 02 a1 01 6b 54 ff")),
    ("transfer[0] | amqp-value(@:x [])",           frame("00 53 14 45 00 53 77 00 a3 01 78 45")),
    ("transfer[0] | data(b\"ab\") raw 0x005375a0",
     frame("00 53 14 45 00 53 75 a0 02 61 62 00 53 75 a0")),
    ("disposition[0] role=receiver first=0 last=3 settled=true state=accepted()",
     frame("00 53 15 c0 0a 05 41 43 52 03 41 00 53 24 45")),
    ("attach[0] source=source(durable=unsettled-state expiry-policy=:never capabilities=[:queue])",
     encode_frame(Attach(source=Source(durable=2, expiry_policy=Symbol("never"),
                                       capabilities=Array(0xA3, [Symbol("queue")]))))),
    ("attach[0] rcv-settle-mode=second",           frame("00 53 12 c0 07 05 40 40 40 40 50 01")),
    ("open desired-capabilities=:a",
     frame("00 53 10 c0 0c 09 40 40 40 40 40 40 40 40 a3 01 61")),
    ("open desired-capabilities=list[:a]",
     frame("00 53 10 c0 0f 09 40 40 40 40 40 40 40 40 c0 04 01 a3 01 61")),
    ("open desired-capabilities=[]",
     frame("00 53 10 c0 0d 09 40 40 40 40 40 40 40 40 e0 02 00 a3")),
    ("open desired-capabilities=array string[\"a\"]",
     frame("00 53 10 c0 0f 09 40 40 40 40 40 40 40 40 e0 04 01 a1 01 61")),
    ("open desired-capabilities=array symbol'b3[:a]",
     frame("00 53 10 c0 12 09 40 40 40 40 40 40 40 40 e0 07 01 b3 00 00 00 01 61")),
    ("open desired-capabilities=[:a]'f0",
     frame("00 53 10 c0 15 09 40 40 40 40 40 40 40 40 f0 00 00 00 07 00 00 00 01 a3 01 61")),
    ('body[0] @:example:performative ["x"]',
     frame("00 a3 14" + b"example:performative".hex() + "c0 04 01 a1 01 78")),
    ("body[1] @ulong 0x99 [] | raw 0xff00",        frame("00 53 99 45 ff 00", channel=1)),
    ("frame type=2 channel=0 extended=0x00000000 0xdeadbeef",
     frame("de ad be ef", type=2, extended=bytes(4))),
    ("frame type=0 channel=1 0x45",                frame("45", channel=1)),
    ("frame type=0 channel=0 doff=1",              octets("00 00 00 08 01 00 00 00")),
    ("frame type=0 channel=0 0x005318c00300",      frame("00 53 18 c0 03 00")),
    ("octets 0x0000000702",                        octets("00 00 00 07 02")),
    ("octets 0x",                                  b""),
]
VALUES = [
    (None, "null"), (True, "true"), ("a\"\\\n\x01", r'"a\"\\\n\x01"'), ("é\u202e", r'"é\u202e"'),
    (b"ab\xff cdef", r'b"ab\xff cdef"'), (bytes(5), "0x0000000000"), (b"", 'b""'),
    (Symbol("amqp:x/y*+$-_.1"), ":amqp:x/y*+$-_.1"), (Symbol(""), ':""'),
    (Symbol("a b=c"), ':"a b=c"'),
    (Uint(5), "uint 5"), (Ubyte(0), "ubyte 0"), (5, "long 5"), (1.5, "double 1.5"),
    (Float(0.10000000149011612), "float 0.1"),
    (float("inf"), "double inf"), (Float("nan"), "float nan"), (-0.0, "double -0.0"),
    (Decimal64("1.50"), "decimal64 1.50"), (Decimal64("-Infinity"), "decimal64 -Infinity"),
    (Decimal64("sNaN7"), "decimal64 sNaN7"),
    (Char("x"), 'char "x"'), (Char('"'), r'char "\""'),
    (Timestamp(0), "timestamp 1970-01-01T00:00:00.000Z"),
    (Timestamp(-1), "timestamp 1969-12-31T23:59:59.999Z"),
    (Timestamp(2**62), f"timestamp {2**62}"),
    (Uuid(bytes(range(16))), "uuid 00010203-0405-0607-0809-0a0b0c0d0e0f"),
    ([Uint(1), []], "[uint 1 []]"),
    (Map([(Symbol("a"), Uint(1)), (Symbol("a"), None)]), "{:a=uint 1 :a=null}"),
    (Map([(Map(), [])]), "{{}=[]}"), (Described(Symbol("d"), "x"), '@:d "x"'),
    (Described(Ulong(0x468C00000004), "x"), '@ulong 0x468c00000004 "x"'),
    (Described(Described(Symbol("a"), Symbol("b")), None), "@@:a :b null"),
    (Described(Ulong(0x75), b"x"), 'data(b"x")'),
    (Array(0x70, [Uint(1), Uint(2)]), "array uint[1 2]"),
    (Array(0xA3, [Symbol("a")], (Symbol("d"),)), "array @:d symbol[:a]"),
    (Array(0x73, [Char("a")]), 'array char["a"]'), (Array(0xC0, [[True]]), "array list[[true]]"),
    (Source(address="q"), 'source(address="q")'), (Error(), "error()"),
]
# fmt: on


@pytest.mark.parametrize(("text", "raw"), LINES, ids=[text for text, _ in LINES])
def test_a_unit_and_its_line(text, raw):
    assert write(raw) == text
    assert parse(text) == raw


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text for _, text in VALUES])
def test_a_value_and_its_text(value, text):
    assert text_value(value) == text
    raw = parse(f"transfer | {text}")
    found, faults = decode(raw[decode_unit(raw).payload :])
    assert not faults
    assert same(found, value) or (type(value) is int and found == value)


@pytest.mark.parametrize(
    ("value", "declared", "text"),
    [
        (True, "role", "receiver"), (5, "uint", "5"), (1, "terminus-durability", "configuration"),
        (9, "sasl-code", "9"), (Uint(5), "ulong", "uint 5"),
        (Symbol("never"), "terminus-expiry-policy", ":never"),
        (Timestamp(0), "timestamp", "1970-01-01T00:00:00.000Z"), (True, "boolean", "true"),
    ],
)  # fmt: skip
def test_a_value_where_its_type_is_declared(value, declared, text):
    assert text_value(value, declared) == text


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("open channel-max=1, container-id=\"c\"", 'open container-id="c" channel-max=1'),
        ("close'symbol", "close'a3"),
        ("close'list8", "close'c0"),
        ("transfer handle=0x10", "transfer[0] handle=16"),
        ("transfer delivery-tag=0x3132", 'transfer[0] delivery-tag=b"12"'),
        ("source[1] expiry-policy=never", "source[1] expiry-policy=:never"),
        ("flow handle = 3", "flow[0] handle=3"),
        ("transfer | amqp-value(5)", "transfer[0] | amqp-value(long 5)"),
        ("transfer | amqp-value(1.0)", "transfer[0] | amqp-value(double 1.0)"),
        ("transfer | amqp-value(map{})", "transfer[0] | amqp-value({})"),
        ("transfer | footer({:a=1,:b=2})", "transfer[0] | footer({:a=long 1 :b=long 2})"),
        ("transfer | properties(creation-time=0)",
         "transfer[0] | properties(creation-time=1970-01-01T00:00:00.000Z)"),
        ("transfer | amqp-value(array uint'52[1 2]'f0)",
         "transfer[0] | amqp-value(array uint'52[1 2]'f0)"),
        ("transfer | amqp-value(array boolean'41[true])",
         "transfer[0] | amqp-value(array boolean'41[true])"),
        ("header[0] durable=true", "header[0] durable=true"),
        ("open\n  container-id=\"c\"", 'open container-id="c"'),
    ],
)  # fmt: skip
def test_other_ways_to_write_it(text, same_as):
    assert write(parse(text)) == same_as


# fmt: off
WRONG = [
    # text, column, what the message says
    ("",                                1, "expected header, open"),
    ("opne",                            1, "a performative's name"),
    ("open contaner-id=1",              6, "expected a field of open: container-id"),
    ("open container-id",              18, "expected ="),
    ("open container-id=",             19, "expected a value"),
    ('open container-id="c',           19, "string in double quotes"),
    ('open hostname="a" hostname="b"', 19, "given twice"),
    ("accepted x=1",                   10, "it has none"),
    ("transfer handle=-1",             17, ""),
    ("transfer handle=4294967296",     17, ""),
    ("transfer handle=5'43",           17, "does not fit"),
    ("transfer handle=5'a1",           17, "0xa1 is the code of a string, not a uint"),
    ("transfer handle=5'zz",           18, "format code"),
    ("attach role=sideways",           13, "such as sender, receiver"),
    ("close error=error(",             19, "expected )"),
    ("close [",                         7, "expected a field"),
    ("transfer | [1",                  14, "expected ]"),
    ("transfer | {1}",                 14, "expected ="),
    ("transfer | {1=2",                16, "expected }"),
    ("transfer | array foo[1]",        18, "type of the elements"),
    ("transfer | array uint[:a]",      23, "expected a uint, this is a symbol"),
    ("transfer | char \"ab\"",         21, "one character"),
    ("transfer | uuid 12",             17, "expected a uuid"),
    ("transfer | decimal32 1.x",       22, "expected a decimal32"),
    ("transfer | decimal32 12345678",  12, "does not fit"),
    ("transfer | :\"é\"",              12, "ASCII"),
    ("transfer | \"\\q\"",             13, "no such escape"),
    ("transfer | raw 0x1",             16, ""),
    ("transfer | raw 5",               16, "binary"),
    ("transfer | b\"\u20ac\"",         12, ""),
    ("empty[0 colour=1]",               9, "type=, channel=, doff= or extended="),
    ("empty[extended=0x00]",           21, "four octets"),
    ("empty[65536]",                   13, ""),
    ("empty more",                      7, "nothing more"),
    ("header AMQP 1.0",                13, "a version"),
    ("header AMQP 1.0.256",             8, ""),
    ("transfer | " + "[" * 200,       162, "nested"),
]
# fmt: on


@pytest.mark.parametrize(("text", "column", "says"), WRONG, ids=[text[:40] for text, _, _ in WRONG])
def test_an_error_says_where_and_what_was_expected(text, column, says):
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (1, column), str(caught.value)
    assert says in caught.value.reason


def test_a_limit_cuts_what_is_long():
    raw = encode_frame(
        Transfer(handle=0, delivery_tag=b"0123456789"),
        payload=encode_message([("amqp-value", "abcdefghij"), ("data", b"\xff" * 300)]),
    )
    text = write(raw, limit=4)
    assert 'delivery-tag=b"0123"…(10 octets)' in text
    assert 'amqp-value("abcd"…(10 characters))' in text
    assert "0xffffffff…(300 octets)" in text


@given(any_units)
def test_any_octets_are_one_line_that_gives_them_back(raw):
    text = write(raw)
    assert "\n" not in text
    assert parse(text) == raw


@given(values)
def test_any_value_in_text_is_read_as_the_same_value(value):
    raw = parse(f"body {text_value(Described(Symbol('x'), value))}")
    found = decode_unit(raw).other
    assert text_value(found) == text_value(Described(Symbol("x"), value))
    if "array" not in text_value(value):  # the text does not tell the elements' encoding
        assert same(found, Described(Symbol("x"), value))


@given(st.text(max_size=40) | st.text("abc=[](){}@:'\"0x |+-,#", max_size=40))
def test_any_text_is_octets_or_an_error(text):
    for read in (parse, parse_conversation):
        with suppress(NotationError):
            read(text)


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_real_units_come_back_and_few_need_hex(path):
    hexed = 0
    for _, raw in units(path)[:400]:
        text = write(raw)
        assert parse(text) == raw
        hexed += text.startswith(("frame ", "octets "))
    assert hexed <= (2 if "dmg_bitflip" in path.name or "connerror" in path.name else 0)
