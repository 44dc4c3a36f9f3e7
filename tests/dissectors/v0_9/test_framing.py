"""Frames and protocol headers: whole, damaged, cut, of all dialects."""

import pytest
from hypothesis import given

from dissectors.errors import Damage
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_frame,
    encode_header,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.framing import (
    OOB_BODY,
    OOB_HEADER,
    OOB_METHOD,
    TRACE,
    Envelope,
    decode_unit,
    head_of,
    measure,
)
from dissectors.wire import DAMAGED, MAX_FRAME_SIZE, MORE
from kit.dissectors.strategies_v0_9 import damaged, frames

RABBIT = dialect("0-9-1-rabbit")
ACK = encode_method(RABBIT, "basic.ack", {"delivery-tag": 1}, 1)


@pytest.mark.parametrize("name", NAMES)
def test_protocol_headers(name):
    raw = encode_header(dialect(name))
    assert measure(raw, 0, 8) == 8
    unit = decode_unit(raw, dialect(name))
    assert (unit.kind, unit.name) == ("header", "header")
    assert bytes(unit.header) == raw[4:]


@given(found=frames())
def test_a_frame_is_measured_as_soon_as_its_header_is_there(found):
    _, head, raw = found
    for end in range(len(raw) + 1):
        size = measure(raw, 0, end, head)
        if end < head:
            assert size == MORE
        else:
            assert size == len(raw)
    assert measure(b"xx" + raw + raw, 2, 2 + 2 * len(raw), head) == len(raw)


@given(found=damaged())
def test_any_octets_are_measured(found):
    _, head, raw = found
    size = measure(raw, 0, len(raw), head)
    assert size in (MORE, DAMAGED) or size >= 4


@given(found=frames())
def test_the_header_of_a_frame_says_channel_type_and_size(found):
    spoken, head, raw = found
    unit = decode_unit(raw, spoken, None, 0, head)
    assert unit.type == raw[0]
    assert unit.channel == int.from_bytes(raw[head - 6 : head - 4], "big")
    assert unit.size == len(raw) - head - 1
    assert unit.head == head


def test_the_end_octet_is_checked_and_the_rest_read_all_the_same():
    raw = ACK[:-1] + b"\x00"
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.label, unit.name) == ("malformed", "method", "basic.ack")
    assert unit.method.get("delivery-tag") == 1
    assert [str(fault) for fault in unit.faults] == [
        "the frame ends with 0x00, not 0xce (at octet 20)"
    ]


def test_a_wrong_end_octet_is_believed_where_a_unit_follows():
    raw = ACK[:-1] + b"\x00"
    assert measure(raw, 0, len(raw)) == len(raw)
    assert measure(raw + ACK, 0, 2 * len(raw)) == len(raw)
    assert measure(raw + b"AMQP", 0, len(raw) + 4) == len(raw)
    assert measure(raw + b"\xff\xff", 0, len(raw) + 2) == DAMAGED


def test_sizes_that_cannot_be():
    assert measure(b"\x03\0\1\xff\xff\xff\xff", 0, 7) == DAMAGED
    most = MAX_FRAME_SIZE.to_bytes(4, "big")
    assert measure(b"\x03\0\1" + most, 0, 7) == MAX_FRAME_SIZE + 8
    assert measure(b"\x2f\0\1" + most, 0, 7) == DAMAGED
    assert measure(b"GET / HTTP/1.1", 0, 14) == DAMAGED


def test_frames_above_a_mebibyte():
    raw = encode_body(bytes(3 << 20), 7)
    assert measure(raw, 0, len(raw)) == len(raw)
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.body_size, unit.payload) == ("content-body", 3 << 20, 7)
    table = {"k": "x" * (2 << 20)}
    header = encode_content_header(RABBIT, "basic", 0, {"headers": table}, 1)
    assert decode_unit(header, RABBIT).content.get("headers").get("k") == table["k"]


def test_a_body_is_where_its_payload_is():
    raw = encode_body(b"hello", 3)
    unit = decode_unit(raw, RABBIT)
    assert (unit.name, unit.channel, raw[unit.payload : -1]) == ("content-body", 3, b"hello")
    assert unit.fields() == []
    cut = decode_unit(raw[:9], RABBIT, None, 4)
    assert (cut.kind, cut.body_size, raw[cut.payload : 9]) == ("content-body", 5, b"he")


def test_heartbeats_of_both_shapes():
    for raw in (encode_heartbeat(), encode_heartbeat(short=True)):
        assert measure(raw, 0, len(raw)) == len(raw)
        unit = decode_unit(raw, RABBIT)
        assert (unit.kind, unit.name, unit.channel) == ("heartbeat", "heartbeat", 0)
        assert not unit.faults
    assert encode_heartbeat(short=True) == bytes.fromhex("08 00 00 ce")
    assert encode_heartbeat() == bytes.fromhex("08 0000 00000000 ce")


def test_a_heartbeat_with_a_payload_is_none_the_less_one():
    unit = decode_unit(encode_frame(8, 0, b"xx"), RABBIT)
    assert (unit.kind, unit.size, unit.payload) == ("heartbeat", 2, 7)


def test_type_4_without_payload_is_a_heartbeat_in_0_9_1_and_out_of_band_before():
    raw = encode_frame(OOB_METHOD, 0, b"")
    assert (decode_unit(raw, RABBIT).kind, decode_unit(raw, RABBIT).type) == ("heartbeat", 4)
    assert decode_unit(raw, dialect("0-9")).name == "oob-method"


