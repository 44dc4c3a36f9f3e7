"""`--ring`: captures that were rotated, read as what they were before."""

import gzip
import json
import os
import random
import re
import shutil
import time
from pathlib import Path

import pytest

from amqpscope.capture.ring import ring_in
from amqpscope.check.selection import Selection
from amqpscope.insight.statistics import Statistics
from amqpscope.report.lint import document
from amqpscope.report.stats import connection_object
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.lint_many import check_all
from kit import CAPTURES
from kit.cutting import cut, joined, records_of

NAMES = sorted(path.name for path in CAPTURES.iterdir() if ".pcap" in path.suffix)
LONG = "mixed"
"""How the name of a capture with many connections begins."""


def rotated(path, folder, pieces):
    """The ring of a capture that is cut into files."""
    cut(path, folder, random.Random(path.name), pieces)
    return ring_in(str(folder))


def statistics_of(given):
    from amqpscope.analysis import Analyzer
    from amqpscope.capture.pieces import Pieces

    statistics, analyzer = Statistics(), Analyzer()
    with Pieces(given) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    statistics.take(step)
    return [connection_object(numbers) for numbers in statistics.finish()]


def test_every_capture_rotated_gives_the_lines_findings_and_numbers_of_the_original(show, tmp_path):
    assert len(NAMES) > 50
    work = CheckSettings(Selection())
    for number, name in enumerate(NAMES):
        path = CAPTURES / name
        ring = rotated(path, tmp_path / name, 2 + number % 11)
        assert nameless(show_ring(ring).lines) == nameless(show(path, form="jsonl").lines), name
        here, there = check(str(path), work), check(ring, work)
        there.path = str(path)
        assert (here.error is None) == (there.error is None), name
        there.error = here.error  # which names the file, and the place in it
        assert document([there]) == document([here]), name
        assert there.excerpts == here.excerpts, name
        assert statistics_of(ring) == statistics_of(str(path)), name


def nameless(lines):
    """Lines of JSON without the name of the capture that findings say."""
    objects = [json.loads(line) for line in lines]
    for each in objects:
        each.pop("capture", None)
    return objects


def show_ring(ring, **options):
    import io
    from types import SimpleNamespace

    from amqpscope.cli.read import ReadOptions, print_frames
    from amqpscope.report.look import PLAIN_TEXT

    out, told = io.StringIO(), []
    wanted = ReadOptions(form="jsonl", **options)
    code = print_frames([ring], wanted, PLAIN_TEXT, out, told.append)
    return SimpleNamespace(lines=out.getvalue().splitlines(), told=told, code=code)


@pytest.fixture
def long(tmp_path):
    found = next(CAPTURES / name for name in NAMES if name.startswith(LONG))
    return Path(shutil.copy(found, tmp_path))


