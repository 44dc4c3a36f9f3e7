"""The screen Messages: where each message is, and its life over all connections."""

import pytest

from kit.exchange_broker import write
from kit.stories import AGAIN, LOST_ONE

OUTCOMES = "v10_proton-labbroker_outcomes.pcap"
OLD = "v091_amqpstorm-rabbitmq_all.pcapng.zst"


@pytest.fixture
def capture(tmp_path):
    """An exchange as a capture."""

    def make(text):
        path = tmp_path / "story.pcapng"
        write(text, "through", path, "ABC")
        return path

    return make


def test_a_lost_message_is_found_with_one_key_and_its_frame_with_two(drive, capture):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("1 lost?")
        text = driver.text()
        await driver.press("enter")
        await driver.until(lambda: driver.app.entry.name == "frames", "the frames are shown")
        return text, driver.app.store.row(driver.app.frame)

    text, row = drive(capture(LOST_ONE), script)
    lines = text.splitlines()
    assert lines[3].split()[:2] == ["✗", "lost?"]
    assert lines[3].endswith("m1")
    assert "It may be lost" in text
    assert "accepted by the broker" in text
    assert (row.name, row.connection) == ("transfer", 1)


def test_the_life_of_a_message_goes_over_all_its_connections(drive, capture):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("accepted by the consumer")
        return driver.text()

    text = drive(capture(AGAIN), script, size=(120, 40))
    assert "↻3" in text
    assert "It was redelivered 2 times." in text
    life = [line for line in text.splitlines() if line.startswith("⏎")]
    assert [line.split("C")[0].split()[-1] for line in life] == ["1"] * 2 + ["2"] * 6


@pytest.mark.parametrize(
    ("name", "frame", "frames"),
    [
        (OUTCOMES, 69, [29, 44, 57, 69, 79, 87]),
        (OLD, 64, [24, 25, 26, 27, 55, 56, 57, 62, 63, 64, 65, 69]),
    ],
)
def test_a_message_is_followed_from_any_of_its_frames(drive, root, name, frame, frames):
    async def script(driver):
        driver.app.select(frame)
        await driver.press("f")
        found = driver.app.frames.frames
        await driver.until(
            lambda: found.matches is not None and len(found.matches) >= len(frames),
            "its frames are shown",
        )
        text = driver.app.looking.filtering.text
        await driver.press("escape")
        return text, list(found.matches or []), driver.app.looking.filtering

    text, matches, after = drive(root / "captures" / name, script)
    assert text == f"message.frame == {frames[0]}"
    assert after is None or matches == frames


def test_a_frame_without_a_message_cannot_be_followed(drive, root):
    async def script(driver):
        driver.app.select(2)
        await driver.press("f")
        await driver.until_shown("frame 2 is not part of a message")
        return driver.app.looking.filtering

    assert drive(root / "captures" / OUTCOMES, script) is None


def test_the_message_at_the_cursor_is_followed_from_the_screen(drive, root):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("rejected")
        await driver.press("j", "f")
        await driver.until_shown("filter: message.frame ==")
        return driver.app.entry.name

    async def patient(driver):
        name = await script(driver)
        assert name == "frames"

    drive(root / "captures" / OUTCOMES, patient, size=(120, 40))


def test_the_order_changes_with_a_key(drive, root):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("the suspicious first")
        await driver.press("o")
        await driver.until_shown("; the most often redelivered first")
        return driver.app.view.messages.at

    listed = drive(root / "captures" / OUTCOMES, script, size=(120, 40))
    assert listed.message.redelivered == 2


def test_the_ladder_is_that_of_the_publisher(drive, capture):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("1 lost?")
        frame = driver.app.view.messages.at.message.frame
        await driver.press("L")
        await driver.until(lambda: driver.app.entry.name == "ladder", "the ladder is shown")
        return driver.app.frame == frame

    assert drive(capture(LOST_ONE), script)


def test_a_capture_without_messages_says_so(drive, root):
    async def script(driver):
        await driver.press("7")
        await driver.until_shown("no message was recognised")

    drive(root / "captures" / "v091_pika_hbdead-rabbitmq.pcap", script)


def test_what_is_delivered_again_is_marked_in_the_list_of_frames(drive, root):
    async def script(driver):
        frames = driver.app.frames.frames
        rows = [driver.app.store.row(number) for number in range(1, driver.app.store.count + 1)]
        marked = [row.number for row in rows if row.redelivered]
        return marked, [frames.sign(rows[number - 1]).text for number in marked]

    numbers, signs = drive(root / "captures" / OUTCOMES, script)
    assert numbers == [61, 62, 64, 75, 77, 78, 80, 81, 82]
    assert "↻" in signs
    numbers, signs = drive(root / "captures" / OLD, script)
    assert (numbers, signs) == ([63], ["↻"])
