"""Draw the pictures of this folder again: python captures/screens/draw.py"""

import asyncio
import re
from pathlib import Path
from typing import Final, NamedTuple

from amqpscope.tui.app import Scope
from amqpscope.tui.opening import OpenedCapture, ReaderProcess
from amqpscope.tui.store import Store

HERE: Final = Path(__file__).parent
FONTS: Final = re.compile(r"@font-face\s*{.*?}\s*", re.DOTALL)
"""Rules that would have a viewer load fonts from the network."""
SIZE: Final = (100, 26)
PATIENCE: Final = 180.0


class Picture(NamedTuple):
    """One picture: what was opened, which keys were pressed, and what is on the screen then."""

    name: str
    capture: str
    keys: str
    words: str


# fmt: off
PICTURES: Final = (
    Picture("frames",   "demo.pcapng",                            "n n", "MSG-001 the client"),
    Picture("credit",   "v10_proton-rabbitmq_nocredit.pcapng",    "5",   "later"),
    Picture("window",   "v10_proton-rabbitmq_window.pcapng",      "5",   "later"),
    Picture("rejected", "v10_proton-storybroker_rejected.pcapng", "r",   "an order needs a price"),
    Picture("stolen",   "v10_proton-storybroker_stolen.pcapng",   "5",   "This attach took it"),
    Picture("login",    "v10_proton-rabbitmq_badpassword.pcapng", "5",   "login refused: auth"),
)
# fmt: on


async def draw(picture: Picture) -> None:
    """Press the keys, wait for the words, and keep what is to be seen."""
    capture = HERE.parent / picture.capture
    app = Scope(Store(ReaderProcess(OpenedCapture(str(capture)))))
    async with app.run_test(size=SIZE) as pilot:
        while not (app.store.done and app.frame):
            await pilot.pause(0.05)
        await pilot.press(*picture.keys.split())
        async with asyncio.timeout(PATIENCE):
            while picture.words.replace(" ", "&#160;") not in app.export_screenshot():
                await pilot.pause(0.1)
        await pilot.pause(0.5)
        picture_text = FONTS.sub("", app.export_screenshot(simplify=True))
        (HERE / f"{picture.name}.svg").write_text(picture_text, encoding="utf-8")


if __name__ == "__main__":
    for each in PICTURES:
        asyncio.run(draw(each))