@pytest.fixture
def ring(long, tmp_path):
    """A directory of twelve files, which sort differently by the alphabet."""
    records = records_of(long)
    places = [len(records) * at // 12 for at in range(13)]
    folder = tmp_path / "a ring"
    folder.mkdir()
    for at in range(12):
        data = joined(records[places[at] : places[at + 1]])
        name = f"x.pcap{at or ''}"
        if at % 5 == 3:
            name, data = f"{name}.gz", gzip.compress(data)
        (folder / name).write_bytes(data)
    return folder


COMMANDS = (
    ("read",),
    ("read", "--format", "csv"),
    ("read", "-Y", "frame.number == 40", "-V"),
    ("lint",),
    ("lint", "--format", "json"),
    ("lint", "--format", "sarif"),
    ("lint", "--format", "junit"),
    ("lint", "--format", "github"),
    ("stats",),
    ("stats", "--format", "json"),
    ("state", "--at", "40"),
    ("ladder",),
    ("ladder", "--format", "svg"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_reader_says_of_a_ring_what_it_says_of_the_original(amqpscope, long, ring, command):
    expected = amqpscope(*command, long)
    done = amqpscope(*command, "--ring", ring)
    # SARIF names captures by URIs, and makes fingerprints of their names.
    prints = re.compile(r'"amqpscopeFinding/v1": "\w+"')
    text = done.stdout.replace("a%20ring", "a ring").replace(str(ring), str(long))
    assert prints.sub("", text) == prints.sub("", expected.stdout)
    assert (done.stderr, done.returncode) == (expected.stderr, expected.returncode)
    assert len(expected.stdout) > 100


@pytest.mark.parametrize("command", ["read", "lint"])
def test_the_page_of_a_ring_is_that_of_the_original(amqpscope, long, ring, command):
    expected = amqpscope(command, "--format", "html", long).stdout
    page = amqpscope(command, "--format", "html", "--ring", ring).stdout
    page = page.replace(str(ring), str(long)).replace(ring.name, long.name)
    assert page == expected


def printed(amqpscope, *arguments):
    """What `read` prints for programs."""
    return nameless(amqpscope("read", "--format", "jsonl", *arguments).stdout.splitlines())


def test_files_are_one_ring_in_the_order_of_their_names_or_as_given(amqpscope, long, ring):
    expected = printed(amqpscope, long)
    files = sorted(ring.iterdir())  # as the shell gives them: x.pcap, x.pcap1, x.pcap10, ...
    assert printed(amqpscope, "--ring", *files) == expected
    in_turn = ring_in(str(ring)).files
    assert printed(amqpscope, "--ring", "--as-given", *in_turn) == expected
    assert printed(amqpscope, "--ring", "--as-given", *files) != expected
    checked = json.loads(amqpscope("lint", "--format", "json", "--ring", *files).stdout)
    assert [each["path"] for each in checked["captures"]] == [str(ring / "x.pcap")]


def test_each_directory_is_a_ring_of_its_own_however_many_are_checked_at_once(ring, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(ring, other)
    work = CheckSettings(Selection())
    rings = [ring_in(str(ring)), ring_in(str(other))]
    alone = [check(each, work) for each in rings]
    assert alone[0].frames == alone[1].frames > 0
    assert document(check_all(rings, work, 2, lambda: None)) == document(alone)


def test_a_directory_is_named_as_it_is_given(amqpscope, ring):
    done = amqpscope("lint", "--format", "json", "--ring", "a ring/", cwd=ring.parent)
    checked = json.loads(done.stdout)
    assert [each["path"] for each in checked["captures"]] == ["a ring/"]
    assert {each["capture"] for each in checked["findings"]} == {"a ring/"}


@pytest.mark.parametrize("command", ["read", "lint", "stats", "state", "ladder"])
def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_done(amqpscope, ring, command):
    (ring / "x.pcap4").write_text("not a capture at all")
    options = ("--fail-on", "never") if command == "lint" else ()
    done = amqpscope(command, *options, "--ring", "a ring", cwd=ring.parent)
    assert done.returncode == 2
    assert "amqpscope: a ring/x.pcap4: not a capture: begins with 6e 6f 74 20" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) > 10


def test_a_file_that_is_cut_is_told_and_changes_no_exit_code(amqpscope, ring):
    data = (ring / "x.pcap4").read_bytes()
    (ring / "x.pcap4").write_bytes(data[:-5])
    done = amqpscope("read", "--ring", "a ring", cwd=ring.parent)
    assert done.returncode == 0
    assert "amqpscope: a ring/x.pcap4: cut short: the record at byte" in done.stderr
    checked = json.loads(amqpscope("lint", "--format", "json", "--ring", ring).stdout)
    assert checked["captures"][0]["error"].startswith("x.pcap4: cut short")


def test_tls_that_goes_on_in_the_next_file_is_decrypted(show, root, tmp_path):
    path = root / "captures" / "v10_tls-proton-rabbitmq.pcap"
    keys = str(root / "captures" / "v10_tls-proton-rabbitmq.keys")
    ring = rotated(path, tmp_path / "tls", 5)
    shown = show_ring(ring, keylog=(keys,))
    assert nameless(shown.lines) == nameless(show(path, form="jsonl", keylog=(keys,)).lines)
    assert len(shown.lines) > 30


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("read", "--ring", "empty"), "empty: no captures in this directory itself"),
        (("lint", "--ring", "empty"), "empty: no captures in this directory itself"),
        (("state", "--ring", "empty"), "empty: no captures in this directory itself"),
        (("ladder", "--ring", "empty"), "empty: no captures in this directory itself"),
        (("read", "--ring", "none.pcap"), "none.pcap: no such file or directory"),
        (("read", "--ring", "-"), "-: a ring consists of files, and this is none"),
        (("read", "--as-given", "x"), "--as-given is about the files of a --ring"),
        (("read", "--follow", "--ring", "empty"), "--ring needs complete files"),
        (("state", "a", "b"), "Got unexpected extra argument (b)"),
        (("ladder", "--ring", "one", "two"), "these are several rings, expected one: one, two"),
    ],
)
def test_what_is_no_ring_is_told_in_a_line(amqpscope, long, tmp_path, arguments, told):
    (tmp_path / "empty").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(long, tmp_path / name)
    done = amqpscope(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) <= 1  # lint says that it has seen nothing


def test_a_screen_shows_a_ring_as_the_original(long, ring):
    """What the process behind the screen writes of both."""
    from amqpscope.tui.opening import OpenedCapture, ReaderProcess
    from amqpscope.tui.store import Store

    def frames(source):
        store = Store(ReaderProcess(source))
        while not store.done:
            time.sleep(0.02)
            store.update()
        rows = [store.row(number) for number in range(1, store.count + 1)]
        found = rows, dict(store.counts), store.trouble
        store.close()
        return found

    files = ring_in(str(ring)).files
    assert frames(OpenedCapture(str(ring), ring=files)) == frames(OpenedCapture(str(long)))
    os.unlink(files[3])
    assert re.match(r"x\.pcap3\.gz: no such file", frames(OpenedCapture(str(ring), ring=files))[2])
