"""Frames of a running proxy are held on the screen, and decided on with a key."""

import pytest

from amqpscope.tui.interception import Remote
from dissectors.notation import parse, write
from kit.proxy.wire import SENDING, Wire, fault

SENT = [
    f'transfer[0] handle=3 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=true '
    f'| amqp-value("m{n}")'
    for n in range(5)
]
TIMED = SENDING.replace('container-id="s"', 'container-id="s" idle-time-out=30000')


@pytest.fixture
def held(relay, server, drive):
    """`held(script)`: run an async `script(driver, wire)` at the screen of a proxy."""

    def run(script, size=(80, 24), **options):
        it = Wire(relay, server, fault("delivery-id == 99", "drop"))
        it.play(TIMED)
        watch = it.relay.watch
        told = []

        def poll():
            told.extend(watch.new_lines())
            watch.ask_for_held()
            return watch.held

        def news():
            fresh, told[:] = list(told), []
            return fresh

        async def main(driver):
            await driver.until(lambda: driver.app.store.count >= 9, "the opening is read")
            await driver.press("i")
            await driver.type("transfer && from == client")
            await driver.press("enter")
            return await script(driver, it)

        remote = Remote(watch.ask_about_faults, poll, news)
        return drive(it.relay.path, main, size=size, read=False, follow=True, remote=remote,
                     status=lambda: "", **options)  # fmt: skip

    return run


def canonical(line):
    return write(parse(line))


def test_held_frames_are_marked_counted_down_and_passed_on(held):
    async def script(driver, it):
        it.client.say(*SENT[:3])
        await driver.until_shown("1 held")
        await driver.until_shown("‖1       19   1 C→S transfer")
        lines = driver.lines()
        await driver.press("a")
        await driver.until_shown("‖2       20")
        first = it.server.hear()
        await driver.press("A")
        await driver.until(lambda: "held  a" not in driver.text(), "nothing is held")
        return lines, [first, it.server.hear(), it.server.hear()]

    lines, heard = held(script)
    assert any(line.startswith("‖    19 ") for line in lines)
    assert any("server may close in 2" in line or "in 30 s" in line for line in lines)
    assert heard == [*map(canonical, SENT[:3])]


def test_keys_drop_duplicate_and_do_whatever_a_fault_can(held):
    async def script(driver, it):
        it.client.say(*SENT[:4])
        await driver.until_shown("‖1 ")
        await driver.press("d")
        await driver.until_shown("‖2 ")
        await driver.press("D")
        await driver.until_shown("‖3 ")
        await driver.press("x")
        await driver.type("set nonsense=1")
        await driver.until_shown("^ no frame has such a field")
        await driver.type("set message-format=7")
        await driver.press("enter")
        await driver.until_shown("‖4 ")
        heard = [it.server.hear() for _ in range(3)]
        await driver.press("X")
        await driver.until_shown("held frame 4: disconnect")
        return heard, it.server.hear()

    heard, end = held(script)
    assert ['"m1"' in line for line in heard] == [True, True, False]
    assert "message-format=7" in heard[2]
    assert end is None


def test_a_frame_is_edited_on_the_screen_with_errors_shown_before_it_is_sent(held):
    async def script(driver, it):
        it.client.say(SENT[0])
        await driver.until_shown("‖1 ")
        await driver.press("e")
        await driver.until_shown("Enter sends")
        text = driver.app.screen.area.text
        driver.app.screen.area.text = text.replace("format=0", "format=x")
        await driver.until_shown("^")
        wrong = driver.lines()
        await driver.press("enter")
        assert it.server.hears_nothing(0.1)
        await driver.press("escape")
        await driver.until_shown("frame 1 is still held")
        await driver.press("e")
        await driver.until_shown("Enter sends")
        driver.app.screen.area.text = text.replace("format=0", "format=5")
        await driver.press("enter")
        await driver.until_shown("held frame 1: edit")
        return text, wrong, it.server.hear()

    text, wrong, heard = held(script, size=(120, 30))
    assert text == canonical(SENT[0])
    caret = next(at for at, line in enumerate(wrong) if "^" in line)
    assert wrong[caret - 1][wrong[caret].index("^")] == "x"
    assert heard == canonical(SENT[0].replace("format=0", "format=5"))


def test_on_every_screen_and_when_peers_or_the_user_leave_what_is_held_is_known(held):
    async def script(driver, it):
        it.client.say(*SENT[:2])
        it.client.socket.shutdown(1)
        await driver.until_shown("client hung up")
        await driver.press("q")
        await driver.until_shown("q again passes 1 held frame on, and ends the proxy")
        await driver.press("3")
        await driver.until(lambda: driver.app.entry.name == "ladder", "the ladder is open")
        await driver.press("H", "a")  # which is another key on the ladder itself
        await driver.until_shown("‖2 ")
        heard = it.server.hear()
        it.client.socket.close()
        it.server.socket.close()
        await driver.until_shown("transfer, held as 2, was not passed on")
        await driver.until(lambda: "1 held" not in driver.text(), "nothing is held")
        return heard

    assert held(script, size=(110, 24)) == canonical(SENT[0])


def test_faults_are_listed_added_and_removed(held):
    async def script(driver, it):
        await driver.press("f")
        await driver.until_shown("intercept: transfer && from == client => hold")
        await driver.press("a")
        await driver.type("flow => drop times=1")
        await driver.press("enter")
        await driver.until_shown("fault-2: flow => drop times=1")
        await driver.press("j", "d")
        await driver.until(lambda: "intercept:" not in driver.text(), "it is removed")
        await driver.press("escape", "question_mark")
        await driver.until_shown("Holding frames")
        return [
            fault["name"] for fault in it.relay.watch.ask_about_faults({"do": "list"})["faults"]
        ]

    assert held(script) == ["fault-1", "fault-2"]
