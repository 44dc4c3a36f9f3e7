"""A family that the screen has never heard of is shown like the others."""

import os
import subprocess
import sys
from pathlib import Path

from amqpscope.capture.write import CaptureWriter, ConnectionWriter

TESTS = Path(__file__).parent.parent.parent
SECOND = 1_000_000_000
SCRIPT = """
import sys
from amqpscope.insight.state import StateRenderer
from amqpscope.tui.fields import picture
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache
from amqpscope.tui.time_travel import Question, TimeTravel

files = Spool.create()
Indexer(files, sys.argv[1], {}).run(follow=False, keylogs=[], ports={})
steps = StepCache(files)
steps.update()
for number in range(1, steps.count + 1):
    row = steps.row(number)
    print(row.name, row.place, row.text)
print(picture(steps.step(3)).fields[-1].children[0].text)
travel = TimeTravel(files, {}, StateRenderer())
travel.places.update()
moment = travel.find(Question(4, 1, print))
print(moment.state.client, "|", moment.state.nodes[0].client)
"""


def test_a_family_without_clues_has_rows_fields_and_states(tmp_path):
    path = tmp_path / "toy.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672))
        talk.open(SECOND)
        for sender in (0, 1):
            talk.data(sender, SECOND + sender, b"TOY1\0\0\0\1")
        for number in (0, 1):
            talk.data(0, (2 + number) * SECOND, b"\0\11\1" + bytes([number]) + b"hello")
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(TESTS)]))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path],
        env={**os.environ, "PYTHONPATH": paths, "AMQPSCOPE_PROTOCOLS": "kit.toy"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["header"],
        ["header"],
        ["put", "news", "number", "0,", "text", "hello"],
        ["put", "news", "number", "1,", "text", "hello"],
        ["hello"],
        ["open", "toy", "|", "2", "under", "way"],
    ]


def test_a_server_that_answers_tls_in_the_clear_has_its_row_by_its_own_family(drive, tmp_path):
    path = tmp_path / "mixed.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672))
        talk.open(SECOND)
        talk.data(0, SECOND, bytes.fromhex("160301000501000001aa"))
        talk.data(1, SECOND, b"AMQP\x00\x00\x09\x01")
        talk.reset(1, SECOND)

    async def script(driver):
        return driver.text()

    assert "AMQP 0.9.1" in drive(path, script)
