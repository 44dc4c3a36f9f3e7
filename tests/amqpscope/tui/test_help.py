"""The help lists every key that does something, and every key that it lists does."""

import shutil

import pytest

from amqpscope.tui.help import hanging, key_name
from amqpscope.tui.screens import screens
from amqpscope.tui.widgets.virtual_list import VirtualList

NAMES = [entry.name for entry in screens()]
ELSEWHERE = {"q", "escape", "colon", "question_mark", "right_square_bracket", "left_square_bracket"}
"""Keys that would end the test or cover the screen; other tests press them."""
TEXTUAL = {"ctrl+q", "ctrl+c", "super+c"}
"""Keys of the framework itself: to quit, and to copy what the mouse has marked."""
TABS = {"tab", "shift+tab"}
"""They go to the next pane, of which some screens have one only."""


def entry_of(name):
    return next(entry for entry in screens() if entry.name == name)


def panes(app):
    """The panes of the screen that can have the keys."""
    return [pane for pane in app.view.query(VirtualList) if pane.can_focus]


async def settled(driver, name):
    """Open a screen and wait until its lists have something."""
    await driver.press(entry_of(name).key)
    await driver.until(lambda: driver.app.view.id == name, "the screen is there")
    await driver.until(lambda: panes(driver.app)[0].count, "its list has lines")


async def focus(driver, pane):
    """Give the keys to a pane, also to one that is out of sight."""
    pane.display = True
    pane.focus()
    await driver.until(lambda: pane.has_focus, f"{pane} has the keys")


@pytest.mark.parametrize("name", NAMES)
def test_every_key_that_works_is_listed(drive, root, name):
    async def script(driver):
        app = driver.app
        await settled(driver, name)
        working = set()
        for pane in panes(app):
            await focus(driver, pane)
            working |= set(app.screen.active_bindings)
        working -= TEXTUAL | (TABS if len(panes(app)) == 1 else set())
        await driver.press("question_mark")
        lines = [key for key, _ in app.screen.query_one("HelpText").lines]
        return working, {key for line in lines for key in line.split()}

    working, listed = drive(root / "captures/demo.pcapng", script)
    assert {key_name(key) for key in working} <= listed


@pytest.mark.parametrize("name", NAMES)
def test_every_listed_key_runs_its_action(drive, root, name, tmp_path, monkeypatch):
    """Those of the screen and its panes; what is the same everywhere on the first screen only."""
    monkeypatch.chdir(tmp_path)
    capture = shutil.copy(root / "captures/demo.pcapng", tmp_path)

    async def script(driver):
        app, ran, wanted = driver.app, [], []
        run_action = app.run_action

        async def noted(action, default_namespace=None, *given):
            done = await run_action(action, default_namespace, *given)
            ran.append((str(action), done))
            return done

        monkeypatch.setattr(app, "run_action", noted)
        for number in range(len(panes_of := await opened_panes(driver, name))):
            owners = [type(panes_of[number])] + ([] if number else [type(app.view)])
            owners += [VirtualList, type(app)] if name == "frames" and not number else []
            for owner in owners:
                for binding in owner.__dict__.get("BINDINGS", ()):
                    for key in (key for key in binding.key.split(",") if key not in ELSEWHERE):
                        await back(driver, name, number)
                        ran.clear()
                        await driver.pilot.press(key)
                        wanted.append((key, any(done for _, done in ran), app._exception))
        return wanted

    for key, done, fault in drive(capture, script):
        assert done, key
        assert fault is None


async def opened_panes(driver, name):
    await settled(driver, name)
    return panes(driver.app)


async def back(driver, name, number):
    """Whatever a key did, the pane of the screen has the keys again."""
    app = driver.app
    while len(app.screen_stack) > 1:
        app.pop_screen()
        await driver.pilot.pause()
    if app.prompt.open:
        await driver.press("escape")
    if app.view.id != name:
        app.open_screen(name)
        await driver.until(lambda: app.view.id == name, "the screen is back")
    pane = panes(app)[number]
    if not pane.has_focus:
        await focus(driver, pane)


def test_keys_that_only_some_screens_have_are_listed_there(drive, root):
    wanted = {"state": "Close, or go to what contains it", "findings": "Open or close",
              "ladder": "Write it as Mermaid", "stuck": "Go to the frame"}  # fmt: skip

    async def script(driver):
        found = {}
        for name in wanted:
            await settled(driver, name)
            await driver.press("question_mark")
            found[name] = [text for _, text in driver.app.screen.query_one("HelpText").lines]
            await driver.press("escape")
        return found

    found = drive(root / "captures/demo.pcapng", script)
    for name, text in wanted.items():
        assert text in found[name]


def test_the_help_fits_80_columns_and_scrolls(drive, root):
    async def script(driver):
        await driver.press("question_mark")
        await driver.until_shown("keys (Esc closes)")
        text = driver.app.screen.query_one("HelpText")
        await driver.until(lambda: text.lines, "the lines are broken")
        longest = max(len(key) + len(words) for key, words in text.lines)
        before = text.scroll_offset.y
        await driver.press("down", "down", "down")
        moved = text.scroll_offset.y - before
        await driver.press("G")
        await driver.until_shown("time.gap > 5s")
        return longest, moved

    longest, moved = drive(root / "captures/demo.pcapng", script, size=(80, 24))
    assert longest <= 77
    assert moved == 3


def test_what_is_beside_a_name_is_broken_in_its_column():
    line = "  message.frame       the numbers of their frames so far: message.frame == 118 is it"
    assert hanging(line, 60) == [
        "  message.frame       the numbers of their frames so far:",
        "                      message.frame == 118 is it",
    ]
    assert hanging("short", 60) == ["short"]


def test_keys_are_named_as_they_are_on_the_keyboard():
    keys = [binding.key for name in NAMES for binding in entry_of(name).load().BINDINGS]
    shown = {key_name(each) for key in keys for each in key.split(",")}
    assert not [name for name in shown if "_" in name]
    assert {"+", "-", "<", ">"} <= shown


def test_the_help_says_in_full_what_the_line_at_the_bottom_only_names(drive, root):
    async def script(driver):
        below = driver.lines()[-1]
        await driver.press("question_mark")
        return below, [text for _, text in driver.app.screen.query_one("HelpText").lines]

    below, helped = drive(root / "captures/demo.pcapng", script)
    assert "/ Filter" in below
    assert "Filter: show only frames that match" in helped
