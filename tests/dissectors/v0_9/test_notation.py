"""Units of 0-8, 0-9 and 0-9-1 as text, both ways."""

import pytest
from hypothesis import given, settings

from dissectors.notation import NotationError, parse, parse_conversation
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.encode import encode_frame, encode_method
from dissectors.v0_9.framing import decode_unit
from dissectors.v0_9.notation import write
from dissectors.v0_9.values import Float, Unreadable
from kit.dissectors.strategies_v0_9 import damaged, frames

RABBIT = dialect("0-9-1-rabbit")

LINES = [
    "header AMQP 0.9.1",
    'connection.start-ok client-properties={product="x"} mechanism="PLAIN" '
    'response="\\0u\\0p" locale=""',
    'queue.declare[1] queue="q" durable=true arguments={x-max-length=10 x-expires=60000\'l}',
    'basic.publish[1] exchange="amq.topic" routing-key="orders.new" mandatory=true',
    'content-header[1] class=basic body-size=5 content-type="text/plain" delivery-mode=2',
    "content-header[1] class=basic body-size=0 weight=1 timestamp=2024-01-01T00:00:00Z",
    'content-body[1] "hello"',
    "content-body[1] 0x00ff00ff",
    "heartbeat",
    "heartbeat[3]",
    "heartbeat'short",
    "heartbeat[0 type=4]",
    "basic.ack[65535] delivery-tag=18446744073709551615 multiple=true",
    "basic.ack[1 end=0x00] delivery-tag=1",
    "frame-0-x type=7 channel=0 0xdeadbeef",
    "frame-0-x type=11 channel=2",
    "frame-0-x type=4 channel=2 size=4096",
    "frame-0-x type=1 channel=1 0x000a0063",
    'queue.bind[1] queue="" exchange="" routing-key="" arguments={a=null b=true c=-5 d=1.5 '
    'e="x" f=b"\\xff" g=[1 "y" {}] h={i=[]} j=2024-01-01T00:00:00Z}',
    "queue.bind[1] queue=\"\" exchange=\"\" routing-key=\"\" arguments={a=5'b b=5'B c=5's d=5'u "
    "e=5'i f=5'L g=5'l h=1.5'f i=150e-2'D j=b\"\\xff\"'S l=null'00 m=\"A\"'k n=5'U "
    "o=99999999999999'T \"a b\"=1 b\"\\xff\"=2 \"\"=3}",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_written_as_it_was_read(line):
    assert write(parse(line), RABBIT) == line


@pytest.mark.parametrize(
    "line",
    [
        "basic.consume'0-8[1] queue=\"q\" consumer-tag=\"\"",
        "channel.open'0-8[1] out-of-band=\"x\"",
        "message.cancel'0-9[1 request=7 mark=3] destination=\"d\"",
        "message.offset'0-9[1 response=7 mark=3 batch=2] value=5",
        "message.append'0-9[1] reference=\"r\" bytes=b\"\\xff\"",
        "basic.ack'10-3[1] delivery-tag=7",
        "basic.ack'10-3[1 cycle=4] delivery-tag=7",
        "basic.ack'10-3[1 head=7] delivery-tag=7",
        "content-body'10-3[1] \"x\"",
        "exchange.declare'0-9-1[1] exchange=\"e\" type=\"t\" reserved-2=true",
        "basic.recover-sync'0-9-1-qpid[1] requeue=true",
        "queue.purge'0-9-1-qpid[1] ticket=1 queue=\"q\"",
    ],
)  # fmt: skip
def test_other_dialects_are_named(line):
    name = line.split("'")[1].split("[")[0]
    spoken = dialect(name)
    head = 7 if "head=7" in line else spoken.heads[0]
    raw = parse(line)
    assert write(raw, spoken, 0, head) == line
    assert not decode_unit(raw, spoken, None, 0, head).faults


def test_the_disputed_letter_before_text():
    line = 'queue.bind[1] queue="" exchange="" routing-key="" arguments={k="x"\'s l=5\'l}'
    assert write(parse(line), dialect("0-9-1")) == line


def test_a_message_body_within_a_method():
    line = 'message.transfer\'0-9[1] body=reference "r"'
    unit = decode_unit(parse(line), dialect("0-9"))
    assert unit.method.get("body") == (1, "r")
    assert 'body=reference "r"' in write(parse(line), dialect("0-9"))
    assert parse(line.replace("reference", "7")) != parse(line)


def test_fields_may_stand_in_any_order_and_be_left_out():
    one = parse('basic.publish[1] routing-key="k" exchange="x"')
    assert one == parse('basic.publish[1] exchange="x", routing-key="k", immediate=false')
    assert decode_unit(parse("basic.publish[1]"), RABBIT).method.get("exchange") == ""


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("basic.publsh[1]", 1, "0-9-1-rabbit has no method basic.publsh"),
        ("basic.publish[1] queue=1", 18, "basic.publish has no field queue"),
        ("basic.publish'0-7[1]", 14, "expected one of 10-3, 0-8"),
        ("basic.ack[1] delivery-tag=x", 27, "expected a number"),
        ("basic.ack[1] delivery-tag=1 delivery-tag=2", 29, "delivery-tag is here twice"),
        ("basic.ack[1] multiple=yes", 23, "expected true or false"),
        ("basic.ack[1 foo=2]", 13, "expected one of batch, channel"),
        ("content-header[1] body-size=5", 19, "expected class=basic"),
        ("content-header[1] class=bsic", 19, "0-9-1-rabbit has no class bsic"),
        ("queue.bind[1] arguments={a=1'x}", 28, "the letter 'x' is not for this value"),
        ("queue.bind[1] arguments={a=1'z}", 28, "the letter 'z' is not for this value"),
        ("queue.bind[1] arguments={a=oops}", 28, "expected a value"),
        ("queue.bind[1] arguments={a 1}", 28, "expected ="),
        ("heartbeat 5", 11, "expected nothing more"),
        ("basic.ack[99999]", 17, "too big"),
        ('basic.get[1] queue="' + "x" * 256 + '"', 1, "at most 255 octets"),
        ("basic.ack[1 head=9]", 20, "7 or 8 octets"),
    ],
)
def test_errors_say_where_and_what_was_expected(text, column, reason):
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert reason in caught.value.reason
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(
    ("header", "name", "method"),
    [
        ("header AMQP 0.9.1", "0-9-1-rabbit", "basic.nack"),
        ("header 1 1.0.9", "0-9", "channel.ping"),
        ("header 1 1.8.0", "0-8", "channel.alert"),
        ("header 1 1.9.1", "0-8", "connection.close"),
        ("header 1 1.10.3", "10-3", "basic.reject"),
    ],
)
def test_a_conversation_is_of_the_dialect_that_its_header_announces(header, name, method):
    lines = parse_conversation(f"client: {header}\nserver: {method}[1]")
    spoken = dialect(name)
    assert lines[1].raw == encode_method(spoken, method, {}, 1, head=spoken.heads[0])


