"""What follows from one peer's violation is no error of the other, in AMQP 0-9 too."""

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.check.selection import Selection
from amqpscope.rules.v0_9.scenes import SCENES
from amqpscope.runs.lint import CheckSettings, check
from kit.conversation import happenings, record
from kit.exchange_v0_9 import play

OPENED_TWICE = """
client: queue.declare[1] queue="q"
client: channel.open[1]
server: queue.declare-ok[1] queue="q"
"""


def errors(text, setup="channel"):
    return {(f.rule, f.peer) for f in play(text, setup).findings if f.severity == "error"}


def suspects(text, setup="channel"):
    return {(f.rule, f.peer) for f in play(text, setup).findings if f.certainty == "suspect"}


def test_an_answer_on_a_channel_that_was_opened_twice_is_no_error():
    assert errors(OPENED_TWICE) == {("A09-CHN-03", "client")}
    assert ("A09-CHN-05", "server") in suspects(OPENED_TWICE)


def test_an_answer_to_nothing_is_an_error_on_another_channel():
    other = "client: channel.open[2]\nserver: channel.open-ok[2]\nserver: queue.bind-ok[2]"
    assert ("A09-CHN-05", "server") in errors(OPENED_TWICE + other)


def test_an_answer_to_nothing_is_an_error_when_the_channel_was_opened_anew():
    anew = """
client: channel.close[1]
server: channel.close-ok[1]
client: channel.open[1]
server: channel.open-ok[1]
server: queue.bind-ok[1]
"""
    assert ("A09-CHN-05", "server") in errors(OPENED_TWICE + anew)


@pytest.mark.parametrize(
    ("own", "rule"),
    [
        ("server: content-body[1] 0x00", "A09-FRM-48"),
        ('server: queue.declare[1] queue="q"', "A09-FRM-24"),
    ],
)
def test_what_the_own_frames_of_the_accused_prove_stays_an_error(own, rule):
    assert (rule, "server") in errors(OPENED_TWICE + own)


def test_a_handshake_in_a_wrong_order_excuses_its_answer():
    text = """
client: header AMQP 0.9.1
server: connection.start version-major=0 version-minor=9 mechanisms="PLAIN" locales="en_US"
client: connection.start-ok mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
server: connection.open-ok
"""
    assert errors(text, "") == {("A09-CON-01", "client")}
    assert ("A09-CON-01", "server") in suspects(text, "")


def test_what_is_not_selected_is_still_known_to_be_broken(tmp_path):
    path = tmp_path / "twice.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 50000), ("10.0.0.2", 5672))
        record(happenings(SCENES.opening("channel").units + OPENED_TWICE), talk)
    found = check(str(path), CheckSettings(Selection(select=("A09-CHN-05",)))).findings
    assert {(f.rule, f.severity) for f in found} == {("A09-CHN-05", "warning")}
