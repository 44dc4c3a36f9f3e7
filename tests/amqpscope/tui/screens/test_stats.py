"""The screen Stats: counts, rates and latencies."""

from amqpscope.insight.counters import Histogram
from amqpscope.tui.screens.stats import latencies


def opened(root, drive, script, capture, words, **options):
    async def run(driver):
        await driver.press("6")
        await driver.until_shown(words)
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def test_addresses_come_first_then_each_connection_with_its_links(root, drive):
    async def script(driver):
        return [(one.key[0], one.depth) for one in driver.app.view.counts.counted]

    lines = opened(root, drive, script, "demo.pcapng", "/queue/rt")
    assert lines == [
        ("address", 0), ("address", 0), ("connection", 0), ("connection", 1), ("connection", 1),
    ]  # fmt: skip


def test_the_numbers_are_those_of_the_command(root, drive):
    async def script(driver):
        return driver.text()

    text = opened(root, drive, script, "demo.pcapng", "/queue/rt", size=(120, 40))
    assert "9 deliveries, 9 transfers" in text
    assert "1 accepted" in text


def test_a_connection_tells_of_its_frames(root, drive):
    async def script(driver):
        await driver.press("j", "j")
        await driver.until_shown("containers rheaclient -> lab@vm")
        return driver.text()

    assert "transfer 10" in opened(root, drive, script, "demo.pcapng", "/queue/rt", size=(120, 40))


def test_queues_and_exchanges_of_0_9_1_are_counted_too(root, drive):
    async def script(driver):
        return {one.link.kind for one in driver.app.view.counts.counted if one.link is not None}

    kinds = opened(root, drive, script, "v091_pika_basic-rabbitmq.pcap", "connection 1")
    assert kinds == {"exchange", "queue"}


def test_two_durations_are_not_worth_a_plot():
    found = Histogram()
    for duration in (1000, 2000):
        found.add(duration)
    assert [*latencies(found, 80)] == []
    found.add(4000)
    assert len([*latencies(found, 80)]) == 4
