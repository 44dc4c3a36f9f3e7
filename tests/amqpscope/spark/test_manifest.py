"""What a directory of tables knows of its runs."""

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from amqpscope.spark.manifest import SCHEMA, Done, Rings, State, first_runs
from amqpscope.spark.plan import File, Ring
from amqpscope.spark.terms import Terms


def files(*names):
    return [File(f"/ring/{name}", 10, 0) for name in names]


def rings_of(**rings):
    rows = [row for name, done in rings.items() for row in done.rows(name.replace("__", "#"))]
    return Rings(ds.dataset(pa.Table.from_pylist(rows[::-1], SCHEMA)))


def state(**rings):
    return State(1, rings_of(**{name: Done(found, 1) for name, found in rings.items()}))


def todo(known, *names):
    return [
        (ring.name, [file.path.rpartition("/")[2] for file in ring.files])
        for ring in known.todo([Ring("ring", files(*names))], Terms())
    ]


def test_what_is_done_is_left_out():
    assert todo(state(ring=files("1", "2")), "1", "2") == []


def test_a_ring_that_grew_is_done_anew():
    assert todo(state(ring=files("1", "2")), "1", "2", "3") == [("ring", ["1", "2", "3"])]


def test_a_file_that_changed_makes_its_ring_anew():
    known = state(ring=[File("/ring/1", 5, 0)])
    assert todo(known, "1") == [("ring", ["1"])]


def test_after_files_are_gone_a_ring_goes_on_under_another_name():
    known = state(ring=files("1", "2"))
    assert todo(known, "2") == []
    assert todo(known, "2", "3") == [("ring#2", ["3"])]
    known = state(ring=files("1", "2"), ring__2=files("3"))
    assert todo(known, "2", "3") == []
    assert todo(known, "3", "4") == [("ring#2", ["3", "4"])]
    assert todo(known, "4") == [("ring#3", ["4"])]


def test_a_ring_is_read_back_as_it_was_done():
    done = Done(files("1", "2", "3"), 7, ["--keylog", "k"], Terms("v", frames=True), [5, 5, 7])
    rings = rings_of(one=done, other=Done(files("9"), 2))
    assert rings.of(["one", "no such ring"]) == {"one": done}
    assert rings.counts() == {"one": 3, "other": 1}
    assert rings.of([]) == {}


def test_files_are_new_in_the_run_that_read_them_first():
    grown = Done(files("1", "2"), 7, first_runs=[5, 7])
    known = State(7, rings_of(grown=grown, again=Done(files("3"), 7, first_runs=[2])))
    assert known.newest() == {("grown", "/ring/2")}
    assert first_runs(Ring("grown", files("2", "3"), grown), 8) == [7, 8]
    assert first_runs(Ring("fresh", files("2", "3")), 8) == [8, 8]


NAMES = ("/a", "/a!", "/a#2", "/a#3", "/a#b", "/a$", "/b", "/b#2", "/b#2#2", "/c~", "/c~#2")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["/a"], ["/a", "/a#2", "/a#3"]),
        (["/a#2"], ["/a#2"]),
        (["/a!", "/a"], ["/a", "/a!", "/a#2", "/a#3"]),
        (["/b#2"], ["/b#2", "/b#2#2"]),
        (["/c~", "/0"], ["/c~", "/c~#2"]),
        (["/c", "", "~"], []),
        (NAMES, NAMES),
    ],
)
def test_a_ring_is_found_with_those_that_it_goes_on_as(wanted, found):
    rows = [row for name in NAMES for row in Done([File(name, 1, 0)], 1).rows(name)]
    rings = Rings(ds.dataset(pa.Table.from_pylist(rows[::-1], SCHEMA)))
    assert sorted(rings.of(wanted)) == sorted(found)


def test_of_many_files_few_are_in_memory(tmp_path):
    count, before = 100_000, pa.total_allocated_bytes()
    for at in range(10):
        rows = {"ring": [f"/archive/{at}/{number:09}" for number in range(count)]}
        columns = [pa.array(rows.get(f.name, [None] * count), f.type) for f in SCHEMA]
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), tmp_path / f"{at}.parquet")
    columns, peak = None, 0
    rings = Rings(ds.dataset(tmp_path, schema=SCHEMA))
    for _ in rings.batches("ring", "path"):
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert peak < 10 * count * 24 / 2  # half of the names alone
    assert [*rings.of(["/archive/3/000000007"])] == ["/archive/3/000000007"]
