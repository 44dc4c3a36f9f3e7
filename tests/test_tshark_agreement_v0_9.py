"""Frames of AMQP 0-9-1 agree with what tshark finds in the same packets."""

import subprocess
from pathlib import Path

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces

CAPTURES = Path(__file__).parent.parent / "captures"
NAMES = sorted(
    path.name
    for path in CAPTURES.glob("*091*")
    if ".pcap" in path.name and "_tls-" not in path.name and not path.name.startswith("mixed")
)
PORT = 47672
"""Where a broker of the captures listens besides 5672."""
FIELDS = ("type", "channel", "length", "method.class", "method.method", "header.body-size")


def theirs(path):
    """By packet: type, channel and size of each frame, then methods, then sizes of bodies."""
    command = ["tshark", "-r", str(path), "-Y", "amqp.type", "-T", "fields", "-e", "frame.number"]
    command += ["-d", f"tcp.port=={PORT},amqp"]
    for field in FIELDS:
        command += ["-e", f"amqp.{field}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in shown.splitlines():
        packet, *columns = line.split("\t")
        numbers = [[int(n) for n in column.split(",") if n] for column in columns]
        frames = list(zip(*numbers[:3], strict=True))
        methods = list(zip(*numbers[3:5], strict=True))
        found[int(packet)] = (frames, methods, numbers[5])
    return found


def ours(path):
    analyzer, found = Analyzer(), {}
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    unit = step.event.unit
                    if unit.header is not None:
                        continue
                    frames, methods, sizes = found.setdefault(step.frame.packet, ([], [], []))
                    frames.append((unit.type, unit.channel, unit.size))
                    if unit.method is not None:
                        methods.append((unit.class_id, unit.method_id))
                    if unit.content is not None:
                        sizes.append(unit.content.body_size)
    return found


@pytest.mark.tshark
@pytest.mark.parametrize("name", NAMES)
def test_frames_agree_with_tshark(name):
    assert ours(CAPTURES / name) == theirs(CAPTURES / name)
