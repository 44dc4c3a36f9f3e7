"""What a directory of tables knows of its runs."""

import pyarrow as pa

from amqpscope.spark.manifest import SCHEMA, Done, Rings, State
from amqpscope.spark.plan import File, Ring
from amqpscope.spark.terms import Terms


def files(*names):
    return [File(f"/ring/{name}", 10, 0) for name in names]


def rings_of(**rings):
    rows = [row for name, done in rings.items() for row in done.rows(name.replace("__", "#"))]
    return Rings(pa.Table.from_pylist(rows[::-1], SCHEMA))


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
    assert (rings["one"], len(rings), rings.count("other")) == (done, 2, 1)
    assert rings.get("no such ring") is None


def test_files_are_new_in_the_run_that_read_them_first():
    grown = Done(files("1", "2"), 7, first_runs=[5, 7])
    known = State(7, rings_of(grown=grown, again=Done(files("3"), 7, first_runs=[2])))
    assert known.newest() == {("grown", "/ring/2")}
    assert known.first_runs(Ring("grown", files("2", "3")), 8) == [7, 8]


def test_many_files_cost_little_until_they_are_asked_for():
    count = 200_000
    columns = {"ring": [f"ring{at}" for at in range(1000)] * 200, "ordinal": range(count),
               "path": pa.repeat("/ring/file", count)}  # fmt: skip
    arrays = [pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(count, f.type)
              for f in SCHEMA]  # fmt: skip
    rings = Rings(pa.Table.from_arrays(arrays, schema=SCHEMA))
    assert (len(rings), rings.count("ring7"), len(rings["ring7"].files)) == (1000, 200, 200)


def test_rings_are_found_in_any_order_and_others_are_not():
    names = [f"/ring/{at:03}" for at in range(600)]
    rows = [row for name in names for row in Done([File(name, 1, 0)], 1).rows(name)]
    rings = Rings(pa.Table.from_pylist(rows, SCHEMA))
    for order in (names, names[::-1], names[::7] + names[::-5]):
        assert [rings[name].files[0].path for name in order] == order
        assert not any(f"{name}#2" in rings or rings.count(f"{name}!") for name in order)
    assert list(rings) == names
    assert "" not in rings
    assert "~" not in rings
