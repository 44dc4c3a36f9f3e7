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


def test_a_model_follows_only_what_a_fault_can_match_of_its_peer():
    scope = Scope([parse_fault(PRESETS["@no-credit"].rule)], NAMES)
    assert scope.unmatched == [set(NAMES), {"transfer", "disposition"}]
    assert scope.needed == [False, True]
    assert scope.quick
    assert not scope.passed
    assert Scope([parse_fault("detach => drop")], NAMES).passed == set(NAMES)
    assert not Scope([parse_fault("frame => drop")], NAMES).quick
