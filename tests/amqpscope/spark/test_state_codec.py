"""Replays that are written down between packets go on as if they had not been."""

import json
import random
import zlib
from functools import cache

import pytest
from wsproto.frame_protocol import FrameDecoder, ParseFailed

from amqpscope.capture.reader import open_capture
from amqpscope.capture.websocket import _Deflate
from amqpscope.model.mark import NOWHERE
from amqpscope.model.v0_9.content import NO_PIECES, Content
from amqpscope.spark import state_codec as keeping
from amqpscope.spark.replay import canonical
from amqpscope.spark.state_codec import NOTES, FrozenError, Keeper, frozen_reason, rows_of
from amqpscope.spark.state_templates import ROWS
from amqpscope.spark.work import Work
from kit.benchmarks.traffic import write_capture, write_v0_9
from kit.cutting import cut
from kit.spark.stream import Stream

FREEZES = 10
"""How often a capture's connections are frozen, at the least, if it has so many packets."""


def segments_of(capture):
    with open_capture(str(capture)) as batches:
        return [segment for batch in batches for segment in batch]


def attributes(thing):
    """The names of what an object has."""
    state = thing.__getstate__()
    return [*(state if isinstance(state, dict) else state[1])]


@cache
def keeper_of_all():
    """One that wants nothing in particular."""
    return Keeper(Work())


def told(capture, freezes):
    """All rows of a capture, its connections frozen so many times."""
    keeper, kept, rows = keeper_of_all(), {}, []
    segments = segments_of(capture)
    every = max(len(segments) // freezes, 1) if freezes else len(segments) + 1
    for count, segment in enumerate(segments, 1):
        name = canonical(segment.key)
        replay = kept.get(name) or keeper.begin("ring")
        if isinstance(replay, bytes):
            replay = keeper.thaw(replay)
        rows += rows_of(keeper.feed(replay, [segment]), "ring")
        kept[name] = replay if count % every else keeper.freeze(replay)
    for state in kept.values():
        replay = keeper.thaw(state) if isinstance(state, bytes) else state
        rows += rows_of(replay.finish(segments[-1].packet, segments[-1].time), "ring")
    return rows


def test_every_capture_gives_the_same_rows_frozen_or_not(root):
    captures = sorted(path for path in (root / "captures").iterdir() if ".pcap" in path.suffix)
    wrong = [path.name for path in captures if told(path, FREEZES) != told(path, 0)]
    assert len(captures) > 50
    assert wrong == []


def test_a_replay_goes_on_where_it_was_frozen_after_any_packet(root):
    capture = root / "captures" / "mixed_091-and-10_rabbitmq.pcap"
    assert told(capture, 10_000) == told(capture, 0)


def test_each_kind_of_object_comes_back_whole():
    keeper = Keeper(Work())
    for row in ROWS:
        made = row()
        thawed = keeper.thaw(keeper.freeze(made))
        assert type(thawed) is row.func
        assert attributes(thawed) == attributes(made)


def test_an_empty_list_that_all_share_is_the_same_list_afterwards():
    keeper = keeper_of_all()
    content = keeper.thaw(keeper.freeze(Content(None, NOWHERE)))
    assert content.pieces is NO_PIECES
    assert content.mark is NOWHERE


def test_contents_that_had_no_body_yet_stay_apart():
    keeper = keeper_of_all()
    one, other = keeper.thaw(keeper.freeze([Content(None, NOWHERE), Content(None, NOWHERE)]))
    one.size = 4
    one.take_body(b"12", 2)
    assert (one.pieces, other.pieces) == ([b"12"], [])


def test_a_websocket_that_inflates_by_what_came_before_is_lost_afterwards():
    deflate = zlib.compressobj(wbits=-15)

    def frame(text):
        data = deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)
        return bytes([0xC2, len(data) - 4]) + data[:-4]  # RFC 7692, 7.2.1: without its tail

    keeper, decoder = keeper_of_all(), FrameDecoder(True, [_Deflate()])
    decoder.receive_bytes(frame(b"as before"))
    assert decoder.process_buffer().payload == b"as before"
    thawed = keeper.thaw(keeper.freeze(decoder))
    thawed.receive_bytes(frame(b"as before"))
    with pytest.raises(ParseFailed):
        thawed.process_buffer()


def test_secrets_of_a_key_log_are_not_written_down():
    secret = "5ec2e7" * 16
    keeper = Keeper(Work(keylogs=(f"CLIENT_RANDOM {'ab' * 32} {secret}\n".encode(),)))
    frozen = keeper.freeze(keeper.begin("ring"))
    assert secret.encode() not in frozen
    assert keeper.thaw(frozen).decryptor._keys.knows(bytes.fromhex("ab" * 32))


def test_a_state_of_another_version_is_refused(monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(keeping, "__version__", "0.0.9")
        keeper = Keeper(Work())
        frozen = keeper.freeze(keeper.begin("ring"))
    with pytest.raises(FrozenError, match=r"written by amqpscope 0\.0\.9 .*another --out"):
        Keeper(Work()).thaw(frozen)


def test_a_damaged_state_is_refused():
    keeper = Keeper(Work())
    frozen = keeper.freeze(keeper.begin("ring"))
    for size in (0, 5, 40, 100, len(frozen) // 2, len(frozen) - 1):
        with pytest.raises(FrozenError):
            keeper.thaw(frozen[:size])
    with pytest.raises(FrozenError, match="damaged"):
        keeper.thaw(frozen.replace(b"rules", b"rulez"))


def test_a_refusal_is_found_in_what_spark_tells():
    text = "Job aborted:\n  ...keeping.FrozenError: the state is damaged: so\n\n  at org.apache"
    assert frozen_reason(text) == "the state is damaged: so"
    assert frozen_reason("OutOfMemoryError") is None


@pytest.mark.parametrize(("write", "frames"), [(write_capture, 24_000), (write_v0_9, 120_000)])
def test_a_state_does_not_grow_with_the_length_of_a_steady_connection(write, frames, tmp_path):
    write(tmp_path / "steady.pcap", frames)  # some thousand are remembered, so it takes as many
    segments = segments_of(tmp_path / "steady.pcap")
    keeper, sizes, third = Keeper(Work()), [], len(segments) // 3
    replay = keeper.begin("ring")
    for at in range(0, 3 * third, third):
        list(keeper.feed(replay, segments[at : at + third]))
        sizes.append(len(keeper.freeze(replay)))
    assert sizes[2] < 1.3 * sizes[1]


def test_a_connection_that_is_not_decrypted_is_reported_once(root, tmp_path):
    cut(root / "captures" / "v10_tls-proton-rabbitmq.pcap", tmp_path / "all", random.Random(1), 3)
    live = tmp_path / "live"
    live.mkdir()
    stream, notes = Stream(live, tmp_path / "out"), []
    for path in sorted((tmp_path / "all").iterdir()):
        path.rename(live / path.name)
        notes += [json.loads(data) for _, table, data in stream.batch() if table == NOTES]
    ((note,),) = notes
    assert note.startswith("connection 127.0.0.1:50072 -> 127.0.0.1:5671 is TLS and it is not")
