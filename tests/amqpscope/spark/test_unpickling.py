"""Whoever can write below --out runs no code in our workers."""

import io
import os
import pickle

import pytest

pytest.importorskip("pyarrow")

from amqpscope.spark import parts
from amqpscope.spark.parts import Staged, StagedError, Together, staged_blocks, staged_reason
from amqpscope.spark.plan import File
from amqpscope.spark.state_codec import FrozenError, Keeper, Slices
from amqpscope.spark.unpickling import ForeignError, loads
from amqpscope.spark.work import Work
from amqpscope.spark.worker import FileNumbers, Scan, Spool, pickle_segments, unpickle_segments
from amqpscope.stream.types import Segment


class Hostile:
    """A pickle of it makes a directory where it is read."""

    def __init__(self, path, call=os.mkdir):
        self.call, self.path = call, str(path)

    def __reduce__(self):
        return self.call, (self.path,)


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "was-here"


def test_a_hostile_pickle_does_what_it_says_where_nobody_looks(mark):
    pickle.loads(pickle.dumps(Hostile(mark)))
    assert mark.exists()


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("call", [os.mkdir, eval, exec, __import__, getattr, open])
def test_nothing_is_called_that_was_not_allowed(mark, call, protocol):
    with pytest.raises(ForeignError, match="which does not belong there"):
        loads(pickle.dumps(Hostile(mark, call), protocol), Scan)
    assert not mark.exists()


def test_a_hostile_state_is_refused_in_one_line(mark):
    keeper = Keeper(Work())
    with pytest.raises(FrozenError, match="somebody else has written it") as refused:
        keeper.thaw(keeper.stamp + pickle.dumps(Hostile(mark)))
    assert not mark.exists()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "thing", [Slices(), Scan("r", 0), [], io.BytesIO], ids=["slices", "scan", "list", "class"]
)
def test_a_state_gets_at_no_method_but_its_own(thing):
    keeper = Keeper(Work())
    octets = keeper.stamp + pickle.dumps(Reached(thing, "__class__"))
    with pytest.raises(FrozenError):
        keeper.thaw(octets)


class Reached:
    """A pickle of it asks for an attribute."""

    def __init__(self, thing, name):
        self.thing, self.name = thing, name

    def __reduce__(self):
        return getattr, (self.thing, self.name)


def test_the_method_of_a_state_is_its_own():
    keeper = Keeper(Work())
    found = keeper.thaw(keeper.stamp + pickle.dumps(Slices().of_key))
    assert found(7) == 0


SEGMENT = Segment(1, 2, b"key", 3, 4, 5, 6, b"payload", 0)


def test_hostile_segments_are_refused(mark, tmp_path):
    assert [each.payload for each in unpickle_segments(pickle_segments([SEGMENT]))] == [b"payload"]
    with pytest.raises(ForeignError):
        unpickle_segments(pickle.dumps([Hostile(mark)]))
    with (tmp_path / "spool").open("w+b") as file:
        Spool(file).write([SEGMENT])
        file.write(pickle.dumps([Hostile(mark)]))
        read = Spool(file).read()
        assert len(next(read)) == 1
        with pytest.raises(ForeignError):
            next(read)
    assert not mark.exists()


def test_what_tasks_tell_of_files_comes_back():
    told = (File("a", 1, 2), 3, Scan("ring", 0, files=[FileNumbers(1)], speakers={b"x": 1}))
    assert loads(pickle.dumps(told), File, Scan, FileNumbers) == told


BLOCKS = [(0, "frames", b"\0\1"), (3, "findings", b""), (0, "links", b"x" * 1000)]


def test_what_is_staged_comes_back(tmp_path):
    together = Together(str(tmp_path))
    for ring, table, data in BLOCKS:
        together.add(ring, table, 1, data)
    [staged] = together.close()
    assert staged.rows == 3
    assert staged_blocks(str(tmp_path), staged) == BLOCKS


@pytest.mark.parametrize("kind", ["pickle", "empty", "cut", "others", "noise"])
def test_what_others_have_staged_is_refused_in_one_line(tmp_path, mark, kind):
    together = Together(str(tmp_path))
    together.add(*BLOCKS[0][:2], 1, BLOCKS[0][2])
    [staged] = together.close()
    path = tmp_path / staged.name
    pa = parts.pa
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1]}))
    path.write_bytes({
        "pickle": pickle.dumps([Hostile(mark)]),
        "empty": b"",
        "cut": path.read_bytes()[:200],
        "others": sink.getvalue().to_pybytes(),
        "noise": bytes(range(256)),
    }[kind])  # fmt: skip
    with pytest.raises(StagedError, match="is not what was staged there") as refused:
        staged_blocks(str(tmp_path), staged)
    assert not mark.exists()
    assert "\n" not in str(refused.value)


def test_a_refusal_is_found_in_what_spark_tells():
    text = "Job aborted:\n  amqpscope.spark.parts.StagedError: x is not what was staged there: y\n"
    assert staged_reason(text) == "x is not what was staged there: y"
    assert staged_reason("OutOfMemoryError") is None


def test_no_file_that_is_gone_is_called_hostile(tmp_path):
    with pytest.raises(FileNotFoundError):
        staged_blocks(str(tmp_path), Staged("_staged/none", 1))
