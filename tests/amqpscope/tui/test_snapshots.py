"""Whole screens as text, compared with how they looked last.

`SNAPSHOTS=write pytest tests/amqpscope/tui/test_snapshots.py` writes them anew; look at them then.
"""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "snapshots"
CAPTURE = "v10_proton-labbroker_drain.pcap"
"""One without findings, whose words may change."""
SCREENS = [
    # name, size, keys
    ("frames-80x24", (80, 24), []),
    ("frames-160x50", (160, 50), ["G", "enter", "j", "j"]),
    ("frames-40x10", (40, 10), ["G"]),
    ("octets-80x24", (80, 24), ["G", "tab", "tab"]),
    ("filter-80x24", (80, 24), ["slash", *"flow", "space", *"&&", "space"]),
]


@pytest.mark.parametrize(("name", "size", "keys"), SCREENS, ids=str)
def test_the_screen_looks_as_it_did(drive, root, name, size, keys):
    async def script(driver):
        await driver.press(*keys)
        await driver.pilot.pause(0.2)
        return driver.text() + "\n"

    text = drive(root / "captures" / CAPTURE, script, size=size)
    file = FOLDER / f"{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
