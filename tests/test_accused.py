"""Nobody is blamed for what the capture did: a lost packet, a late one, a tap with two clocks.

The captures in captures/accused/ hold real conversations that were recorded badly, or in which one
peer breaks a rule and the other has to live with it. Each once led to an error against a peer that
had done nothing wrong. The table names every error that is deserved; any other is an accusation.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from amqpscope.check.selection import Selection
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check

ACCUSED = Path(__file__).parent.parent / "captures" / "accused"

DESERVED = {
    # One sender name is attached on 25 sessions at once.
    "R2-reordered-LNK-009": {("LNK-009", "client")},
    # The broker answers a begin with one that names no remote-channel.
    "R8-SES-004-blames-the-initiator": {("SES-004", "server")},
    # The client opens the virtual host before it has answered connection.tune.
    "R9-cascade-open-before-tune-ok-CON-01-server": {("A09-CON-01", "client")},
    # A second begin on a channel whose session has not ended, and which was answered already.
    "R9-cascade-second-begin-of-server-FLW-017-client": {
        ("SES-002", "server"), ("SES-006", "server")
    },
    # The list of the open says that it is one octet longer than the frame.
    "hang-array-of-nulls-open": {("ENC-013", "client")},
}  # fmt: skip
"""By capture, the errors that are right, as rule and peer; the other captures have none."""

HANG = "hang-array-of-nulls-open"
"""2^32-1 nulls in five octets: whoever counts through them is busy for minutes."""
SECONDS = 20

NAMES = sorted(path.stem for path in ACCUSED.glob("*.pcap"))


def case(name):
    return pytest.param(name, marks=[pytest.mark.tshark] if "-tls-" in name else [])


def errors(name, choice=None):
    """The errors that lint reports of a capture, as rule and peer."""
    keys = ACCUSED / f"{name}.keys"
    keylogs = (keys.read_bytes(),) if keys.exists() else ()
    source = Input(str(ACCUSED / f"{name}.pcap"), keylogs)
    checked = check(source, CheckSettings(choice or Selection(), excerpts=False))
    assert checked.error is None
    assert checked.frames > 0
    return {(found.rule, found.peer) for found in checked.findings if found.severity == "error"}


@pytest.mark.parametrize("name", [case(name) for name in NAMES if name != HANG])
def test_only_deserved_errors_are_reported(name):
    assert errors(name) == DESERVED.get(name, set())


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("R9-cascade-open-before-tune-ok-CON-01-server", "A09-CON-01"),
        ("R9-cascade-second-begin-of-server-FLW-017-client", "FLW-017"),
    ],
)
def test_what_the_user_wants_to_see_does_not_change_who_is_guilty(name, rule):
    deserved = {each for each in DESERVED[name] if each[0] == rule}
    assert errors(name, Selection(select=(rule,))) == deserved


def test_a_count_on_the_wire_keeps_nobody_busy():
    # In a process of its own, as nothing else ends a loop in compiled code.
    command = (sys.executable, "-m", "amqpscope", "lint", "--format", "json")
    path = ACCUSED / f"{HANG}.pcap"
    subprocess.run((*command, path), capture_output=True, check=False, timeout=SECONDS)
    assert errors(HANG) == DESERVED[HANG]


def test_tables_name_captures_that_are_there():
    assert DESERVED.keys() <= set(NAMES)
    assert {path.stem for path in ACCUSED.glob("*.keys")} <= set(NAMES)
