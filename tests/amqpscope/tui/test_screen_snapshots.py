"""The screens beside the frame list as text, compared with how they looked last.

`SNAPSHOTS=write pytest tests/amqpscope/tui/test_screen_snapshots.py` writes them anew;
look at them then.
"""

import os
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "snapshots"
AMQPSTORM = "v091_amqpstorm-rabbitmq_all.pcapng.zst"
MIXED = "mixed_091-and-10_rabbitmq.pcap"
SCREENS = [
    # name, capture, size, frame, key of the screen, what it shows when it is complete
    ("state-80x24", "demo.pcapng", (80, 24), 15, "2", "after frame 15"),
    ("state-120x40", "demo.pcapng", (120, 40), 24, "2", "after frame 24"),
    ("state-v0_9-80x24", "v091_pika_basic-rabbitmq.pcap", (80, 24), 30, "2", "after frame 30"),
    ("ladder-80x24", "demo.pcapng", (80, 24), 16, "3", "FLW-013"),
    ("ladder-120x40", "v10_proton-rhea_manylinks.pcap", (120, 40), 381, "3", "closes TCP"),
    ("findings-80x24", "demo.pcapng", (80, 24), 1, "4", "Sections come in one order"),
    ("findings-160x40", "demo.pcapng", (160, 40), 1, "4", "Sections come in one order"),
    ("stuck-80x24", "demo.pcapng", (80, 24), 1, "5", "Until then"),
    ("stuck-120x40", MIXED, (120, 40), 1, "5", "later"),
    ("stats-80x24", "demo.pcapng", (80, 24), 1, "6", "/s on average"),
    ("stats-40x10", "demo.pcapng", (40, 10), 1, "6", "connection 1"),
    ("messages-80x24", AMQPSTORM, (80, 24), 1, "7", "returned by the broker"),
]


@pytest.mark.parametrize(("name", "capture", "size", "frame", "key", "words"), SCREENS, ids=str)
def test_the_screen_looks_as_it_did(drive, root, name, capture, size, frame, key, words):
    async def script(driver):
        driver.app.select(frame)
        await driver.press(key)
        await driver.until_shown(words)
        await driver.pilot.pause(0.3)
        # The end of a scrollbar's thumb is Textual's, and moves with when it was last laid out.
        return "".join(re.sub(" *[▁-▇]$", "", line) + "\n" for line in driver.lines())

    text = drive(root / "captures" / capture, script, size=size)
    file = FOLDER / f"{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
