"""Make the tour, an SVG that plays by itself: python captures/screens/tour.py

Each scene is the screen after some keys; a line below it names the keys and what they answer.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from draw import FONTS, PATIENCE, SIZE

from amqpscope.tui.app import Scope
from amqpscope.tui.opening import OpenedCapture, ReaderProcess
from amqpscope.tui.store import Store

HERE: Final = Path(__file__).parent
LASTS: Final = 7.5
"""Seconds of a scene."""
WIDTH, HEIGHT, CAPTION = 1238, 684, 56
NAME: Final = re.compile(r"terminal-\d+")
CLIPS: Final = re.compile(r'<clipPath id="s\d+-line-.*?</clipPath>\s*', re.DOTALL)
CLIPPED: Final = re.compile(r' clip-path="url\(#s\d+-line-\d+\)"')
SHELL: Final = re.compile(r"^<svg[^>]*>|</svg>\s*$")


class Scene(NamedTuple):
    """What was opened, which keys are pressed next, what is on the screen then, and why."""

    capture: str
    keys: str
    words: str
    caption: str


SCENES: Final = (
    Scene(
        "demo.pcapng",
        "",
        "rheaclient",
        "amqpscope demo.pcapng: every frame, its fields, its octets",
    ),
    Scene("demo.pcapng", "n n", "MSG-001 the client", "n: the next broken rule, and who broke it"),
    Scene(
        "demo.pcapng",
        "4",
        "Receivers read a message",
        "4: all findings, each with its rule explained",
    ),
    Scene("demo.pcapng", "2", "connection 1", "2: the state of both peers as of the frame"),
    Scene("demo.pcapng", "3", "client", "3: the ladder, where deliveries meet their outcomes"),
    Scene(
        "v10_proton-rabbitmq_nocredit.pcapng",
        "5",
        "later",
        "5: the consumer hangs: it never gave more credit",
    ),
    Scene(
        "v10_proton-rabbitmq_window.pcapng",
        "5",
        "later",
        "5: this one has credit, but a closed session window",
    ),
    Scene(
        "v091_pika_prefetch-rabbitmq.pcapng",
        "5",
        "prefetch reached",
        "5: AMQP 0-9-1: three messages without an ack",
    ),
    Scene(
        "v091_pika_hbdead-rabbitmq.pcap",
        "5",
        "Probable cause",
        "5: the client sent no heartbeats, so the broker hung up",
    ),
    Scene(
        "v10_proton-storybroker_rejected.pcapng",
        "r",
        "an order needs a price",
        "r: what a peer refused, and what it said",
    ),
    Scene(
        "v10_proton-storybroker_stolen.pcapng",
        "5",
        "This attach took it",
        "5: another consumer stole the link",
    ),
    Scene(
        "v10_proton-rabbitmq_badpassword.pcapng",
        "5",
        "login refused: auth",
        "5: the password is wrong",
    ),
    Scene("v10_proton-labbroker_tx.pcap", "r", "rolled back", "r: a transaction was rolled back"),
    Scene(
        "v10_proton-labbroker_tx.pcap",
        "6",
        "settled after",
        "6: what was slow; Enter goes to the slowest delivery",
    ),
    Scene(
        "v091_pika_basic-rabbitmq.pcap",
        "7",
        "messages",
        "7: where each message is, and what became of it",
    ),
    Scene(
        "v091_pika_basic-rabbitmq.pcap",
        "question_mark",
        "Everywhere",
        "?: all keys; : finds them by name",
    ),
)


async def pictures(capture: str, scenes: list[Scene]) -> AsyncIterator[str]:
    """The scenes of one capture as SVGs, one after the other."""
    app = Scope(Store(ReaderProcess(OpenedCapture(str(HERE.parent / capture)))))
    async with app.run_test(size=SIZE) as pilot:
        while not (app.store.done and app.frame):
            await pilot.pause(0.05)
        for scene in scenes:
            if scene.keys:
                await pilot.press(*scene.keys.split())
            async with asyncio.timeout(PATIENCE):
                while scene.words.replace(" ", "&#160;") not in app.export_screenshot():
                    await pilot.pause(0.1)
            await pilot.pause(0.7)
            yield FONTS.sub("", app.export_screenshot(simplify=True))


def scene_group(number: int, picture: str, caption: str) -> str:
    """A scene, with names of its own, which is in sight when its turn comes."""
    picture = SHELL.sub("", NAME.sub(f"s{number}", picture).strip())
    picture = CLIPPED.sub("", CLIPS.sub("", picture))
    delay = number * LASTS
    return (
        f'<g class="scene" style="animation-delay: {delay:g}s">\n{picture}\n'
        f'<text class="caption" x="{WIDTH / 2}" y="{HEIGHT + CAPTION - 20}">'
        f"{escape(caption)}</text>\n</g>\n"
    )


def played(groups: list[str]) -> str:
    """All scenes in one SVG, over and over."""
    total, share = LASTS * len(groups), 100 / len(groups)
    style = f"""
    .scene {{ visibility: hidden; animation: turn {total:g}s step-end infinite; }}
    .scene:first-of-type {{ visibility: visible; }}
    @keyframes turn {{ 0% {{ visibility: visible; }} {share:.4f}% {{ visibility: hidden; }} }}
    .caption {{ fill: #ffffff; font: bold 26px sans-serif; text-anchor: middle; }}
    """
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + CAPTION}" xmlns="http://www.w3.org/2000/svg">\n'
        f"<style>{style}</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT + CAPTION}" rx="8" fill="#0b0e13"/>\n'
        f"{''.join(groups)}</svg>\n"
    )


async def tour() -> str:
    """The whole tour."""
    groups: list[str] = []
    for capture, each in groupby(SCENES, key=lambda scene: scene.capture):
        scenes = [*each]
        captions = iter(scenes)
        async for picture in pictures(capture, scenes):
            groups.append(scene_group(len(groups), picture, next(captions).caption))
    return played(groups)


if __name__ == "__main__":
    (HERE / "tour.svg").write_text(asyncio.run(tour()), encoding="utf-8")
