"""What a new user meets: the cause is on the screen within three keys of opening the capture."""

import re

import pytest

STORIES = [
    # capture, keys, words that name the cause
    ("v10_proton-rabbitmq_nocredit", "5", [
        "✗  C←S  /amq/queue/orders", "no credit",
        "No credit (after 5 deliveries, 3 available) for 9 s: waiting for the client",
        "No delivery may begin until a flow grants link-credit.",
    ]),
    ("v10_proton-rabbitmq_window", "5", [
        "✗  C←S  /amq/queue/orders", "session window closed",
        "Session window closed (credit 97) for 7.99 s: waiting for the client",
        "No link of the session may send until a flow opens it.",
    ]),
    ("v10_proton-storybroker_rejected", "r", [
        "⊘    22",
        'the server: rejected: amqp:invalid-field "an order needs a price"',
    ]),
    ("v10_proton-storybroker_rejected", "5", [
        '1 message rejected by the server: amqp:invalid-field "an order needs a price"',
        "A field had a value that is not allowed.",
    ]),
    ("v10_proton-storybroker_stolen", "5", [
        "detached: stolen",
        "Detached by the server: amqp:link:stolen",
        "The link was attached again from elsewhere.", "⏎     33",
    ]),
    ("v10_proton-storybroker_stolen", "r", ["the server: detached: amqp:link:stolen"]),
    ("v10_proton-rabbitmq_badpassword", "r", ["⊘     5", "the server: login refused: auth"]),
    ("v10_proton-rabbitmq_badpassword", "5", [
        "Login refused by the server: auth (mechanism PLAIN, user ",
        "The server does not accept the name or the password.",
    ]),
    ("v10_proton-labbroker_tx", "r", [
        "⊘    43", "rollback: #9", "the client: rolled back: transaction 3417f354dc334ebf",
    ]),
    ("demo", "5", ["TCP reset by server", "Probable cause: MSG-001 in frame 24"]),
    ("v091_pika_hbdead-rabbitmq", "5", [
        "The server reset TCP without a close", "Probable cause: A09-CON-19", "heartbeat is 2 s",
    ]),
    ("v091_pika_prefetch-rabbitmq", "5", [
        "✗  C←S  orders", "prefetch reached",
        "Prefetch reached (3 of 3 unacked by the consumer, the oldest is #5)",
        "The server delivers no more until the client acknowledges.", "now 3 of 3",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("capture", "keys", "words"), STORIES, ids=lambda each: str(each)[:40])
def test_the_cause_is_on_the_screen(drive, root, capture, keys, words):
    async def script(driver):
        await driver.press(*keys.split())
        for each in words:
            await driver.until_shown(each)

    assert len(keys.split()) <= 3
    [path] = (root / "captures").glob(f"{capture}.pcap*")
    drive(path, script)


def test_enter_goes_to_where_the_link_was_taken_away(drive, root):
    async def script(driver):
        await driver.press("5")
        await driver.until_shown("detached: stolen")
        await driver.press("enter")
        return driver.app.frame

    assert drive(root / "captures" / "v10_proton-storybroker_stolen.pcapng", script) == 50


def test_what_was_refused_is_counted_at_the_top_and_told_when_it_is_opened(drive, root):
    async def script(driver):
        return driver.lines()

    lines = drive(root / "captures" / "v10_proton-storybroker_rejected.pcapng", script)
    assert "⊘ 1" in lines[0]
    assert "r: what was refused" in lines[-2]


def test_refusals_are_visited_in_turn(drive, root):
    async def script(driver):
        frames = []
        for key in ("r", "r", "r", "R"):
            await driver.press(key)
            frames.append(driver.app.frame)
        return frames

    frames = drive(root / "captures" / "v091_pika_chanerr-rabbitmq.pcap", script)
    assert frames == [17, 23, 23, 17]


def test_live_it_lasts_longer_though_nothing_passes(drive, root):
    async def script(driver):
        await driver.until(lambda: driver.app.store.count == 30, "all is read")
        await driver.press("5")
        await driver.until(lambda: lasts(driver) > 0, "it is shown for how long")
        before = lasts(driver)
        await driver.until(lambda: lasts(driver) > before, "it lasts longer")

    def lasts(driver):
        found = re.search(
            r"No credit \(after 5 deliveries, 3 available\) for (\d+) s", driver.text()
        )
        return 0 if found is None else int(found[1])

    capture = root / "captures" / "v10_proton-rabbitmq_nocredit.pcapng"
    drive(capture, script, read=False, follow=True)


def test_what_was_refused_is_told_beside_a_proxy_too(drive, root):
    async def script(driver):
        proxy = driver.lines()[-2]
        await driver.press("r")
        return proxy, driver.lines()[-2]

    capture = root / "captures" / "v10_proton-storybroker_rejected.pcapng"
    proxy, told = drive(capture, script, status=lambda: "127.0.0.1:5673, 1 connection")
    assert "127.0.0.1:5673" in proxy
    assert "the server: rejected" in told
