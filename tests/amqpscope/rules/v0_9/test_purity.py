"""Rules of 0-8, 0-9 and 0-9-1 only read the model."""

import pytest

from amqpscope.rules.all import load
from amqpscope.rules.v0_9 import FAMILY
from kit.purity import assert_only_reads


@pytest.mark.parametrize("id", [id for id, rule in load().items() if rule.family.name == FAMILY])
def test_a_rule_changes_nothing_in_the_model(id):
    assert_only_reads(id)


def test_a_rule_that_writes_is_found():
    with pytest.raises(AssertionError, match="became"):
        assert_only_reads("A09-BAS-10", writes=lambda event: event.connection.channels.clear())
