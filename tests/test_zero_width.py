"""Arrays whose elements take no octets, in every position: a count on the wire costs no time.

Ten octets can claim four thousand million nulls. Here such a claim stands in each field of each
performative, in each section of a message and inside of other values, in frames that are sound and
in frames that are damaged elsewhere, and each is decoded, linted and printed in bounded time.
"""

import io
import time

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.cli.read import ReadOptions, print_frames
from amqpscope.report.look import Look
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.types import Chunk, Connection
from dissectors.notation import write
from dissectors.v1_0.codec import decode
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.span import section_tree, unit_tree
from dissectors.v1_0.tables import COMPOSITES, SECTIONS

SECONDS = 20
"""Of the processor, for all frames of one kind: a thousand or so, each worth milliseconds."""

HEADERS = {0: b"AMQP\0\1\0\0", 1: b"AMQP\3\1\0\0"}
EMPTY = (0x40, 0x41, 0x42, 0x43, 0x44, 0x45)
"""null, true, false, uint0, ulong0, list0."""


def wide(count, inside):
    """An array32 of so many elements, whose constructor and octets are given."""
    return b"\xf0" + (len(inside) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + inside


def short(count, inside):
    """An array8 of so many elements."""
    return b"\xe0" + bytes((len(inside) + 1, count)) + inside


def claims(code):
    """Values that claim very many elements of a code."""
    all_of_them = wide(0xFFFFFFFF, bytes((code,)))
    many = wide(MAX_EMPTY_ELEMENTS, bytes((code,)))
    return (
        all_of_them,
        many,
        short(255, bytes((code,))),
        wide(3, b"\xf0" + (many[1:] * 3)),
        wide(0xFFFFFFFF, b"\xf0" + all_of_them[1:]),
        short(255, b"\xe0" + short(255, bytes((code,)))[1:] * 3),
        wide(0xFFFFFFFF, b"\0\xa3\1d" + bytes((code,))),
        b"\xc0" + bytes((1 + 3 * len(all_of_them), 3)) + all_of_them * 3,
        b"\xd1" + (4 + 2 * len(many)).to_bytes(4, "big") + b"\0\0\0\2" + many * 2,
        b"\0" + many + many,
    )


CLAIMS = [claim for code in EMPTY for claim in claims(code)]


def composite(code, items, surplus=0, spare=0):
    """A described list; `surplus` makes its size wrong, `spare` its count."""
    inside = (len(items) + spare).to_bytes(4, "big") + b"".join(items)
    return (
        b"\0\x53" + bytes((code,)) + b"\xd0" + (len(inside) + surplus).to_bytes(4, "big") + inside
    )


def frame(body, type):
    """A frame on channel 0."""
    return (len(body) + 8).to_bytes(4, "big") + bytes((2, type, 0, 0)) + body


def bodies(row):
    """A composite with a claim in each of its positions, sound and with wrong sizes and counts."""
    for place in range(len(row.fields) + 1):
        for claim in CLAIMS:
            items = [b"\x40"] * place + [claim]
            for surplus, spare in ((0, 0), (-1, 0), (0, 0x7FFFFFFF)):
                yield composite(row.code, items, surplus, spare)


def lint(raws):
    """Run all rules over frames of a client."""
    analyzer = Analyzer({5672: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), True)
    offset = 0
    for number, raw in enumerate(raws, 1):
        for step in analyzer.feed(Chunk(connection, 0, offset, raw, number, number * 10**6, 0)):
            assert step is not None
        offset += len(raw)


FRAMES = [row for row in COMPOSITES if 0x10 <= row.code <= 0x18 or 0x40 <= row.code <= 0x44]
NESTED = [row for row in COMPOSITES if row not in FRAMES and row.code < 0x70]


@pytest.mark.timeout(SECONDS * 10)
@pytest.mark.parametrize("row", FRAMES, ids=lambda row: row.name)
def test_in_each_field_of_a_frame(row):
    type = 1 if row.code >= 0x40 else 0
    raws = [frame(body, type) for body in bodies(row)]
    begun = time.process_time()
    lint([HEADERS[type], *raws])
    for raw in raws[::21]:
        unit_tree(raw)
    assert time.process_time() - begun < SECONDS


@pytest.mark.timeout(SECONDS * 10)
@pytest.mark.parametrize("row", NESTED, ids=lambda row: row.name)
def test_in_each_field_of_what_a_frame_holds(row):
    inner = list(bodies(row))[::4]
    raws = [frame(composite(0x15, [b"\x41", b"\x43", b"\x40", b"\x40", body]), 0) for body in inner]
    raws += [
        frame(composite(0x15, [b"\x41", b"\x43", b"\x40", b"\x40", body], 1), 0) for body in inner
    ]
    raws += [
        frame(composite(0x12, [b"\xa1\1n", b"\x43", b"\x41", *[b"\x40"] * 2, body, body]), 0)
        for body in inner
    ]
    begun = time.process_time()
    lint([HEADERS[0], *raws])
    assert time.process_time() - begun < SECONDS


def transfer(number, payload):
    """A whole delivery."""
    items = [b"\x43", b"\x70" + number.to_bytes(4, "big"), b"\xa0\1t", b"\x43", b"\x41"]
    return frame(composite(0x14, items) + payload, 0)


@pytest.mark.timeout(SECONDS * 10)
@pytest.mark.parametrize("code", SECTIONS, ids=SECTIONS.get)
def test_in_each_section_of_a_message(code):
    head = b"\0\x53" + bytes((code,))
    messages = [head + claim for claim in CLAIMS]
    for surplus, spare in ((0, 0), (1, 0), (-1, 0), (0, 1)):
        messages += [composite(code, [b"\x40"] * 3 + [claim], surplus, spare) for claim in CLAIMS]
    for claim in CLAIMS:
        inside = b"\0\0\0\2\xa3\1k" + claim
        messages.append(head + b"\xd1" + len(inside).to_bytes(4, "big") + inside)
    opening = [HEADERS[0], frame(composite(0x10, [b"\xa1\1c"]), 0)]
    opening.append(frame(composite(0x11, [b"\x40", b"\x43", b"\x52\x64", b"\x52\x64"]), 0))
    source, target = composite(0x28, []), composite(0x29, [])
    attach = [
        b"\xa1\1n",
        b"\x43",
        b"\x42",
        b"\x40",
        b"\x40",
        source,
        target,
        b"\x40",
        b"\x40",
        b"\x43",
    ]
    opening.append(frame(composite(0x12, attach), 0))
    begun = time.process_time()
    lint(opening + [transfer(number, message) for number, message in enumerate(messages)])
    for message in messages:
        section_tree(message)
        decode(message)
    assert time.process_time() - begun < SECONDS


@pytest.mark.timeout(SECONDS * 10)
def test_sections_of_one_message_share_a_limit():
    claim = wide(MAX_EMPTY_ELEMENTS, b"\x40")
    message = (
        b"\0\x53\x76\xd0" + (4 + len(claim)).to_bytes(4, "big") + b"\0\0\0\1" + claim
    ) * 50_000
    begun = time.process_time()
    sections, fault = walk(message)
    assert fault is None
    assert sum(len(array) for each in sections for array in read_section(message, each)[0]) == 0
    section_tree(message)
    assert time.process_time() - begun < SECONDS


def test_what_may_be_claimed_is_still_read():
    for code in EMPTY:
        found, faults = decode(short(255, bytes((code,))))
        assert not faults
        assert len(found) == 255
        assert found[0] == found[254] == decode(bytes((code,)))[0]


@pytest.mark.timeout(SECONDS * 10)
def test_arrays_within_arrays_are_limited_in_depth_where_they_are_damaged():
    nested = b"\xf0" + b"\xff\xff\xff\xff\0\0\0\1\xf0" * 20_000
    begun = time.process_time()
    lint([HEADERS[0], frame(composite(0x10, [b"\xa1\1c", nested], -1), 0)])
    assert time.process_time() - begun < SECONDS


@pytest.mark.timeout(SECONDS * 10)
@pytest.mark.parametrize("form", ["jsonl", "csv", "text"])
def test_printing(tmp_path, form):
    path = tmp_path / "made.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672))
        talk.open(0)
        talk.data(0, 0, HEADERS[0])
        talk.data(1, 0, HEADERS[0])
        for place, claim in enumerate(CLAIMS):
            talk.data(0, place, frame(composite(0x10, [b"\xa1\1c", *[b"\x40"] * 8, claim]), 0))
    options = ReadOptions(form=form, tree=form == "text", octets=form == "text")
    begun = time.process_time()
    code = print_frames((str(path),), options, Look(width=80), io.StringIO(), [].append)
    assert code in {0, 2}
    assert time.process_time() - begun < SECONDS


def test_notation_writes_them():
    assert "array null" in write(frame(composite(0x10, [short(3, b"\x40")]), 0))
