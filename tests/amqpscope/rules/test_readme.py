"""What README.md says of rules is what there is."""

from importlib.resources import files
from itertools import chain

import pytest

from amqpscope.rules.all import load

README = (files("amqpscope.rules") / "README.md").read_text(encoding="utf-8")
FAMILIES = {rule.family.name: rule.family for rule in load().values()}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_kind_fact_and_parameter_is_explained(family):
    words = chain(family.kinds, family.facts, family.parameters)
    assert [word for word in words if f"`{word}`" not in README] == []


def test_the_rule_that_it_shows_is_a_rule():
    example = README.split("```python\n")[1].split("```")[0]
    source = (files("amqpscope.rules.v1_0.flow") / "credit.py").read_text(encoding="utf-8")
    assert example in source
