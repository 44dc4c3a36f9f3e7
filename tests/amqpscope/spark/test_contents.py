"""Captures recognised by what is in them."""

import os
from functools import partial
from hashlib import blake2b

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from amqpscope.spark.contents import Digests, Recogniser, compare, contents_of, digest_of, look_at
from amqpscope.spark.manifest import SCHEMA, Done, Rings
from amqpscope.spark.plan import File, Ring

NOTHING = SCHEMA.empty_table()


def recogniser(*tables):
    """One that knows the rows of these tables, and of those that come later."""
    return Recogniser(lambda: Rings(ds.dataset(pa.concat_tables([NOTHING, *tables]))))


def file_at(path):
    return File(str(path), path.stat().st_size, 1)


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "a.pcap").write_bytes(bytes(range(256)) * 2000)
    (tmp_path / "copy.pcap").write_bytes((tmp_path / "a.pcap").read_bytes())
    os.symlink(tmp_path / "a.pcap", tmp_path / "link.pcap")
    flipped = bytearray((tmp_path / "a.pcap").read_bytes())
    flipped[100_000] ^= 1  # between the places that the digest looks at
    (tmp_path / "flipped.pcap").write_bytes(flipped)
    (tmp_path / "empty.pcap").touch()
    (tmp_path / "empty2.pcap").touch()
    return tmp_path


def recognised(rings, rows=NOTHING):
    """What is left of rings, and what is said of the rest."""
    found = recogniser(rows)
    contents = look_at(None, "", [file for ring in rings for file in ring.files])
    left = found.without_copies(rings, contents, partial(compare, None, ""))
    return [[os.path.basename(file.path) for file in ring.files] for ring in left], [*found.notes()]


def alone(archive, *names):
    return [Ring(str(archive / name), [file_at(archive / name)]) for name in names]


def test_a_copy_and_a_link_are_left_out_and_a_damaged_copy_is_not(archive):
    rings = alone(archive, "a.pcap", "copy.pcap", "link.pcap", "flipped.pcap")
    assert digest_of(rings[0].files[0]) == digest_of(rings[3].files[0])
    left, notes = recognised(rings)
    assert left == [["a.pcap"], ["flipped.pcap"]]
    (note,) = notes
    assert note.startswith("2 captures left out as copies: ")
    assert note.endswith(f"copy.pcap is {archive}/a.pcap")


def test_a_copy_is_recognised_in_a_later_part_of_the_run(archive):
    done = [NOTHING]
    found = Recogniser(lambda: Rings(ds.dataset(pa.concat_tables(done))))
    taken = []
    for name in ("flipped.pcap", "empty.pcap", "a.pcap", "copy.pcap"):
        rings = alone(archive, name)
        contents = look_at(None, "", rings[0].files)
        for ring in found.without_copies(rings, contents, partial(compare, None, "")):
            taken.append(name)
            own = Done(ring.files, 1, contents=contents_of(ring.files, contents))
            done.append(pa.Table.from_pylist(list(own.rows(ring.name)), SCHEMA))
    assert taken == ["flipped.pcap", "empty.pcap", "a.pcap"]


def test_a_digest_is_known_among_many():
    names = [blake2b(str(at).encode(), digest_size=16).hexdigest() for at in range(20_000)]
    some = Digests([pa.array(names[:5000]), pa.array([None, *names[5000:9000]], pa.string())])
    some.add(names[9000:10_000])
    assert sorted(some.among([*names, "", None])) == sorted(names[:10_000])
    assert Digests().among(names) == []


def test_empty_files_are_not_copies_of_each_other(archive):
    assert recognised(alone(archive, "empty.pcap", "empty2.pcap"))[0] == [
        ["empty.pcap"],
        ["empty2.pcap"],
    ]


def test_what_tables_have_is_known_also_in_another_ring_and_when_it_is_gone(archive):
    (ring,) = alone(archive, "a.pcap")
    done = Done(ring.files, 1, contents=[digest_of(ring.files[0])])
    rows = pa.Table.from_pylist(list(done.rows("site")), SCHEMA)
    left, (note,) = recognised([ring], rows)
    assert left == []
    assert "a.pcap is in the tables already, in the ring site" in note
    # Read again, in its own ring, it is no copy of itself.
    assert recognised([Ring("site", ring.files)], rows)[0] == [["a.pcap"]]
    (archive / "a.pcap").unlink()
    (archive / "link.pcap").unlink()
    left, (note,) = recognised(alone(archive, "copy.pcap"), rows)
    assert left == []
    assert note.endswith("a.pcap")


def test_a_ring_goes_on_without_the_files_that_are_copies(archive):
    files = [file_at(archive / name) for name in ("a.pcap", "copy.pcap", "flipped.pcap")]
    assert recognised([Ring("r", files)])[0] == [["a.pcap", "flipped.pcap"]]
