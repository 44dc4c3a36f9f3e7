"""A capture that grows is shown as it grows; pausing loses nothing."""

import os

import pytest

DEMO = "captures/demo.pcapng"


@pytest.fixture
def growing(root, tmp_path):
    """A file with the first packets, and a function that appends the rest."""
    data = (root / DEMO).read_bytes()
    path = tmp_path / "run.pcapng"
    path.write_bytes(data[:2400])

    def grow():
        with open(path, "ab") as file:
            file.write(data[2400:])

    return path, grow


def test_new_frames_appear_and_the_cursor_follows(drive, growing):
    path, grow = growing

    async def script(driver):
        app = driver.app
        await driver.until(lambda: app.frame > 2, "the first frames are there")
        early = app.store.count
        assert "following" in driver.text()
        grow()
        await driver.until(lambda: app.frame == 25, "the last frame is selected")
        return early, driver.lines()

    early, lines = drive(path, script, follow=True, read=False)
    assert 2 < early < 25
    assert any(line.lstrip("✗!i *").startswith("25 ") for line in lines)
    assert "live 25/25" in lines[-2]


def test_pausing_shows_nothing_new_and_loses_nothing(drive, growing):
    path, grow = growing

    async def script(driver):
        app = driver.app
        await driver.until(lambda: app.frame > 2, "the first frames are there")
        await driver.press("p")
        shown = app.frames.frames.count
        grow()
        await driver.until(lambda: app.store.count == 25, "all is read")
        await driver.pilot.pause(0.3)
        paused = app.frames.frames.count, driver.text()
        await driver.press("p")
        await driver.until(lambda: app.frames.frames.count == 25, "all is shown")
        return shown, *paused

    shown, paused, text = drive(path, script, follow=True, read=False)
    assert shown == paused < 25
    assert "PAUSED" in text


def test_moving_ends_following_and_f_begins_it_again(drive, growing):
    path, grow = growing

    async def script(driver):
        app = driver.app
        await driver.until(lambda: app.frame > 2, "the first frames are there")
        await driver.press("k")
        stopped, frame = app.following, app.frame
        grow()
        await driver.until(lambda: app.frames.frames.count == 25, "all is shown")
        stayed = app.frame == frame
        await driver.press("F")
        await driver.until(lambda: app.frame == 25, "the last frame is selected")
        return stopped, stayed

    assert drive(path, script, follow=True, read=False) == (False, True)


def test_a_filter_goes_on_with_what_comes(drive, growing):
    path, grow = growing

    async def script(driver):
        app = driver.app
        await driver.until_shown("of ")
        before = len(app.looking.filtering.matches)
        grow()
        await driver.until_shown("10 of 25")
        return before, app.frames.frames.count

    before, count = drive(path, script, follow=True, read=False, where="transfer")
    assert before < count == 10


def test_nothing_is_left_when_the_screen_is_closed(drive, root):
    async def script(driver):
        await driver.press("s")
        await driver.type("attach")
        await driver.press("enter")
        await driver.until(lambda: driver.app.frame == 5, "the search has found something")
        return driver.app.store._reader.pid, driver.app.looking.searching._process.pid

    for pid in drive(root / DEMO, script):
        assert not os.path.exists(f"/proc/{pid}")
