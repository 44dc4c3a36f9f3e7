"""Every capture in captures/ reads as the `.txt` beside it says: frames, notes, and findings.

After a wanted change, `python tests/test_golden.py` writes these files anew; read the difference
before you commit it.
"""

import io
import shutil
from pathlib import Path

import pytest

from amqpscope.cli.read import ReadOptions, print_frames
from amqpscope.report.look import PLAIN_TEXT
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check

CAPTURES = Path(__file__).parent.parent / "captures"
NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap*"))


def golden(name):
    return CAPTURES / f"{name.partition('.pcap')[0]}.txt"


def needs_tshark(name):
    return "_tls-" in name


def read(name):
    """What `amqpscope read` says of a capture, wide and without colours."""
    keylog = CAPTURES / f"{name.partition('.pcap')[0]}.keys"
    options = ReadOptions(keylog=(str(keylog),) if keylog.exists() else ())
    out, told = io.StringIO(), []
    print_frames((str(CAPTURES / name),), options, PLAIN_TEXT, out, told.append)
    lines = [f"! {line.replace(f'{CAPTURES}/', '')}\n" for line in told]
    return out.getvalue() + "".join(lines) + findings(name, keylog)


def findings(name, keylog):
    """What `amqpscope lint` finds in it."""
    keylogs = (keylog.read_bytes(),) if keylog.exists() else ()
    checked = check(Input(str(CAPTURES / name), keylogs), CheckSettings(excerpts=False))
    lines = [
        f"{f.severity} {f.rule} frame {f.frame} ({f.peer}, {f.certainty}) {f.path}: {f.message}\n"
        for f in checked.findings
    ]
    return "\n" + "".join(lines) if lines else ""


@pytest.mark.parametrize("name", NAMES)
def test_capture_reads_as_its_text_says(name):
    if needs_tshark(name) and shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    assert read(name) == golden(name).read_text(encoding="utf-8")


def test_every_text_has_its_capture():
    assert {golden(name) for name in NAMES} == set(CAPTURES.glob("*.txt"))


if __name__ == "__main__":
    for name in NAMES:
        golden(name).write_text(read(name), encoding="utf-8")
