"""The list, the fields and the octets of the frame at the cursor go together."""

import re

LARGE = "captures/v10_proton-labbroker_large512.pcap"
DEMO = "captures/demo.pcapng"
TX = "captures/v10_proton-labbroker_tx.pcap"


def test_moving_in_the_fields_marks_their_octets(drive, root):
    async def script(driver):
        view = driver.app.frames
        await driver.press("j", "j", "enter")
        found = []
        for _ in range(6):
            await driver.press("j")
            field = view.fields.field
            found.append((field.text, view.octets.span, (field.start, field.end)))
        return found, view.octets.octets.data

    found, data = drive(root / DEMO, script, size=(160, 50))
    for _, span, own in found:
        assert span == own
    start, end = next(span for text, span, _ in found if text.startswith("container-id"))
    assert data[start:end] == b"\xa1\x0arheaclient"


def test_pointing_at_an_octet_marks_its_field(drive, root):
    async def script(driver):
        view = driver.app.frames
        await driver.press("j", "j", "tab", "tab")
        await driver.pilot.pause(0.1)
        view.octets.point(view.octets.octets.data.index(b"rheaclient") + 3)
        await driver.pilot.pause()
        return view.fields.field.text, view.octets.span, view.octets.octets.data

    text, (start, end), data = drive(root / DEMO, script, size=(160, 50))
    assert text.startswith('container-id: "rheaclient"')
    assert b"rheaclient" in data[start:end]


def test_a_click_points_at_the_octet_under_it(drive, root):
    async def script(driver):
        view = driver.app.frames
        await driver.press("j", "j")
        await driver.pilot.pause(0.1)
        # The third octet of the second line, then the same in the column of text.
        found = []
        for x in (1 + 8 + 3 * 2, 1 + 8 + 16 * 3 + 2 + 2):
            await driver.pilot.click(view.octets, offset=(x, 2))
            found.append(view.octets.at)
        return found

    assert drive(root / DEMO, script, size=(160, 50)) == [18, 18]


def test_a_message_in_many_transfers_is_put_together(drive, root):
    async def script(driver):
        app = driver.app
        app.visit(106)
        await driver.pilot.pause(0.2)
        return [(line.text, line.field.part) for line in app.frames.fields.flat]

    lines = drive(root / LARGE, script)
    assert any(
        re.match(r"message, \d+ octets, put together from 82 transfers", t) for t, _ in lines
    )
    assert any(part == 1 for _, part in lines)


def test_a_frame_that_takes_a_while_is_announced_and_then_shown(drive, root):
    async def script(driver):
        frames = driver.app.frames
        frames.pending = frames.frames.number
        frames.announce(frames.pending)
        await driver.pilot.pause()
        waiting = driver.text()
        await driver.press("j")
        await driver.until_shown("connection.start: method")
        return waiting, frames.pending

    path = root / "captures" / "v091_pika_chanerr-rabbitmq.pcap"
    waiting, pending = drive(path, script, size=(120, 30))
    assert "decoding frame 1 ..." in waiting
    assert "0 octets" not in waiting
    assert pending == 0


def test_enter_on_evidence_goes_to_its_frame(drive, root):
    async def script(driver):
        app = driver.app
        await driver.press("n", "enter")
        fields = app.frames.fields
        while not fields.field.frame:
            await driver.press("j")
        number = fields.field.frame
        await driver.press("enter")
        return number, app.frame

    number, frame = drive(root / DEMO, script)
    assert frame == number


def test_a_field_that_is_closed_stays_closed_in_other_frames(drive, root):
    async def script(driver):
        view = driver.app.frames
        await driver.press("n", "enter")
        while not view.fields.field.text.startswith("flow"):
            await driver.press("j")
        before = len(view.fields.flat)
        await driver.press("h")
        closed = len(view.fields.flat)
        await driver.press("escape", "j", "enter")
        await driver.pilot.pause(0.1)
        return before, closed, [line.text for line in view.fields.flat]

    before, closed, texts = drive(root / DEMO, script)
    assert closed < before
    assert any(text.startswith("flow") for text in texts)
    assert not any("link-credit" in text for text in texts)


def test_times_change_with_t(drive, root):
    async def script(driver):
        found = []
        await driver.press("j")
        for _ in range(3):
            found.append(driver.lines()[3].split()[1])
            await driver.press("t")
        return found

    assert drive(root / DEMO, script) == ["0.0005", "0.0005", "00:04:43.968"]


def test_one_pane_can_have_all_the_room(drive, root):
    async def script(driver):
        view = driver.app.frames
        heights = [view.frames.size.height]
        await driver.press("backslash")
        await driver.pilot.pause()
        heights.append(view.frames.size.height)
        await driver.press("tab")
        await driver.pilot.pause()
        heights.append(view.fields.size.height)
        await driver.press("escape")
        await driver.pilot.pause()
        return [*heights, view.frames.size.height]

    normal, whole, fields, again = drive(root / DEMO, script)
    assert normal == again
    assert whole == fields == 21


def test_secrets_are_covered_in_fields_and_octets(drive, root):
    path = root / "captures/v10_rhea-rabbitmq_simple.pcap"

    async def script(driver):
        app = driver.app
        for number in range(1, app.store.count + 1):
            if app.store.step(number).frame.unit.name == "sasl-init":
                app.visit(number)
                await driver.pilot.pause(0.2)
                await driver.press("tab", "tab")
                return driver.text()
        return ""

    text = drive(path, script, size=(160, 50))
    if text:
        assert "guest" not in text
        assert "** **" in text