def test_the_servers_product_refines_the_dialect_of_a_conversation():
    lines = parse_conversation(
        "client: header 1 1.0.9\n"
        'server: connection.start server-properties={product="RabbitMQ"}\n'
        "client: confirm.select[1]   # <- A09-CNF-01\n"
    )
    assert decode_unit(lines[2].raw, RABBIT).name == "confirm.select"
    assert lines[2].marks == ("A09-CNF-01",)


def test_long_values_are_cut_for_the_eye():
    raw = encode_method(RABBIT, "basic.get", {"queue": "q" * 200}, 1)
    assert write(raw, RABBIT, 10) == f'basic.get[1] queue="{"q" * 10}"…(200 characters)'


def test_octets_that_no_text_says_better():
    assert write(b"\x01\0", RABBIT) == "octets 0x0100"
    spare = encode_frame(1, 1, bytes.fromhex("003c0050 0000000000000005 ff"))
    assert write(spare, RABBIT).startswith("frame-0-x type=1 channel=1 0x003c")


@given(found=frames())
@settings(max_examples=150)
def test_frames_are_read_back_to_the_octet(found):
    spoken, head, raw = found
    text = write(raw, spoken, 0, head)
    assert "\n" not in text
    assert parse(text) == raw


@given(found=damaged())
@settings(max_examples=150)
def test_damaged_octets_are_read_back_too(found):
    spoken, head, raw = found
    assert parse(write(raw, spoken, 0, head)) == raw
    write(raw, spoken, 5, head)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_can_be_named(name):
    spoken = dialect(name)
    for row in spoken.classes:
        for method in row.methods:
            raw = encode_method(spoken, method.name, {}, 1, head=spoken.heads[0])
            text = write(raw, spoken, 0, spoken.heads[0])
            assert text.startswith(method.name)
            assert parse(text) == raw


def test_unreadable_text_and_floats_survive():
    fields = {"queue": Unreadable(b'\xff"'), "arguments": {"f": Float(0.1)}}
    raw = encode_method(RABBIT, "queue.declare", fields, 1)
    text = write(raw, RABBIT)
    assert text == "queue.declare[1] queue=0xff22 arguments={f=0.1'f}"
    assert parse(text) == raw


def test_octets_can_be_repeated():
    assert parse("content-body[1] 0x0102*3") == encode_frame(3, 1, bytes.fromhex("010201020102"))
    assert parse('content-body[1] "ab"*2') == encode_frame(3, 1, b"abab")
    assert parse('basic.get[1] queue="q"*255') == encode_method(
        RABBIT, "basic.get", {"queue": "q" * 255}, 1
    )
    with pytest.raises(NotationError, match="too often"):
        parse("content-body[1] 0x00*99999999999")


def test_what_is_repeated_fits_a_frame_as_a_whole():
    with pytest.raises(NotationError, match="too often"):
        parse("content-body[1] 0x00112233445566778899*100000000")
