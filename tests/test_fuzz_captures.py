"""Damaged captures through the whole path of `read`: nothing raises, hangs or prints nonsense.

Real captures are damaged in two places: in the file, and in the octets that the peers sent, which
are then recorded anew, so that the damage reaches the frames and not only the packets.
AMQPSCOPE_FUZZ=5000 looks longer.
"""

import io
import json
import os
import random
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.cli.read import ReadOptions, print_frames
from amqpscope.report.look import Look
from amqpscope.stream.types import Chunk

CAPTURES = Path(__file__).parent.parent / "captures"
NAMES = (
    "demo.pcapng",
    "v10_proton-labbroker_types.pcap",
    "v10_proton-labbroker_outcomes.pcap",
    "v10_proton-labbroker_tx.pcap",
    "v10_proton-rhea_filters.pcap",
    "v10_rhea-rabbitmq_errors.pcap",
    "dmg_snap128-v10_proton-labbroker_large512.pcap",
    "fmt_vlan-v10_proton-rabbitmq_manylinks.pcap",
    "v10_sll-y-proton-labbroker_simple.pcap",
    "v10_ipv6-proton-rabbitmq_simple.pcap",
)
WAYS = (
    ReadOptions(form="jsonl"),
    ReadOptions(form="csv"),
    ReadOptions(tree=True, octets=True),
    ReadOptions(form="jsonl", show_secrets=True, decode_as={5680: "amqp-1.0", 5682: "amqp-1.0"}),
)
SECONDS = 10
EXAMPLES = int(os.environ.get("AMQPSCOPE_FUZZ", "40"))

fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

EDGES = (b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", bytes(4), bytes(16), b"AMQP")
edit = st.tuples(
    st.sampled_from(("flip", "set", "cut", "drop", "repeat", "insert", "swap")),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 200),
    st.one_of(st.sampled_from(EDGES), st.binary(min_size=1, max_size=12)),
)
edits = st.lists(edit, min_size=1, max_size=8)


def damage(data, changes):
    """Octets after some accidents."""
    for kind, place, size, octets in changes:
        at = int(place * len(data))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (size & 0xFF)]) + data[at + 1 :]
        elif kind == "set":
            data = data[:at] + octets + data[at + len(octets) :]
        elif kind == "cut":
            data = data[: max(at, len(data) // 2)]
        elif kind == "drop":
            data = data[:at] + data[at + size :]
        elif kind == "repeat":
            data = data[: at + size] + data[at:]
        elif kind == "insert":
            data = data[:at] + octets * (size % 5 + 1) + data[at:]
        elif kind == "swap":
            one, two = data[at : at + size], data[at + size : at + 2 * size]
            data = data[:at] + two + one + data[at + 2 * size :]
    return data


def read(path, options):
    """What is printed; raises what reading should not raise."""
    out, told = io.StringIO(), []
    begun = time.process_time()
    look = Look(width=80, colour=True)
    code = print_frames((str(path),), options, look, out, told.append)
    assert time.process_time() - begun < SECONDS
    assert code in {0, 2}
    assert all("\n" not in line for line in told)
    if options.form == "jsonl":
        for line in out.getvalue().splitlines():
            json.loads(line)
    return out.getvalue()


@cache
def streams(name):
    """The chunks of the first connection of a capture: sender and octets."""
    with Pieces(str(CAPTURES / name)) as pieces:
        chunks = [piece for batch in pieces for piece in batch if isinstance(piece, Chunk)]
    return [(c.sender, c.data) for c in chunks if c.connection is chunks[0].connection]


def record(path, talk):
    """Write a conversation as a capture."""
    with path.open("wb") as file:
        conversation = ConnectionWriter(
            CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672)
        )
        conversation.open(0)
        for place, (sender, octets) in enumerate(talk):
            conversation.data(sender, place * 1_000_000, octets)


@fuzzed
@given(st.sampled_from(NAMES), edits, st.sampled_from(WAYS))
def test_damaged_files(tmp_path, name, changes, options):
    path = tmp_path / name
    path.write_bytes(damage((CAPTURES / name).read_bytes(), changes))
    read(path, options)


@fuzzed
@given(st.sampled_from(NAMES), edits, st.floats(0, 1, exclude_max=True), st.sampled_from(WAYS))
def test_damaged_octets_in_sound_packets(tmp_path, name, changes, place, options):
    talk = list(streams(name))
    hit = int(place * len(talk))
    talk[hit] = (talk[hit][0], damage(talk[hit][1], changes))
    path = tmp_path / "made.pcapng"
    record(path, talk)
    read(path, options)


@fuzzed
@given(st.sampled_from(NAMES), st.randoms(use_true_random=False), st.sampled_from(WAYS))
def test_chunks_lost_repeated_and_out_of_order(tmp_path, name, chance, options):
    talk = [chunk for chunk in streams(name) if chance.random() > 0.2]
    for _ in range(len(talk) // 8):
        at = chance.randrange(len(talk))
        talk.insert(chance.randrange(len(talk)), talk[at])
    path = tmp_path / "made.pcapng"
    record(path, talk)
    read(path, options)


@fuzzed
@given(st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=300)), max_size=12))
def test_any_octets_after_the_headers(tmp_path, talk):
    path = tmp_path / "made.pcapng"
    record(path, [(0, b"AMQP\0\1\0\0"), (1, b"AMQP\0\1\0\0"), *talk])
    for options in WAYS:
        read(path, options)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_damage_at_least_once(tmp_path, name):
    chance = random.Random(name)
    data = (CAPTURES / name).read_bytes()
    for kind in ("flip", "set", "cut", "drop", "repeat", "insert", "swap"):
        for octets in EDGES:
            path = tmp_path / name
            path.write_bytes(damage(data, [(kind, chance.random(), 37, octets)]))
            read(path, chance.choice(WAYS))
