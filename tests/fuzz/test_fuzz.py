"""The fuzz targets run for a moment in every test run; for hours by hand (see the targets)."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.notation import parse, write
from dissectors.v1_0.codec import decode
from dissectors.v1_0.framing import decode_unit
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.span import section_tree, unit_tree

HERE = Path(__file__).parent
SECONDS = 8

SEEDS = (
    'open container-id="c" max-frame-size=512 properties={:a=array uint[1 2] "b"=timestamp 0}',
    'attach[0] name="s" handle=0 role=sender source=source(address="q" filter={:f=@:d "x"})',
    "transfer[0] handle=0 | header(durable=true) properties(message-id=uuid "
    '00010203-0405-0607-0809-0a0b0c0d0e0f) application-properties({"k"=decimal64 1.5}) data(b"x")',
    "disposition'80'd0[1] role=receiver first=0 state=modified(message-annotations={})",
    "sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]",
    "transfer | amqp-value(array @:d list[[array null[null]]])",
)


@pytest.mark.timeout(SECONDS * 10)
def test_coverage_guided_octets_break_nothing(tmp_path):
    pytest.importorskip("atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, text in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(parse(text)[4:])
        (corpus / f"{number}.txt").write_text(text)
    options = [
        f"-max_total_time={SECONDS}",
        "-max_len=600",
        "-timeout=10",
        "-rss_limit_mb=0",  # the target has a limit of its own
        f"-artifact_prefix={tmp_path}/",
    ]
    done = subprocess.run(
        [sys.executable, HERE / "fuzz_dissector.py", *options, str(corpus)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr


@given(st.binary(max_size=300))
def test_any_octets_give_a_value_or_damage(data):
    decode(data)
    unit = decode_unit((len(data) + 8).to_bytes(4, "big") + b"\2\0\0\0" + data)
    assert unit.kind
    for section in walk(data)[0]:
        read_section(data, section)


def nest(code, depth):
    raw = b"\x40"
    for _ in range(depth):
        raw = bytes((code,)) + (len(raw) + 4).to_bytes(4, "big") + b"\0\0\0\1" + raw
    return raw


MEAN = {
    "only descriptors": b"\0" * 100_000,
    "descriptors of descriptors": b"\0\x53\x01" * 30_000,
    "lists that claim all": b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff" * 10_000,
    "arrays that claim all": b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\x40" * 10_000,
    "arrays of nothing": b"\xd0\0\0\xf0\0\0\0\x10\0" + b"\xf0\0\0\0\x05\0\0\xff\xff\x40" * 5_000,
    "sections that claim all": b"\0\xf0\0\0\0\x05\xff\xff\xff\xff\x40\x40" * 10_000,
    "lists in lists": nest(0xD0, 5_000),
    "maps in maps": nest(0xD1, 5_000),
    "faults without end": b"\xd0\0\1\x86\xa4\0\0\xc3\x50" + b"\x56\x09" * 50_000,
    "arrays in arrays": b"\xf0\0\0\xff\xff\0\0\0\1" * 10_000,
    "text": b"GET / HTTP/1.1\r\n" * 5_000,
}


@pytest.mark.parametrize("data", MEAN.values(), ids=MEAN)
def test_mean_octets_take_no_more_than_their_time(data):
    raw = (len(data) + 11).to_bytes(4, "big") + b"\2\0\0\0\0\x53\x10" + data
    start = time.process_time()
    decode(data)
    decode_unit(raw)
    for section in walk(data)[0][:100]:
        read_section(data, section)
    unit_tree(raw)
    section_tree(data)
    assert parse(write(raw)) == raw
    assert time.process_time() - start < 10
