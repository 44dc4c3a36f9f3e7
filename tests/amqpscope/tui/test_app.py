"""Every key does what the help says."""

import os

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.tui.app import Scope
from amqpscope.tui.connections import Connections
from amqpscope.tui.help import Help
from amqpscope.tui.screens import screens
from amqpscope.tui.widgets.fieldtree import FieldTree
from amqpscope.tui.widgets.framelist import FrameList
from amqpscope.tui.widgets.hex_view import HexView
from amqpscope.tui.widgets.prompt import Prompt
from amqpscope.tui.widgets.virtual_list import VirtualList

DEMO = "captures/demo.pcapng"
KEYS = "j k g G Tab Enter Esc q / n N m F p : ? \\"


def test_frames_are_listed_and_the_first_is_shown_in_full(drive, root):
    async def script(driver):
        return driver.lines()

    lines = drive(root / DEMO, script)
    assert "1 Frames" in lines[0]
    assert lines[2].split()[:4] == ["1", "0.0000", "1", "C→S"]
    assert any("frame 1, 8 octets, from the client" in line for line in lines)
    assert lines[-2].endswith("1/25")


MOVES = {
    # keys pressed at frame 1: the frame that is selected then
    "j j": 3, "j k": 1, "down up": 1, "G": 25, "end home": 1, "pagedown": 11, "ctrl+f ctrl+b": 1,
    "G pageup": 15, "ctrl+d": 6, "G ctrl+u": 20, "n": 11, "G N": 24, "n n": 24,
}  # fmt: skip


def test_keys_move_in_the_list(drive, root):
    async def script(driver):
        found = {}
        for keys in MOVES:
            await driver.press("g", *keys.split())
            found[keys] = driver.app.frame
        return found

    assert drive(root / DEMO, script) == MOVES


def test_a_filter_leaves_its_frames_and_escape_brings_all_back(drive, root):
    async def script(driver):
        app = driver.app
        await driver.press("slash")
        await driver.type("transfer")
        await driver.press("enter")
        await driver.until_shown("10 of 25")
        shown = [app.frames.frames.number_at(at) for at in range(app.frames.frames.count)]
        await driver.press("escape")
        return shown, app.frames.frames.count

    shown, count = drive(root / DEMO, script)
    assert len(shown) == 10
    assert count == 25


def test_what_a_key_announced_goes_with_the_next_key(drive, root):
    async def script(driver):
        await driver.press("M")
        await driver.until_shown("no frame is marked")
        await driver.press("m")
        return driver.text()

    assert "no frame is marked" not in drive(root / DEMO, script)


@pytest.mark.parametrize("theme", ["amqpscope-dark", "amqpscope-light"])
def test_grey_text_is_as_legible_as_the_rest_at_the_cursor(drive, root, theme):
    async def script(driver):
        app = driver.app
        app.theme = theme
        await driver.pilot.pause()
        frames = app.frames.frames
        lines = [[*frames.render_line(y)] for y in (1, 2)]
        words = [next(each for each in line if "AMQP 1.0.0" in each.text) for line in lines]
        return [word.style.color for word in words], frames.style_of("").color

    (selected, other), plain = drive(root / DEMO, script)
    assert selected == plain
    assert other != plain


def test_the_process_of_a_filter_gives_way_to_what_draws(drive, root):
    async def script(driver):
        app = driver.app
        await driver.press("slash")
        await driver.type("transfer")
        await driver.press("enter")
        await driver.until(lambda: app.looking.filtering is not None, "the filter is there")
        process = app.looking.filtering._process
        await driver.until(lambda: app.looking.filtering.seen, "it looks at frames")
        return os.getpriority(os.PRIO_PROCESS, process.pid) - os.getpriority(os.PRIO_PROCESS, 0)

    assert drive(root / "captures" / "demo.pcapng", script) == 5


def test_a_filter_that_cannot_be_understood_says_why_while_it_is_typed(drive, root):
    async def script(driver):
        await driver.press("slash")
        await driver.type("transfr && settled")
        wrong = driver.text()
        await driver.press("enter")
        return wrong, driver.text()

    for text in drive(root / DEMO, script):
        assert "^^^^^^^ there is no field 'transfr'; did you mean transfer?" in text


def test_tab_completes_words_of_a_filter(drive, root):
    async def script(driver):
        await driver.press("slash", *"dispo", "tab")
        return driver.app.prompt.answer.value

    assert drive(root / DEMO, script) == "disposition"


def test_search_goes_to_the_next_and_the_one_before(drive, root):
    async def script(driver):
        app, frames = driver.app, []
        await driver.press("s")
        await driver.type("attach")
        await driver.press("enter")
        await driver.until(lambda: app.frame == 5, "the first is found")
        for key in ("n", "n", "N"):
            await driver.press(key)
            frames.append(app.frame)
        return frames

    assert drive(root / DEMO, script) == [6, 9, 6]


def test_a_place_can_be_a_frame_or_a_time(drive, root):
    async def script(driver):
        app, frames = driver.app, []
        for place in ("17", "13ms", "00:04:43.98"):
            await driver.press("ctrl+g")
            await driver.type(place)
            await driver.press("enter")
            frames.append(app.frame)
        await driver.press("ctrl+g")
        await driver.type("99")
        await driver.press("enter")
        return frames, driver.text()

    frames, text = drive(root / DEMO, script)
    assert frames == [17, 12, 10]
    assert "there is no frame 99: the last is 25" in text


