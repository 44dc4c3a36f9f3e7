"""What is wrong with a relay, and for how long that is shown."""

import pytest

from amqpscope.proxy import trouble as module
from amqpscope.proxy.trouble import LASTING, RelayTrouble

DOWN = "upstream 127.0.0.1:5672: connection refused; clients get a reset"
AGAIN = "upstream 127.0.0.1:5672 takes connections again"
RESET = "upstream 127.0.0.1:5672 has reset the connection of client 127.0.0.1:40000"


@pytest.mark.parametrize(
    ("lines", "at_once", "later"),
    [
        ([], "", ""),
        ([DOWN], DOWN, DOWN),
        ([DOWN, AGAIN], "", ""),
        ([RESET], RESET, ""),
        ([DOWN, AGAIN, RESET], RESET, ""),
    ],
)
def test_a_trouble_is_shown_until_it_is_over(monkeypatch, lines, at_once, later):
    clock = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    trouble = RelayTrouble()
    for line in lines:
        trouble.take(line)
    assert trouble.text == at_once
    clock[0] += LASTING + 1
    assert trouble.text == later
