"""Drives the application as a user does: `drive(capture, script)`; and reads its screen."""

import asyncio
import time

import pytest

from amqpscope.tui.app import Scope
from amqpscope.tui.opening import OpenedCapture, ReaderProcess
from amqpscope.tui.proxy_app import ProxyScope
from amqpscope.tui.store import Store

PATIENCE = 30


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path_factory):
    """Nothing of the user's terminal and profiles changes what is drawn."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)


class Driver:
    """The application in a terminal of some size, with someone at the keys."""

    def __init__(self, app, pilot):
        self.app = app
        self.pilot = pilot

    async def press(self, *keys):
        """Press keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text):
        """Put a text into the prompt."""
        self.app.prompt.put(text, "")
        await self.pilot.pause()

    async def until(self, condition, what):
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited {PATIENCE} s until {what}:\n{self.text()}"
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def until_shown(self, words):
        """Wait until the screen shows some words."""
        await self.until(lambda: words in self.text(), f"{words!r} is shown")

    def lines(self):
        """The rows of the screen as text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self):
        """The whole screen as text."""
        return "\n".join(self.lines())


@pytest.fixture
def drive():
    """`drive(path, script, size=(80, 24))`: run an async `script(driver)` when all is read."""

    def run(path, script, *, size=(80, 24), read=True, **options):
        where = options.pop("where", "")
        status = options.pop("status", None)
        place = options.pop("place", "")
        remote = options.pop("remote", None)
        profile = options.pop("profile", None)

        async def main():
            store = Store(ReaderProcess(OpenedCapture(str(path), **options)))
            shown = {"where": where, "status": status, "place": place, "profile": profile}
            app = ProxyScope(store, remote, **shown) if remote else Scope(store, **shown)
            async with app.run_test(size=size) as pilot:
                driver = Driver(app, pilot)
                if read:
                    await driver.until(lambda: app.store.done and app.frame, "it is read")
                    await driver.pilot.pause(0.1)
                return await script(driver)

        return asyncio.run(main())

    return run