def test_marks_and_notes_are_shown(drive, root):
    async def script(driver):
        await driver.press("j", "m", "j", "semicolon")
        await driver.type("look here")
        await driver.press("enter", "g", "M")
        first = driver.app.frame
        await driver.press("M")
        return first, driver.app.frame, driver.lines()

    first, second, lines = drive(root / DEMO, script)
    assert (first, second) == (2, 3)
    assert lines[3].startswith(" *")
    assert lines[4].startswith(" »")
    assert "» look here" in lines[-2]


def test_frames_that_are_shown_can_be_saved(drive, root, tmp_path):
    out = tmp_path / "saved.pcapng"

    async def script(driver):
        await driver.press("slash")
        await driver.type("transfer")
        await driver.press("enter")
        await driver.until_shown("10 of 25")
        await driver.press("w")
        driver.app.prompt.put(str(out), "")
        await driver.press("enter")
        await driver.until(out.exists, "the file is written")
        await driver.until_shown("10 frames written")

    drive(root / DEMO, script)
    with Pieces(str(out)) as pieces:
        assert [piece for batch in pieces for piece in batch]
        assert pieces.capture.problem is None
        assert pieces.capture.packets == 3 + 10


def test_the_help_lists_every_key(drive, root):
    async def script(driver):
        await driver.press("question_mark")
        return [key for key, _ in driver.app.screen.query_one("HelpText").lines]

    keys = {key for line in drive(root / DEMO, script) for key in line.split()}
    for wanted in KEYS.split():
        assert wanted in keys


def test_every_binding_has_its_action():
    views = [entry.load() for entry in screens()]
    for owner in (
        Scope,
        Help,
        Connections,
        VirtualList,
        FrameList,
        FieldTree,
        HexView,
        Prompt,
        *views,
    ):
        for binding in owner.BINDINGS:
            name = binding.action.partition("(")[0]
            assert hasattr(owner, f"action_{name}"), (owner, name)


def test_a_number_in_the_palette_is_a_frame(drive, root):
    async def script(driver):
        await driver.press("colon", "1", "2")
        await driver.until_shown("Go to frame 12")
        await driver.press("enter")
        await driver.until(lambda: driver.app.frame == 12, "the frame is selected")

    drive(root / DEMO, script)


def test_light_and_dark(drive, root):
    async def script(driver):
        themes = [driver.app.theme]
        await driver.press("T")
        return [*themes, driver.app.theme]

    assert drive(root / DEMO, script) == ["amqpscope-dark", "amqpscope-light"]


def test_what_cannot_be_read_is_told_in_one_line(drive, tmp_path):
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"this is no capture at all")

    async def script(driver):
        await driver.until_shown("not a capture")
        return driver.app.store.error

    assert drive(bad, script, read=False).startswith("not a capture: begins with 74 68 69 73")


def test_leaving_a_proxy_wants_q_twice(drive, root):
    async def script(driver):
        await driver.press("q")
        still = driver.app.is_running
        asked = driver.text()
        await driver.press("q")
        return still, asked, driver.app._exit

    still, asked, left = drive(root / DEMO, script, status=lambda: "127.0.0.1:5673, 1 connection")
    assert still
    assert "q again" in asked
    assert left


def test_the_connections_are_listed_and_one_can_be_chosen(drive, root):
    async def script(driver):
        app = driver.app
        await driver.press("C")
        await driver.until_shown("127.0.0.1:52778 -> 127.0.0.1:5672")
        text = driver.text()
        await driver.press("j", "enter")
        await driver.until(lambda: app.looking.filtering is not None, "the filter is there")
        await driver.until_shown("103 of 609")
        return text, app.looking.filtering.text

    path = root / "captures/mixed_091-and-10_rabbitmq.pcap"
    text, chosen = drive(path, script, size=(120, 30))
    assert "amqp-0-9-1" in text
    assert chosen == "connection == 2"


@pytest.mark.parametrize(("key", "way"), [("]", 1), ("[", -1)])
def test_brackets_leave_for_another_of_several_captures(drive, root, key, way):
    async def script(driver):
        await driver.press(key)
        return driver.app.return_value

    assert drive(root / DEMO, script, place="1/2") == way


def test_brackets_say_when_there_is_no_other_capture(drive, root):
    async def script(driver):
        await driver.press("]")
        return driver.text()

    assert "only one capture was given" in drive(root / DEMO, script)


def test_a_message_goes_when_another_frame_is_selected(root, drive):
    async def script(driver):
        await driver.press("R")
        await driver.until_shown("no refusal before frame 1")
        await driver.press("j")
        await driver.until(lambda: not driver.app.message, "no message")
        await driver.press("ctrl+g")
        await driver.type("nonsense")
        await driver.press("enter")
        await driver.until_shown("'nonsense' is not a frame or a time")
        await driver.press("slash")
        await driver.type("transfer")
        await driver.press("enter")
        await driver.until_shown("filter: transfer")

    drive(root / DEMO, script)
