"""A stream that goes on with another build."""

import random

import pytest

from amqpscope.spark import follow
from amqpscope.spark.stream_rows import written_rings
from amqpscope.spark.work import Work
from kit.cutting import cut
from kit.spark.expected import counted, findings_of, linted, statistics_of, tables_of
from kit.spark.stream import Stream

NAME = "v10_proton-labbroker_manylinks.pcap"


@pytest.fixture
def ring(root, tmp_path):
    """Parts of a capture, where they arrive, and the directory of tables."""
    cut(root / "captures" / NAME, tmp_path / "all", random.Random(3), 4)
    (tmp_path / "live").mkdir()
    return sorted((tmp_path / "all").iterdir()), tmp_path / "live", tmp_path / "out"


def opened(live, out):
    stream = follow.Follow(None, [str(live)], str(out), Work())
    (out / stream.checkpoint).mkdir(parents=True, exist_ok=True)
    return stream


def commit(stream, number, blocks):
    target = stream.directory.begin(stream.run + 1)
    done = list(written_rings(blocks, target, stream.live()))
    stream.commit(done, number + stream.first)


def read_before(ring):
    """Let a build read two of the parts."""
    parts, live, out = ring
    source, stream = Stream(live, out), opened(live, out)
    for number, part in enumerate(parts[:2]):
        part.rename(live / part.name)
        commit(stream, number, source.batch())
    stream.directory.close()


def go_on(ring, monkeypatch):
    """Let another build read the others."""
    parts, live, out = ring
    monkeypatch.setattr(follow, "stamp", lambda: b"another build\n")
    stream = opened(live, out)
    source = Stream(live, out, **stream.options)
    if stream.options["again"]:
        assert source.batch() == []
    for number, part in enumerate(parts[2:], 1):
        part.rename(live / part.name)
        commit(stream, number, source.batch())
    stream.directory.close()
    return stream, tables_of(out)[str(live)]


def test_another_build_goes_on_with_connections_whose_captures_are_there(ring, root, monkeypatch):
    read_before(ring)
    stream, rows = go_on(ring, monkeypatch)
    (note,) = stream.notes
    assert note.endswith("are made anew")
    capture = root / "captures" / NAME
    findings, checked = linted(capture)
    assert findings_of(rows.get("findings", [])) == findings
    names = ("connections", "sessions", "links")
    assert statistics_of(*(rows[name] for name in names)) == counted(capture)
    assert sum(row["packets"] for row in rows["captures"]) == checked.packets
    # And it goes on with its own states from then on.
    assert opened(*ring[1:]).options == {}


def test_what_tables_have_of_a_connection_is_final_when_its_captures_are_gone(ring, monkeypatch):
    parts, live, _ = ring
    read_before(ring)
    for part in parts[:2]:
        (live / part.name).unlink()
    stream, rows = go_on(ring, monkeypatch)
    assert "cannot go on, as captures of its beginning are gone" in stream.notes[0]
    connections = rows["connections"]
    numbers = [row["connection"] for row in connections]
    assert 1 <= len(numbers) == len(set(numbers))
    assert not connections[0]["provisional"]


def test_small_files_are_put_together_and_provisional_rows_still_replaced(ring):
    parts, live, out = ring
    source, stream = Stream(live, out), opened(live, out)
    for number, part in enumerate(parts):
        part.rename(live / part.name)
        commit(stream, number, source.batch())
        before = tables_of(out)
        stream.directory.compact(stream.run)
        assert tables_of(out) == before
        connections = before[str(live)]["connections"]
        assert len(connections) == len({row["connection"] for row in connections}) > 0
        assert bool(stream.live()) == any(row["provisional"] for row in connections)
    assert not stream.live()
    stream.directory.close()
