"""The screen Why is it stuck: what holds each link, who is waited for, and the plots."""

import pytest

from amqpscope.insight.series import Series
from amqpscope.tui.widgets.plot import Axis, Slot, braille_lines, rates, short, slots

SECOND = 1_000_000_000


def course(*values):
    made = Series()
    for time, value in values:
        made.add(int(time * SECOND), value)
    return made


def stuck(root, drive, script, capture="demo.pcapng", **options):
    async def run(driver):
        await driver.press("5")
        await driver.until_shown("/queue/rt" if capture == "demo.pcapng" else "connection")
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def test_a_link_that_is_over_has_who_ended_it_and_waits_for_nobody(root, drive):
    async def script(driver):
        return driver.lines()

    lines = stuck(root, drive, script)
    held = next(line for line in lines if "s-rt" in line)
    assert held.rstrip().endswith("TCP reset by server")


def test_how_it_ended_is_not_cut_beside_empty_columns(root, drive):
    async def script(driver):
        return driver.lines()

    lines = stuck(root, drive, script, "v10_proton-rabbitmq_outcomes.pcap", size=(80, 24))
    assert any(line.rstrip().endswith("session ended: invalid-field") for line in lines)


def test_the_text_tells_since_when_and_plots_the_course(root, drive):
    async def script(driver):
        return driver.text()

    text = stuck(root, drive, script, size=(100, 40))
    assert "Until then: waiting for settlement (8 unsettled, credit 65527)" in text
    for name in ("credit", "window", "unsettled", "rate"):
        assert any(line.startswith(name) for line in text.splitlines())


def test_enter_goes_to_the_last_frame_that_was_received_before_a_reset(root, drive):
    async def script(driver):
        await driver.press("enter")
        return driver.app.entry.name, driver.app.frame

    assert stuck(root, drive, script) == ("frames", 25)


EIGHT = Axis(SECOND, 9 * SECOND, 4)


def test_a_value_stays_until_the_next():
    found = slots(course((1, 4), (7, 1)).points(), EIGHT)
    assert found == [Slot(4, 4), Slot(4, 4), Slot(4, 4), Slot(1, 4)]


def test_a_dip_within_a_slot_is_not_lost():
    found = slots(course((1, 9), (5, 0), (6, 9)).points(), EIGHT)
    assert found[2] == Slot(0, 9)


def test_there_is_no_value_where_none_is_known():
    found = slots(course((3, 2), (5, None)).points(), EIGHT)
    assert found == [None, Slot(2, 2), Slot(2, 2), None]


def test_a_rate_is_what_came_per_second():
    made = course((1, 0), (2, 0), (5.5, 0), (6, 0), (6, 0), (6, 0))
    assert rates(made.points(), EIGHT) == [1.0, 0.0, 2.0, 0.0]


def test_events_of_a_coarse_series_are_spread_over_their_time():
    made = Series(slices=2)
    for time in range(1, 9):
        made.add(time * SECOND, 0)
    found = rates(made.points(), EIGHT)
    assert sum(found) * 2 == 8
    assert 0 not in found


def test_what_came_after_the_end_of_the_axis_is_no_spike():
    made = Series()
    for second in range(12):
        made.add(second * SECOND, 1)
    found = rates(made.points(), EIGHT)
    assert found[1:] == [1.0, 1.0, pytest.approx(1.0, abs=0.3)]


def test_a_number_that_never_changed_is_a_line_and_no_plot(opened, drive):
    text = """
    client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
            initial-delivery-count=0
    server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
    server: flow next-incoming-id=0 incoming-window=5 next-outgoing-id=0 outgoing-window=100
            handle=0 delivery-count=0 link-credit=2
    client: detach handle=0 closed=true
    server: detach handle=0 closed=true
    """

    async def script(driver):
        await driver.press("5")
        await driver.until_shown("2 all the time")
        await driver.until_shown("nothing was sent")

    drive(opened(text), script)


def test_the_top_of_a_plot_is_its_highest_dot():
    assert braille_lines([Slot(0, 8), Slot(8, 8)], 8, 1) == ["⡏"]


def test_numbers_fit_the_legend():
    assert [short(each) for each in (0, 8, 2.5, 1000, 65535, 2147483647)] == [
        "0", "8", "2.5", "1000", "65.5k", "2.15G",
    ]  # fmt: skip
