"""Every compiled class that a replay may hold can be made anew."""

import importlib
import inspect
import tomllib

from amqpscope.spark import blanks
from amqpscope.spark.blanks import BLANKS, layout
from dissectors.v1_0.body import Body

ELSEWHERE = ("amqpscope.capture.", "amqpscope.proxy.", "amqpscope.report.", "snapshot")
"""Modules that a replay has nothing of, but for what is in the table."""
PASSING = {
    # gone before the next segment
    "Step", "OlderStep", "Event", "OlderEvent", "Message", "Flaw", "Section", "Reader", "Recent",
    # one for all replays of a process: see `known`
    "Rule", "OlderRule", "Condition", "RuleSet", "OlderRuleSet", "Plan", "ContentPlan", "Dialect",
    "Fitness",
    # never made, or never for a stream
    "Body", "Reporting", "Places", "Slices",
}  # fmt: skip


def classes(root):
    """The classes of the compiled modules."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    for path in hook["modules"]:
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for found in vars(importlib.import_module(name)).values():
            if inspect.isclass(found) and found.__module__ == name:
                yield found


def test_each_class_that_may_be_kept_has_its_row(root):
    missing = [
        f"{found.__module__}.{found.__name__}"
        for found in classes(root)
        if found not in BLANKS
        and found.__name__ not in PASSING
        and not issubclass(found, Body | tuple)  # these are pickled by what they are made from
        and not any(part in found.__module__ for part in ELSEWHERE)
    ]
    assert missing == []


def test_the_layout_changes_with_the_classes(monkeypatch):
    before = layout()
    monkeypatch.setattr(blanks, "ROWS", blanks.ROWS[1:])
    assert layout() != before
