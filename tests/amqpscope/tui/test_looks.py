"""Columns, colours, times and sizes: chosen on the screen, kept in profiles."""

import pytest
from textual.events import MouseMove

from amqpscope.filter import FilterError
from amqpscope.tui.colours import parse_rules
from amqpscope.tui.columns import columns_text, parse_columns
from amqpscope.tui.profiles import (
    Profile,
    ProfileError,
    directory,
    load_profile,
    names,
    save_profile,
)

DEMO = "captures/demo.pcapng"
DRAIN = "captures/v10_proton-labbroker_drain.pcap"
PIKA = "captures/v091_pika_basic-rabbitmq.pcap"
COLUMNS = "frame delivery.id:4 from name:9 summary"


async def answer(driver, key, text):
    await driver.press(key)
    await driver.type(text)
    await driver.press("enter")


def test_columns_and_colours_are_chosen_and_kept(drive, root):
    async def script(driver):
        await driver.press("v")
        await driver.type("frame delivery.ta")
        assert "Tab: delivery.tag" in driver.text()
        await driver.press("tab")
        assert driver.app.prompt.answer.value == "frame delivery.tag"
        await driver.press("escape")
        await answer(driver, "v", COLUMNS)
        await driver.until_shown("columns saved in profile default")
        lines = driver.lines()
        assert lines[1].split() == ["frame", "id", "name", "summary"]
        assert next(line for line in lines if line.split()[:1] == ["14"]).split()[1:4] == [
            "0", "C→S", "transfer",
        ]  # fmt: skip
        assert any(line.endswith("…") for line in lines[2:12])
        await answer(driver, "V", 'red transfer && body contains ";"; blue transfer')
        await driver.until_shown("colours saved")
        frames = driver.app.frames.frames
        assert frames.asker.values(14).colour == "blue"
        assert frames.line(13, 80)[4].style == frames.style_of("frame--blue")
        await answer(driver, "P", "work")
        await driver.until_shown("saved as profile work")
        await answer(driver, "v", "")
        await driver.until_shown("columns saved in profile work")
        await answer(driver, "P", "default")
        await driver.until_shown("profile default")
        return driver.lines()[1].split()

    assert drive(root / DEMO, script, size=(80, 50)) == ["frame", "id", "name", "summary"]
    assert names() == ["default", "work"]
    assert columns_text(load_profile("default").columns) == COLUMNS
    assert load_profile("work").columns == Profile().columns


def test_frames_that_are_replayed_get_their_columns_too(drive, root):
    profile = Profile(columns=parse_columns("frame name queue:20 routing-key:20"))

    async def script(driver):
        await driver.until(
            lambda: any(line.split()[1:3] == ["queue.declare", "p1"] for line in driver.lines()),
            "the queue is shown",
        )

    drive(root / PIKA, script, profile=profile)


def test_times_count_from_where_the_user_says_and_links_have_addresses(drive, root):
    async def script(driver):
        found = []
        rows = {row.name: row for row in map(driver.app.store.row, range(7, 23))}
        assert rows["attach"].place == rows["disposition"].place == "drain"
        for key in ("ctrl+t", "t", "t", "t", "t", "ctrl+t"):
            await driver.press(*(["g", "j", "j"] if key == "ctrl+t" else []), key)
            lines = driver.lines()
            found.append((lines[1].split()[1], lines[2].split()[1]))
        return found

    titles, times = zip(*drive(root / DRAIN, script), strict=True)
    assert titles == ("since", "delta", "UTC", "local", "since", "time")
    assert float(times[0]) < 0 <= float(times[-1])
    assert times[1] == "0.0000"


def test_panes_are_sized_by_keys_and_by_dragging(drive, root):
    async def script(driver):
        app = driver.app
        view = app.frames
        heights = [view.frames.size.height]
        for key in ("plus", "minus", "minus"):
            await driver.press(key)
            heights.append(view.frames.size.height)
        line = view.query_one("#below").region.y
        await driver.pilot.mouse_down(offset=(5, line))
        await driver.pilot._post_mouse_events([MouseMove], offset=(5, line + 6))
        await driver.pilot.mouse_up(offset=(5, line + 6))
        await driver.pilot.pause()
        heights.append(view.frames.size.height)
        before = view.octets.size.width
        await driver.press("less_than_sign")
        wider = view.octets.size.width
        await driver.press("4")
        await driver.until(lambda: app.view.id == "findings", "findings are shown")
        await driver.pilot.pause(0.2)
        shares = [app.view.rows.size.height]
        await driver.press("plus", "plus")
        shares.append(app.view.rows.size.height)
        line = app.view.text.region.y
        await driver.pilot.mouse_down(offset=(5, line))
        await driver.pilot._post_mouse_events([MouseMove], offset=(5, line - 8))
        await driver.pilot.mouse_up(offset=(5, line - 8))
        await driver.pilot.pause()
        shares.append(app.view.rows.size.height)
        assert shares[2] < shares[0] < shares[1]
        return heights, before, wider

    (first, larger, _, smaller, dragged), before, wider = drive(root / DEMO, script, size=(120, 40))
    assert smaller < first < larger
    assert dragged >= smaller + 5
    assert wider > before
    assert load_profile("default").fields_share


@pytest.mark.parametrize(
    ("parse", "text", "message", "place"),
    [
        (parse_columns, "frame frme", "there is no field 'frme'", 6),
        (parse_columns, "frame:0", "expected a width of 1 to 200", 6),
        (parse_columns, "message.state", "follows messages over connections", 0),
        (parse_rules, "red transfer; pnk flow", "expected a colour: red,", 14),
        (parse_rules, "red", "expected a filter behind the colour", 0),
        (parse_rules, "red transfr", "there is no field 'transfr'", 4),
    ],
)
def test_what_is_wrong_is_pointed_at(parse, text, message, place):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert message in caught.value.message
    assert caught.value.position == place


def test_a_profile_that_cannot_be_used_says_why(tmp_path):
    with pytest.raises(ProfileError, match="there is no profile 'x'"):
        load_profile("x", must_exist=True)
    with pytest.raises(ProfileError, match="not the name of a profile"):
        save_profile(Profile("../x"))
    directory().mkdir(parents=True)
    (directory() / "bad.toml").write_text("columns = [")
    with pytest.raises(ProfileError, match=r"bad\.toml: "):
        load_profile("bad")
    (directory() / "bad.toml").write_text('columns = "nonsense"\n')
    with pytest.raises(ProfileError, match="there is no field 'nonsense'"):
        load_profile("bad")
