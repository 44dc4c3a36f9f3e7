"""A count on the wire costs no output: arrays whose elements take no octets, in every report."""

from time import perf_counter

import pytest
from click.testing import CliRunner

from amqpscope.cli import cli
from amqpscope.tui.fields import MOST, picture
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS

SECONDS = 20
OCTETS = 4_000_000


def array(count):
    return f"f000000005{count:08x}40"


def frame(body):
    return f"client: octets 0x{len(body) // 2 + 8:08x}02000000{body}\n"


def conversation(count):
    """An open, an attach and a message with an array of so many nulls."""
    claim = array(count)
    properties = f"d1{len(claim) // 2 + 7:08x}00000002a30161{claim}"
    opening = f"a10163404040404040404040{properties}"
    opened = f"005310d0{len(opening) // 2 + 4:08x}0000000b{opening}"
    message = f"005377{claim}"
    return f"""
client: header AMQP 1.0.0
{frame(opened)}
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" | raw 0x{message}
"""


COMMANDS = [
    ["read"],
    ["read", "-V", "-x"],
    ["read", "--format", "jsonl"],
    ["read", "--format", "csv"],
    ["read", "--format", "html"],
    ["lint"],
    ["lint", "--format", "html"],
    ["state"],
    ["stats"],
    ["ladder", "--all"],
]
COUNTS = [MAX_EMPTY_ELEMENTS, MAX_EMPTY_ELEMENTS + 1, 0xFFFFFFFF]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_time_and_output_are_bounded(recorded, words, count):
    path, start = recorded(conversation(count)), perf_counter()
    shown = CliRunner().invoke(cli, [*words, str(path)]).output
    assert perf_counter() - start < SECONDS
    assert 0 < len(shown) < OCTETS
    assert "Traceback" not in shown


@pytest.mark.parametrize("count", COUNTS)
def test_the_screen_is_bounded_too(recorded, count):
    files, start = Spool.create(), perf_counter()
    try:
        Indexer(files, str(recorded(conversation(count))), {}).run(
            follow=False, keylogs=[], ports={}
        )
        steps = StepCache(files)
        steps.update()
        lines = [number_of(picture(steps.step(n)).fields) for n in range(1, steps.count + 1)]
        assert [steps.row(n).number for n in range(1, steps.count + 1)] == [1, 2, 3, 4, 5]
    finally:
        files.close()
    assert perf_counter() - start < SECONDS
    assert max(lines) < 3 * MOST  # sections, and bodies as their content-type has them


def number_of(fields):
    return sum(1 + number_of(field.children) for field in fields)
