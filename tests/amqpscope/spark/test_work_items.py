"""What tasks read of their work."""

import os
import pickle

import numpy as np
import pyarrow as pa
import pytest

from amqpscope.spark.plan import Piece, Share
from amqpscope.spark.records import Part
from amqpscope.spark.unpickling import ForeignError
from amqpscope.spark.work_items import CHUNK, SCHEMA, RingNumbers, store_items, store_keys


def share(number):
    return Share("ring", number, [Piece(0, Part("a.pcap", 3, 4, b"head"), 1)])


def test_each_item_is_read_by_itself(tmp_path):
    items = store_items(str(tmp_path), map(share, range(CHUNK + 2)))
    assert [items.get(at) for at in (0, 7, CHUNK - 1, CHUNK, CHUNK + 1)] == [
        share(at) for at in (0, 7, CHUNK - 1, CHUNK, CHUNK + 1)
    ]
    assert len(os.listdir(items.place)) == 2
    # What a closure holds does not grow with the items.
    assert len(pickle.dumps(items)) < 1000


def test_an_item_that_somebody_else_wrote_is_refused(tmp_path):
    items = store_items(str(tmp_path), [share(0)])
    evil = b"cos\nsystem\n(S'true'\ntR."
    with (
        open(f"{items.place}/000000", "wb") as file,
        pa.ipc.new_file(file, SCHEMA) as writer,
    ):
        writer.write_batch(pa.record_batch([pa.array([evil], pa.large_binary())], SCHEMA))
    with pytest.raises(ForeignError, match=r"it names 'os\.system'"):
        items.get(0)


def test_the_numbers_of_a_ring_come_from_driver_and_tasks(tmp_path):
    known = store_items(str(tmp_path), [([("a.pcap", 0)], [0, 5]), ([("b.pcap", 0)], [0, 2])])
    numbers = RingNumbers(known, str(tmp_path / "keys"))
    assert numbers.frames_before(1, 1) == 2

    def octets(*values):
        return np.array(values, dtype=np.int64).tobytes()

    blocks = [(octets(9, 3), None), (octets(70, 80), octets(7, 8)), (octets(60), octets(6))]
    store_keys(numbers.keys, 1, iter(blocks))
    found = numbers.of(1)
    assert found.accepted.tolist() == [3, 9]
    assert [found.frame(key) for key in (60, 70, 80)] == [6, 7, 8]
    assert found.files == [("b.pcap", 0)]
    assert len(numbers.of(0).accepted) == 0
