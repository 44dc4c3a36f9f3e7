"""Finding frames in octets whose start is unknown, and their dialect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_header,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.resync import find_frame, is_chain, judge_frame, score
from dissectors.wire import NO, PERHAPS, YES
from kit.dissectors.strategies_v0_9 import frames

RABBIT = dialect("0-9-1-rabbit")
PUBLISH = encode_method(RABBIT, "basic.publish", {"exchange": "x", "routing-key": "k"}, 1)
HEADER = encode_content_header(RABBIT, "basic", 300, {"delivery-mode": 2}, 1)
BODY = encode_body(b"\xce\x01\0\1 some \xce text \x08\xce" * 20, 1)
MESSAGE = PUBLISH + HEADER + BODY


@pytest.mark.parametrize("cut", range(1, len(MESSAGE)))
def test_from_anywhere_in_a_message_the_next_frame_is_found(cut):
    starts = (len(PUBLISH), len(PUBLISH + HEADER), len(MESSAGE))
    found = find_frame((MESSAGE + MESSAGE + MESSAGE)[cut:], False)
    assert found + cut == next(start for start in starts if start >= cut)


@pytest.mark.parametrize("head", [7, 8])
def test_the_start_of_a_segment_is_believed_earlier(head):
    raw = encode_method(RABBIT, "basic.ack", {"delivery-tag": 1}, 1, head=head)
    assert find_frame(raw, True, head) == 0
    assert find_frame(raw[:-3], True, head) == 0
    assert find_frame(raw[:-3], False, head) == -1
    assert find_frame(encode_body(b"x" * 50, 1, head=head)[:30], True, head) == -1


def test_heartbeats_chain():
    beat = encode_heartbeat()
    assert find_frame(b"\0\0\0\xce" + beat * 3, False) == 4
    assert is_chain(beat, 0, len(beat), 7)
    assert find_frame(b"junk" + encode_heartbeat(short=True) + PUBLISH, False) == 8


def test_a_protocol_header_is_a_place_to_begin():
    assert find_frame(b"\xff\xff" + encode_header(RABBIT), False) == 2
    assert find_frame(b"\xff\xffAMQP\0", False) == -1
    assert find_frame(b"\0\0\0\x0ePLAIN AMQPLAIN\0\0\0\x05en_US\xce", False) == -1
    assert find_frame(b"AMQPLAIN AMQP\x01\x01\x00\x0a", False) == 9


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
        b"\x00\x00\x00\x08\x02\x00\x00\x00",
        bytes(1000),
        b"\xce" * 1000,
        b"\x01" * 1000,
    ],
)
def test_other_octets_are_no_frames(raw):
    assert find_frame(raw, True) == -1
    assert find_frame(raw, False) == -1


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        (PUBLISH, YES),
        (HEADER, YES),
        (BODY, YES),
        (BODY[:-1], PERHAPS),
        (PUBLISH[:6], PERHAPS),
        (PUBLISH[:9], PERHAPS),
        (PUBLISH[:-1] + b"\0", NO),
        (encode_method(RABBIT, "connection.open", {}, 1), NO),
        (encode_method(RABBIT, "connection.open", {}, 0), YES),
        (encode_body(b"x", 0), NO),
        (encode_content_header(RABBIT, "basic", 3, {"headers": {}}, 1)[-8:], NO),
        (encode_heartbeat(1), NO),
    ],
)
def test_what_looks_like_a_frame(raw, verdict):
    assert judge_frame(raw, 0, len(raw), 7) == verdict


@given(data=st.binary(max_size=300), at_segment=st.booleans())
def test_any_octets_are_searched(data, at_segment):
    assert -1 <= find_frame(data, at_segment) <= len(data)


@given(found=st.lists(frames(), min_size=1, max_size=4))
def test_any_frames_are_scored(found):
    score(b"".join(raw for _, head, raw in found if head == 7))


SCENES = {
    "0-9-1-rabbit": [
        ("channel.open-ok", {}), ("confirm.select", {}), ("basic.nack", {}),
        ("connection.blocked", {"reason": "low on memory"}),
    ],
    "0-9-1-qpid": [("channel.open-ok", {}), ("exchange.bound", {"exchange": "x"})],
    "0-9": [("channel.ping", {}), ("message.transfer", {}), ("basic.consume", {})],
    "0-8": [
        ("channel.open-ok", {}), ("basic.consume", {"queue": "q"}),
        ("connection.close", {"reply-code": 200}),
    ],
    "0-8-qpid": [
        ("channel.open-ok", {}), ("basic.consume", {"arguments": {"x": 1}}),
        ("basic.recover-ok", {}),
    ],
    "10-3": [("connection.tune", {"frame-max": 1}), ("basic.ack", {"delivery-tag": 1})],
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_frames_tell_their_dialect(name):
    spoken = dialect(name)
    head = spoken.heads[0]
    raw = b"".join(
        encode_method(spoken, method, fields, int(not method.startswith("connection")), head=head)
        for method, fields in SCENES[name]
    )
    assert score(raw, head) is spoken


def test_what_all_dialects_have_is_taken_for_the_usual_one():
    assert score(MESSAGE) is RABBIT
    assert score(b"\xff" * 50) is None
    assert score(b"") is None
