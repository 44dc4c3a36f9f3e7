"""A connection that ends while it is watched is over on every screen at once."""

import struct

import pytest

RESET = "The server reset TCP without a close at 3.031 s"


@pytest.fixture
def dying(root, tmp_path):
    """The demo without its last packet, the RST, and a function that appends that."""
    data = (root / "captures" / "demo.pcapng").read_bytes()
    [size] = struct.unpack("<I", data[-4:])
    path = tmp_path / "run.pcapng"
    path.write_bytes(data[:-size])

    def die():
        with open(path, "ab") as file:
            file.write(data[-size:])

    return path, die


def test_what_waits_is_over_when_the_broker_dies(drive, dying):
    path, die = dying

    async def script(driver):
        await driver.until(lambda: driver.app.store.count == 25, "all frames are read")
        await driver.press("2")
        await driver.until_shown("connection 1           open")
        await driver.press("5")
        await driver.until_shown("for settlement (8 unsettled, credit 65527)")
        await driver.press("C")
        await driver.until_shown("open, 127.0.0.1")
        die()
        await driver.until_shown("TCP reset by server, 127.0.0.1")
        assert "3.031 s" in driver.text()
        await driver.press("escape")
        await driver.until_shown(RESET)
        stuck = driver.text()
        await driver.press("2")
        await driver.until_shown("ended")
        state = driver.text()
        await driver.press("6", "down", "down")
        await driver.until_shown("ended: the server reset TCP without a close at 3.031 s")
        return stuck, state

    stuck, state = drive(path, script, size=(120, 40), follow=True, read=False)
    assert stuck.count("TCP reset by server") == 2
    assert "Until then: waiting for settlement" in stuck
    assert "waiting for the" not in stuck
    assert "the server reset TCP without a close at 3.031 s, packet 33, after frame 25" in state
    assert " open " not in state


def test_what_is_over_lasts_no_longer(drive, root):
    async def script(driver):
        await driver.until(lambda: driver.app.store.count == 25, "all is read")
        await driver.press("5")
        await driver.until_shown(RESET)
        early = driver.text()
        await driver.pilot.pause(1.5)
        return early, driver.text()

    early, late = drive(root / "captures" / "demo.pcapng", script, read=False, follow=True)
    assert early == late


def test_of_another_connection_it_is_said_how_it_ended_before_the_frame(drive, root):
    async def script(driver):
        await driver.press("G", "2")
        await driver.until_shown("connection 4 ")
        return driver.text()

    text = drive(root / "captures" / "v10_proton-rabbitmq_outcomes.pcap", script, size=(120, 40))
    line = next(line for line in text.splitlines() if "connection 1 " in line)
    assert line.endswith("closed by client")
