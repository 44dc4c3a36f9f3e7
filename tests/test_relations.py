"""No change of a capture alone makes a peer guilty; `python tests relations` looks longer."""

import random
import subprocess
import sys
from dataclasses import replace

import pytest

from amqpscope.capture.reader import open_capture
from amqpscope.capture.tls import Records
from amqpscope.stream.types import Chunk
from kit import CAPTURES, TESTS
from kit.relations.linted import excused, judged, lint, new_errors, rests_on_time
from kit.relations.mutants import Mutant, change, fewer, simplest
from kit.relations.recording import (
    Form,
    Recording,
    captures_in,
    load,
    packet_of,
    read_packets,
    unwrapped,
)
from kit.relations.relations import BLINDING, RELATIONS, WHOLE, composed
from kit.relations.running import Task, octets, recording_of, run
from kit.relations.writing import LINKS, save, write

PATHS = captures_in(CAPTURES)
SEED = 20
MUTANTS = 60
"""Of each capture; of large ones fewer."""

SAMPLE = CAPTURES / "v10_rhea-rabbitmq_outcomes.pcap"
SECOND = CAPTURES / "v091_pika_basic-rabbitmq.pcap"
GUILTY = CAPTURES / "v10_rhea-rabbitmq_types.pcap"
"""A capture in which lint finds an error."""

INTACT = sorted(WHOLE - {"merge", "end", "ipv6"} | {"overlap"})
"""Relations after which the octets of each connection are the same."""


def another(chance: random.Random) -> Recording:
    return recording_of(SECOND)


def streams(recording):
    """The octets of each direction."""
    found: dict[tuple[str, int], bytes] = {}
    for piece in unwrapped(recording.packets, Records()):
        if isinstance(piece, Chunk):
            connection = piece.connection
            name = str((connection.client, connection.server)), piece.sender
            found[name] = found.get(name, b"") + piece.data
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_no_change_of_a_capture_makes_a_peer_guilty(path):
    recording = recording_of(path)
    if recording.keylog.strip() and not recording.plaintexts:
        pytest.skip("tshark is not installed")
    if not any(packet.payload for packet in recording.packets):
        pytest.skip("no octets in it")
    count = max(4, MUTANTS * 100_000 // max(100_000, octets(recording)))
    outcome = run(Task(path, tuple(PATHS), SEED, 0, count))
    assert outcome.mutants == count
    errors = [each for each in outcome.failures if each.severity == "error"]
    assert errors == []


@pytest.mark.parametrize("name", INTACT)
def test_octets_arrive_whole_in_other_packets(name):
    original = recording_of(SAMPLE)
    changed = 0
    for seed in range(5):
        made = change(original, (name,), str(seed), another)
        if made is not None:
            changed += made != original
            assert streams(made) == streams(original)
    assert changed


@pytest.mark.parametrize("name", RELATIONS)
def test_every_relation_changes_a_capture_and_does_so_again(name):
    original = recording_of(SAMPLE)
    made = [change(original, (name,), str(seed), another) for seed in range(8)]
    assert any(each is not None and each != original for each in made)
    assert made == [change(original, (name,), str(seed), another) for seed in range(8)]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("container", ["pcap", "pcapng"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_packets_are_read_as_they_were_written(tmp_path, link, container, order):
    recording = recording_of(SAMPLE)
    write(replace(recording, form=Form(container, link, order=order)), tmp_path / "made")
    assert read_packets(tmp_path / "made")[0] == recording.packets


def test_cut_packets_are_read_as_cut(tmp_path):
    cut = change(recording_of(SAMPLE), ("snap-length",), "1", another)
    path = save(cut, tmp_path / "made")
    with open_capture(str(path)) as capture:
        assert tuple(packet_of(each) for batch in capture for each in batch) == cut.packets


def test_an_error_that_the_original_does_not_have_is_new():
    guilty = recording_of(GUILTY)
    assert guilty.errors
    assert new_errors(guilty) == []
    innocent = replace(guilty, errors=frozenset())
    assert {each.accusation for each in new_errors(innocent)} == guilty.errors


def test_what_is_found_is_made_smaller_and_saved(tmp_path):
    innocent = replace(recording_of(GUILTY), errors=frozenset())
    found = new_errors(innocent)[0]
    steps = ("split", "ipv6")
    mutant = Mutant("", "1", steps, change(innocent, steps, "1", another))
    small = simplest(mutant, innocent, another, found)
    assert small.relations == ("split",)
    assert len(small.recording.packets) < len(mutant.recording.packets) // 2
    saved = judged(load(save(small.recording, tmp_path / "small")))
    assert found.accusation in saved.errors


def test_a_packet_more_is_kept_only_if_the_error_needs_it():
    innocent = replace(recording_of(GUILTY), errors=frozenset())
    found = new_errors(innocent)[0]
    packets = fewer(innocent, found)
    for place in range(len(packets)):
        rest = innocent.having(packets[:place] + packets[place + 1 :])
        assert found.accusation not in {each.accusation for each in new_errors(rest)}


def test_the_command_reports_and_saves(tmp_path):
    command = [
        sys.executable,
        TESTS,
        "relations",
        SAMPLE,
        SECOND,
        "--seed",
        "7",
        "--mutants",
        "60",
        "-j",
        "2",
    ]
    done = subprocess.run(
        [*command, "--save", tmp_path], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
    assert "60 mutants, seed 7" in done.stdout
    assert done.returncode == 0, done.stdout
    assert "new errors: none" in done.stdout


def test_a_warning_in_doubt_says_what_is_missing():
    message = "the frames before it were not captured"
    finding = replace(lint(recording_of(GUILTY))[0].finding, certainty="suspect", message=message)
    assert excused(finding, retimed=False)
    assert not excused(replace(finding, certainty="sure"), retimed=False)


def test_a_warning_about_time_is_in_order_where_time_was_changed():
    assert rests_on_time("CON-016")
    assert not rests_on_time("FLW-016")


def test_what_blinds_goes_last_and_only_with_what_is_whole():
    chance = random.Random(1)
    for _ in range(2000):
        steps = composed(tuple(RELATIONS), chance)
        if not BLINDING.isdisjoint(steps):
            assert steps[-1] in BLINDING
            assert set(steps[:-1]) <= WHOLE
