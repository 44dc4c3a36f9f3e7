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
        await driver.press("j")  # what was slower to settle comes first
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


def test_a_plot_of_durations_is_as_high_as_it_may_be():
    found = Histogram()
    for duration in (1000, 2000, 4000):
        found.add(duration)
    for height in (3, 9):
        assert len([*latencies(found, 80, height)]) == height + 1


def test_enter_goes_to_the_slowest_delivery(root, drive):
    async def script(driver):
        lines = [each for each in driver.app.view.text.lines if each.frame]
        await driver.press("enter")
        await driver.until(lambda: driver.app.frame == 43, "the slowest delivery")
        return ["".join(text for text, _ in each.words) for each in lines]

    lines = opened(root, drive, script, "v10_proton-labbroker_tx.pcap", "p90 to max")
    assert lines[0].startswith("⏎     20 p50          934 us  transfer declare:")
    assert lines[1].startswith("⏎     43 p90 to max  1.86 ms  transfer rollback:")
    assert len(lines) == 2


def test_a_connection_has_the_counts_of_its_transactions(root, drive):
    async def script(driver):
        await driver.press("j", "j", "j")
        await driver.until_shown("transactions: 2 committed, 1 rolled back")

    opened(root, drive, script, "v10_proton-labbroker_tx.pcap", "p90 to max", size=(120, 40))
