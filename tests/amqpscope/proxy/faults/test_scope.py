"""Which frames a filter may match: a frame that it could must never be left out."""

import pytest

from amqpscope.filter import parser
from amqpscope.proxy.faults import parse_fault
from amqpscope.proxy.faults.presets import PRESETS
from amqpscope.proxy.faults.scope import Scope, may_hold

NAMES = ("flow", "transfer", "disposition")
CLIENT, SERVER = 0, 1


@pytest.mark.parametrize(
    ("where", "from_client", "from_server"),
    [
        ("detach", set(), set()),
        ("transfer", {"transfer"}, {"transfer"}),
        ("transfer && from == client", {"transfer"}, set()),
        ("transfer && !(from == client)", {"transfer"}, {"transfer"}),
        ("transfer.settled || begin", {"transfer"}, {"transfer"}),
        ("name in {flow attach} && from in {server}", set(), {"flow"}),
        ("name != flow", set(NAMES), set(NAMES)),
        ("settled", set(NAMES), set(NAMES)),
        ('link.address == "q"', set(NAMES), set(NAMES)),
        ("!transfer", set(NAMES), set(NAMES)),
        ('open.container-id == "x" && from == client', set(), set()),
        ("", set(NAMES), set(NAMES)),
    ],
)
def test_what_may_match_by_name_and_sender(where, from_client, from_server):
    tree = parser.parse(where)
    for side, expected in ((CLIENT, from_client), (SERVER, from_server)):
        assert {name for name in NAMES if may_hold(tree, name, side)} == expected


LINKED = frozenset(("flow", "transfer"))


def scope_of(*faults):
    return Scope([parse_fault(fault) for fault in faults], NAMES, LINKED)


@pytest.mark.parametrize(
    ("fault", "needed"),
    [
        ("detach => drop", [False, False]),
        ("transfer => drop", [False, False]),
        ("transfer && settled && !more => drop", [False, False]),
        ('transfer && link.address == "q" => drop', [False, False]),
        ('transfer && amqp.link.address == "q" => drop', [False, False]),
        ("disposition && state == released => drop", [False, False]),
        # which link a disposition is about is known by the deliveries that it names
        ('disposition && link.address == "q" && from == server => drop', [False, True]),
        ('link.address == "q" => drop', [True, True]),
        ('transfer && from == client && properties.subject == "x" => drop', [True, False]),
        ("transfer && message.size > 100 && from == client => drop", [True, False]),
        ("transfer && delivery.size > 100 => drop", [True, True]),
        ("frame.number > 100 => drop", [True, True]),
        ("transfer && time > 10 => drop", [True, True]),
        ("transfer => hold", [True, True]),
        (PRESETS["@no-credit"].rule, [False, False]),
    ],
)
def test_a_model_follows_frames_where_a_fault_asks_for_more_than_they_say(fault, needed):
    assert scope_of(fault).needed == needed


def test_frames_that_nobody_needs_to_look_at():
    scope = scope_of(PRESETS["@no-credit"].rule)
    assert scope.unmatched == [set(NAMES), {"transfer", "disposition"}]
    assert scope.passed == scope.unmatched
    assert scope_of("detach => drop").passed == [set(NAMES), set(NAMES)]
    assert not scope_of("frame => drop").quick
    assert scope_of("frame => drop", "detach => drop").passed == [set(), set()]
