"""The screen State: both peers as of the selected frame, and what the frame changed."""

CAPTURE = "demo.pcapng"


def opened(root, drive, script, number, capture=CAPTURE, **options):
    async def run(driver):
        driver.app.select(number)
        await driver.press("2")
        await driver.until_shown(f"after frame {number}")
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def line_of(driver, words):
    return next((line for line in driver.lines() if words in line), "")


def test_a_link_shows_what_each_side_knows_of_it(root, drive):
    async def script(driver):
        return driver.text()

    text = opened(root, drive, script, 15, size=(120, 50))
    assert "client <- server  /queue/rt" in text
    for words in ("granted 1000", "999 left", "snd-settle-mode", "source", "1 of 1 deliveries"):
        assert words in text


def test_what_the_frame_changed_is_marked_with_what_it_was(root, drive):
    async def script(driver):
        return line_of(driver, "next-outgoing-id"), line_of(driver, "incoming-window")

    changed, same = opened(root, drive, script, 15)
    assert changed.startswith("●")
    assert "1 (was 0)" in changed
    assert not same.startswith("●")


def test_the_state_moves_along_with_the_frame(root, drive):
    async def script(driver):
        await driver.press("J")
        await driver.until_shown("after frame 16")
        there = line_of(driver, "unsettled")
        await driver.press("K")
        await driver.until_shown("after frame 15")
        return there, driver.app.frame

    there, frame = opened(root, drive, script, 15)
    assert "0 (was 1)" in there
    assert frame == 15


def test_enter_on_what_holds_a_link_goes_to_the_frame_since_which_it_does(root, drive):
    async def script(driver):
        tree = driver.app.view.tree_of_state
        place = next(at for at, line in enumerate(tree.flat) if line.node.style == "held")
        tree.go(place)
        said = tree.flat[place].text
        await driver.press("enter")
        return said, driver.app.entry.name, driver.app.frame

    said, screen, frame = opened(root, drive, script, 16, size=(100, 40))
    assert said.startswith("idle (credit 65535)")
    assert "since frame 14" in said
    assert (screen, frame) == ("frames", 14)


def test_lines_can_be_closed_and_stay_closed_at_other_frames(root, drive):
    async def script(driver):
        tree = driver.app.view.tree_of_state
        tree.go(next(at for at, line in enumerate(tree.flat) if "session" in line.node.label))
        await driver.press("space")
        closed = driver.text()
        await driver.press("J")
        await driver.until_shown("after frame 16")
        return closed, driver.text()

    for text in opened(root, drive, script, 15):
        assert "next-outgoing-id" not in text


def test_another_connection_can_be_opened_as_of_the_same_frame(root, drive):
    async def script(driver):
        tree = driver.app.view.tree_of_state
        tree.go(next(at for at, line in enumerate(tree.flat)
                     if line.node.key == "connection 2"))  # fmt: skip
        await driver.press("enter")
        await driver.until_shown("product")
        return driver.text()

    text = opened(root, drive, script, 609, "mixed_091-and-10_rabbitmq.pcap")
    assert "after frame 609" in text
    assert "RabbitMQ" in text