@pytest.mark.parametrize(
    ("type", "name"),
    [(OOB_METHOD, "oob-method"), (OOB_HEADER, "oob-header"), (OOB_BODY, "oob-body")],
)
def test_the_payload_of_an_out_of_band_frame_goes_another_way(type, name):
    raw = bytes((type,)) + bytes.fromhex("0001 00001000 ce")
    assert measure(raw, 0, 7) == MORE
    assert measure(raw + ACK, 0, len(raw + ACK)) == len(raw)
    unit = decode_unit(raw, dialect("0-9"))
    assert (unit.name, unit.elsewhere, unit.size, unit.faults) == (name, True, 4096, [])


def test_an_out_of_band_frame_with_its_payload_is_read_as_any_other():
    payload = ACK[7:-1]
    raw = encode_frame(OOB_METHOD, 1, payload)
    assert measure(raw, 0, len(raw)) == len(raw)
    assert decode_unit(raw, dialect("0-9")).name == "basic.ack"
    body = encode_frame(OOB_BODY, 1, b"abc")
    assert decode_unit(body, dialect("0-9")).body_size == 3


def test_trace_frames_are_kept_without_a_look_inside():
    raw = encode_frame(TRACE, 0, b"anything")
    unit = decode_unit(raw, dialect("0-9"))
    assert (unit.kind, raw[unit.payload : -1]) == ("trace", b"anything")


@pytest.mark.parametrize("type", [0, 11, 65, 255])
def test_frames_of_unknown_type_are_kept_without_a_look_inside(type):
    raw = encode_frame(type, 5, b"anything")
    assert measure(raw, 0, len(raw)) == len(raw)
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.name, unit.type, unit.channel) == ("unknown", "unknown", type, 5)
    assert (raw[unit.payload : -1], unit.faults) == (b"anything", [])


@pytest.mark.parametrize("response", [False, True])
def test_requests_and_responses_of_0_9(response):
    spoken = dialect("0-9")
    ids = Envelope(7, 2**63, 5)
    fields = {"reference": "r", "identifier": "i"}
    raw = encode_method(spoken, "message.resume", fields, 2, envelope=ids, response=response)
    unit = decode_unit(raw, spoken)
    assert (unit.kind, unit.name, unit.type) == ("method", "message.resume", 9 + response)
    assert unit.envelope == ids
    assert unit.fields() == list(fields.items())
    short = decode_unit(encode_frame(9, 1, bytes(19)), spoken)
    assert [fault.kind for fault in short.faults] == [Damage.TRUNCATED]


@pytest.mark.parametrize(
    ("payload", "name"),
    [("000a 0063", "connection.99"), ("0005 0006 ff", "5.6"), ("f001 0001", "61441.1")],
)
def test_a_method_that_no_dialect_has_is_named_by_its_numbers(payload, name):
    raw = encode_frame(1, 1, bytes.fromhex(payload))
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.name, unit.method, unit.faults) == ("method", name, None, [])
    assert raw[unit.payload : -1] == bytes.fromhex(payload)[4:]


def test_a_method_frame_without_room_for_a_method():
    unit = decode_unit(encode_frame(1, 1, b"\0\x0a"), RABBIT)
    assert (unit.kind, unit.name) == ("malformed", "method")
    assert [fault.kind for fault in unit.faults] == [Damage.TRUNCATED]


def test_a_siblings_fields_are_read_where_the_own_do_not_fit():
    qpid = dialect("0-8-qpid")
    fields = {"queue": "q", "arguments": {"x": 1}}
    raw = encode_method(qpid, "basic.consume", fields, 1)
    unit = decode_unit(raw, dialect("0-8"))
    assert (unit.kind, unit.method.plan.row.extension) == ("method", True)
    assert unit.method.get("arguments").get("x") == 1
    plain = encode_method(dialect("0-8"), "basic.consume", {"queue": "q"}, 1)
    assert decode_unit(plain, qpid).kind == "method"


def test_arguments_of_the_draft_that_fit_no_list_are_kept():
    draft = dialect("10-3")
    opened = encode_frame(1, 1, bytes.fromhex("0014 000a 00 0005"), head=8)
    unit = decode_unit(opened, draft, None, 0, 8)
    assert (unit.kind, unit.name, unit.method.raw) == ("method", "channel.open", b"\0\0\x05")
    newer = encode_method(dialect("0-8"), "basic.consume", {"queue": "q"}, 1)
    as_draft = newer[:9] + b"\0\x0a" + newer[11:]  # numbered as in the draft
    unit = decode_unit(as_draft, draft)
    assert (unit.name, unit.faults) == ("basic.consume", [])
    assert unit.method.get("queue") == "q"


@pytest.mark.parametrize("head", [7, 8])
@pytest.mark.parametrize("name", ["10-3", "0-8"])
def test_the_size_of_frame_headers_shows_in_the_first_frame(name, head):
    spoken = dialect(name)
    raw = encode_method(spoken, "connection.tune", {"frame-max": 4096}, head=head)
    assert head_of(raw + ACK, 0, len(raw + ACK), spoken) == head
    assert head_of(raw, 0, len(raw), spoken) == head
    assert head_of(raw, 0, 6, spoken) == MORE


def test_octets_that_are_no_frame():
    unit = decode_unit(b"\x01\0\0", RABBIT)
    assert (unit.kind, unit.faults[0].kind) == ("malformed", Damage.FRAME)
    assert decode_unit(b"", RABBIT).kind == "malformed"
    wrong = decode_unit(ACK + b"x", RABBIT)
    assert "makes 21 octets, not 22" in wrong.faults[0].reason
