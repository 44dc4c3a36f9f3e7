"""Real captures: everything decodes, and tshark says the same."""

import subprocess
from collections import defaultdict

import pytest

from dissectors.v0_9.encode import encode_body, encode_content_header, encode_method
from dissectors.v0_9.resync import find_frame, score
from kit.dissectors.samples_v0_9 import captures, pieces, units

CAPTURES = captures()
TOLD = [path for path in CAPTURES if not path.name.startswith("v08_")]
"""Those that tshark reads; it takes 0-8 for 0-9-1, and calls a channel.open-ok malformed."""

ARGUMENTS = (
    # those that every tshark shows by the value, not as a tree
    "version-major", "version-minor", "mechanism", "locale", "channel-max", "frame-max",
    "heartbeat", "virtual-host", "reply-code", "reply-text", "class-id", "method-id", "active",
    "exchange", "type", "passive", "durable", "exclusive", "auto-delete", "routing-key", "queue",
    "message-count", "consumer-count", "if-unused", "if-empty", "prefetch-size", "prefetch-count",
    "global", "consumer-tag", "no-local", "no-ack", "mandatory", "immediate", "delivery-tag",
    "redelivered", "multiple", "requeue", "reason",
)  # fmt: skip


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_every_unit_decodes_and_encodes_again(path):
    found = units(path)
    assert len(found) > 10
    for _, raw, unit in found:
        assert unit.kind == unit.label
        assert not unit.faults
        spoken = unit.dialect
        if unit.method is not None:
            fields = dict(unit.fields())
            assert encode_method(spoken, unit.name, fields, unit.channel) == raw
        elif unit.content is not None:
            content = unit.content
            fields = dict(unit.fields()[3:])
            assert raw == encode_content_header(
                spoken, "basic", content.body_size, fields, unit.channel
            )
        elif unit.label == "content-body":
            assert encode_body(raw[unit.payload : -1], unit.channel) == raw


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_from_the_middle_frames_and_dialect_are_found(path):
    raw = b"".join(found.raw for found in units(path) if found.raw[:4] != b"AMQP")[:200_000]
    starts = {0}
    for found in units(path):
        if found.raw[:4] != b"AMQP":
            starts.add(max(starts) + len(found.raw))
    for cut in range(0, min(len(raw) - 3000, 4000), 7):
        at = find_frame(raw[cut : cut + 20_000], False)
        assert at < 0 or cut + at in starts
    assert score(raw) is units(path)[-1].unit.dialect


def told(path, *fields):
    """What tshark says of each packet: the values of fields, all occurrences."""
    command = ["tshark", "-r", str(path), "-Y", "amqp", "-T", "fields", "-E", "aggregator=|"]
    for port in {piece.connection.server[1] for piece in pieces(path)}:
        command += ["-d", f"tcp.port=={port},amqp"]
    for field in ("frame.number", *fields):
        command += ["-e", field]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        packet, *columns = line.split("\t")
        yield int(packet), [column.split("|") if column else [] for column in columns]


@pytest.mark.tshark
@pytest.mark.parametrize("path", TOLD, ids=lambda path: path.name)
def test_tshark_sees_the_same_frames(path):
    ours = defaultdict(lambda: ([], [], [], [], []))
    for packet, _, unit in units(path):
        if unit.kind == "header":
            continue
        columns = ours[packet]
        columns[0].append(str(unit.type))
        columns[1].append(str(unit.channel))
        columns[2].append(str(unit.size))
        if unit.method is not None:
            columns[3].append(str(unit.class_id))
        if unit.content is not None:
            columns[4].append(str(unit.content.body_size))
    names = ("type", "channel", "length", "method.class", "header.body-size")
    theirs = dict(told(path, *(f"amqp.{name}" for name in names)))
    assert {packet: list(columns) for packet, columns in ours.items()} == {
        packet: columns for packet, columns in theirs.items() if columns[0]
    }


@pytest.mark.tshark
@pytest.mark.parametrize("path", TOLD, ids=lambda path: path.name)
def test_tshark_reads_the_same_arguments(path):
    theirs = dict(
        told(path, *(f"amqp.method.arguments.{name.replace('-', '_')}" for name in ARGUMENTS))
    )
    compared = 0
    ours = defaultdict(lambda: [[] for _ in ARGUMENTS])
    for packet, _, unit in units(path):
        if unit.method is None:
            continue
        for name, value in unit.fields():
            if name in ARGUMENTS and (value != "" or theirs[packet][ARGUMENTS.index(name)]):
                shown = str(int(value)) if isinstance(value, bool | int) else value
                ours[packet][ARGUMENTS.index(name)].append(shown)
                compared += 1
    for packet, columns in ours.items():
        for name, mine, other in zip(ARGUMENTS, columns, theirs[packet], strict=True):
            said = [{"True": "1", "False": "0"}.get(word, word) for word in other]
            assert (packet, name, mine) == (packet, name, said)
    assert compared > 10
