"""A family that nobody here knows (`kit.toy`) is read, checked and shown like any other."""

import json
import os
import subprocess
import sys

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from kit.toy_session import SCREENS

START, MILLISECOND = 1_700_000_000_000_000_000, 1_000_000
HEADER = b"TOY1\0\0\0\1"
PUT, OK, BYE = 1, 2, 4


def frame(kind, number, text=b""):
    return (4 + len(text)).to_bytes(2, "big") + bytes((kind, number)) + text


TALK = (
    (0, HEADER), (1, HEADER), (0, frame(PUT, 1, b"hello")), (1, frame(OK, 1)),
    (0, frame(PUT, 2, b"password=hunter2")), (1, frame(OK, 9)), (0, frame(BYE, 0)),
)  # fmt: skip


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "toy.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 7000))
        talk.open(START)
        for place, (sender, octets) in enumerate(TALK):
            talk.data(sender, START + place * MILLISECOND, octets)
        talk.finish(0, START + 8 * MILLISECOND)
        talk.finish(1, START + 9 * MILLISECOND)
    return path


@pytest.fixture(scope="module")
def environment(root):
    places = (str(root / "tests"), os.environ.get("PYTHONPATH", ""))
    return {
        **os.environ,
        "AMQPSCOPE_PROTOCOLS": "kit.toy",
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
        "PYTHONUTF8": "1",
    }


@pytest.fixture(scope="module")
def run(amqpscope, capture, environment):
    """`run("read")` gives what the command prints of the capture."""

    def run(*arguments, code=0, alone=False):
        paths = () if alone else (capture,)
        done = amqpscope(*arguments, *paths, env=environment)
        assert (done.returncode, done.stderr) == (code, "")
        return done.stdout

    return run


@pytest.fixture(scope="module")
def session(capture, environment):
    """`session("screens")` runs a script of `kit.toy_session` on the capture."""

    def run(what):
        command = [sys.executable, "-m", "kit.toy_session", what, str(capture)]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=100, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_it_is_listed_as_text(run):
    assert [line.split()[4:] for line in run("read").splitlines()[3:]] == [
        ["0", "news", "put", "number", "1,", "text", "hello"],
        ["0", "ok", "number", "1"],
        ["0", "news", "put", "number", "2,", "text", "password=********"],
        ["0", "ok", "[TOY-001]", "number", "9"],
        ["0", "bye", "number", "0"],
    ]


def test_it_is_written_as_json(run):
    rows = [json.loads(line) for line in run("read", "--format", "jsonl").splitlines()]
    assert [row["name"] for row in rows] == ["header", "header", "put", "ok", "put", "ok", "bye"]
    assert {row["protocol"] for row in rows} == {"toy"}
    assert rows[4]["fields"] == {"number": 2, "text": "password=********"}
    assert rows[5]["findings"] == ["TOY-001"]


def test_it_is_written_as_csv(run):
    rows = [line.split(",") for line in run("read", "--format", "csv").splitlines()]
    assert rows[3][5:14] == ["toy", "put", "0", "put", "9", "5", "", "news", "1"]


def test_its_octets_are_shown_without_their_secrets(run):
    shown = run("read", "-V", "-x")
    assert 'protocol: 0x544f5931 = "TOY1"' in shown
    assert "70 61 73 73 77 6f 72 64 3d ** ** **" in shown
    assert "hunter2" in run("read", "--show-secrets")


def test_it_has_a_page(run):
    page = run("read", "--format", "html")
    assert "<caption>Topics" in page
    assert "TOY-001" in page


@pytest.mark.parametrize(
    ("where", "frames"),
    [("put", [3, 5]), ("number == 9", [6]), ("text contains 'ell'", [3]), ("protocol == toy", 7),
     ("finding", [6]), ("link.address == news", [3, 5]), ("delivery.size > 5", [5]),
     ("name in {ok bye}", [4, 6, 7]), ("transfer || basic.publish", [])],
)  # fmt: skip
def test_its_frames_are_filtered(run, where, frames):
    rows = run("read", "--format", "jsonl", "-Y", where).splitlines()
    found = [json.loads(row)["frame"] for row in rows]
    assert (len(found) if isinstance(frames, int) else found) == frames


def test_a_filter_says_what_its_fields_can_hold(amqpscope, capture, environment):
    done = amqpscope("read", "-Y", "number == x", capture, env=environment)
    assert done.returncode == 2
    assert "number is a number" in done.stderr


def test_its_rule_is_checked(run):
    assert "error[TOY-001] ok-without-put (server)" in run("lint", code=1)
    assert run("lint", "--ignore", "TOY") == run("lint", "--ignore", "ok-without-put")


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github", "html"])
def test_what_breaks_its_rule_is_in_every_format(run, form):
    assert "TOY-001" in run("lint", "--format", form, code=1)


def test_its_rule_is_explained_and_listed(run):
    assert "An ok names a put that was sent before." in run("explain", "toy-001", alone=True)
    assert "TOY-001  error   ok-without-put" in run("rules", alone=True)
    assert "| TOY-001 | ok-without-put | error |" in run(
        "rules", "--format", "markdown", alone=True
    )


@pytest.mark.parametrize("form", ["text", "mermaid", "svg"])
def test_it_is_drawn(run, form):
    drawn = run("ladder", "--format", form)
    assert "number 1, text hello" in drawn
    assert "TOY-001" in drawn


def test_its_messages_are_counted(run):
    assert "2 messages, 2 frames, 21 B, 1 arrived, 1 not settled" in run("stats")


def test_its_state_is_shown(run):
    assert "topic news  1 under way" in run("state")
    state = json.loads(run("state", "--format", "json", "--at", "4"))
    assert "'under-way': 0" in str(state)


def test_it_is_among_what_a_port_can_be_read_as(amqpscope, environment):
    done = amqpscope("read", "--decode-as", "7000=mqtt", "x", env=environment)
    assert done.stderr.rstrip().endswith(", toy")


def test_it_is_on_every_screen(session):
    screens = session("screens").split("\f")
    for shown, words in zip(screens, SCREENS.values(), strict=False):
        assert words in shown
    assert 'protocol: 0x544f5931 = "TOY1"' in screens[0]
    assert len(screens) > len(SCREENS)


def test_its_state_is_kept_between_the_batches_of_a_stream(session):
    pytest.importorskip("pyarrow")
    count, same = session("keep").split()
    assert int(count) > 1
    assert same == "True"
