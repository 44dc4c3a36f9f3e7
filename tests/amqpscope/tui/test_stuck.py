"""The screen Why is it stuck: what holds each link, who has to move, and the plots."""

from amqpscope.tui.numbers import Course
from amqpscope.tui.screens.stuck import drought, short
from amqpscope.tui.widgets.plot import Slot, Value, drawn, rates, slots

SECOND = 1_000_000_000


def course(*values):
    made = Course(SECOND)
    for time, value in values:
        made.add(time * SECOND, value)
    return made


def opened(root, drive, script, capture="demo.pcapng", **options):
    async def run(driver):
        await driver.press("5")
        await driver.until_shown("/queue/rt" if capture == "demo.pcapng" else "connection")
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def test_each_link_has_what_held_it_and_who_has_to_move(root, drive):
    async def script(driver):
        return driver.lines()

    lines = opened(root, drive, script)
    held = next(line for line in lines if "s-rt" in line)
    assert "waiting for settlement" in held
    assert held.endswith("server")


def test_the_text_tells_since_when_and_plots_the_course(root, drive):
    async def script(driver):
        return driver.text()

    text = opened(root, drive, script, size=(100, 40))
    assert "Until then: waiting for settlement (8 unsettled, credit 65527)" in text
    for name in ("credit", "window", "unsettled", "rate"):
        assert any(line.startswith(name) for line in text.splitlines())


def test_enter_goes_to_the_frame_since_which_it_is_held(root, drive):
    async def script(driver):
        await driver.press("enter")
        return driver.app.entry.name, driver.app.frame

    assert opened(root, drive, script) == ("frames", 17)


def test_the_longest_drought_is_found_though_it_is_over():
    found = drought(course((1, 10), (2, 0), (5, 10), (6, 0), (7, 3)), 9 * SECOND)
    assert (found.start, found.duration) == (2 * SECOND, 3 * SECOND)


def test_a_drought_that_goes_on_lasts_until_now():
    found = drought(course((1, 10), (4, 0)), 9 * SECOND)
    assert (found.start, found.duration) == (4 * SECOND, 5 * SECOND)


def test_what_never_had_any_has_no_drought():
    assert drought(course((1, 0), (4, 0)), 9 * SECOND) is None


def test_a_value_stays_until_the_next():
    found = slots([Value(0, 4, 4, 4), Value(6, 1, 1, 1)], 0, 8, 4)
    assert found == [Slot(4, 4), Slot(4, 4), Slot(4, 4), Slot(1, 4)]


def test_a_dip_within_a_slot_is_not_lost():
    assert slots([Value(0, 9, 9, 9), Value(5, 0, 9, 9)], 0, 8, 4)[2] == Slot(0, 9)


def test_a_rate_is_what_was_added_per_second():
    found = rates([Value(0, 2, 2, 2), Value(3 * SECOND, 6, 6, 6)], 0, 4 * SECOND, 2)
    assert [slot.high for slot in found] == [1.0, 2.0]


def test_the_top_of_a_plot_is_its_highest_dot():
    assert drawn([Slot(0, 8), Slot(8, 8)], 8, 1) == ["⡏"]


def test_numbers_fit_the_legend():
    assert [short(each) for each in (0, 8, 2.5, 1000, 65535, 2147483647)] == [
        "0", "8", "2.5", "1000", "65.5k", "2.15G",
    ]  # fmt: skip
