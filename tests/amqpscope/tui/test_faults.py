"""Faults of a proxy on the screen, where they acted."""

import pytest

from amqpscope.proxy.files import Files
from amqpscope.proxy.record import Recording, flows
from dissectors.notation import parse

OPEN = parse('open container-id="c"')
CLOSE = parse("close")


@pytest.fixture
def capture(tmp_path):
    """A recording with a fault on a frame, and one that took a frame away."""
    recording = Recording(Files(str(tmp_path / "run.pcapng")))
    client, server = flows(("10.0.0.1", 40_000), ("10.0.0.2", 5672), 1)
    recording.write_handshake(client, server)
    recording.data(client, b"AMQP\0\1\0\0")
    recording.data(server, b"AMQP\0\1\0\0")
    recording.data_with_comment(client, OPEN, "amqpscope fault slow: delay 2s on open")
    recording.data(server, OPEN)
    recording.comment(client, "amqpscope fault lost: drop on begin")
    recording.data(client, CLOSE)
    recording.close()
    return tmp_path / "run.pcapng"


def test_the_list_of_frames_and_the_ladder_show_faults(drive, capture):
    async def script(driver):
        listed = driver.lines()
        await driver.press("3")
        await driver.until_shown("fault slow")
        return listed, driver.text()

    listed, ladder = drive(capture, script, size=(140, 40))
    assert any("open " in line and "[fault slow: delay 2s on open]" in line for line in listed)
    assert any("close " in line and "[fault lost: drop on begin]" in line for line in listed)
    assert "fault slow: delay 2s on open" in ladder
    assert "fault lost: drop on begin" in ladder
