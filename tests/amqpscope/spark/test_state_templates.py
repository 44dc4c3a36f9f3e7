"""Every compiled class that a replay may hold can be made anew."""

import importlib
import inspect

from amqpscope.model.ledger import Subject
from amqpscope.protocols.talk import Talk
from amqpscope.spark import state_templates as blanks
from amqpscope.spark.state_templates import BLANKS, layout
from amqpscope.stream.framer import Framer
from dissectors.v1_0.body import Body
from kit.project import compiled_modules

ELSEWHERE = (
    "amqpscope.capture.",
    "amqpscope.filter.",
    "amqpscope.proxy.",
    "amqpscope.report.",
    "amqpscope.rules.v0_9.",
    "amqpscope.rules.v1_0.",
    ".json",
    ".peers",
    "snapshot",
    "journeys",
    "broker",
)
"""Modules that a replay has nothing of, but for what is in the table."""
BASES = (Framer, Subject, Talk)
"""Classes of which only those below them are made, one in each protocol family."""
PASSING = {
    # gone before the next segment
    "Step", "Event", "Level", "Ended", "Message", "Section", "Reader",
    "Recent", "Analysed", "Batch", "StreamEnd", "StreamWindow", "StepSink", "FaultySteps",
    # one for all replays of a process: see `interned`
    "Rule", "Condition", "RuleSet", "Dispatcher", "Voice", "Protocol", "Amqp10", "Amqp09", "Plan",
    "ContentPlan", "Dialect", "Fitness", "Machine", "Family", "Parameter",
    "Given", "Checks",
    # never made, or never for a stream
    "Body", "Composite", "Places", "Slices", "Share", "Finding", "PrimitiveReader",
    "CompoundReader", "MessageRows", "Cells",
}  # fmt: skip


def classes():
    """The classes of the compiled modules."""
    for name in compiled_modules():
        for found in vars(importlib.import_module(name)).values():
            if inspect.isclass(found) and found.__module__ == name:
                yield found


def test_each_class_that_may_be_kept_has_its_row():
    missing = [
        f"{found.__module__}.{found.__name__}"
        for found in classes()
        if found not in BLANKS
        and found not in BASES
        and found.__name__ not in PASSING
        and not issubclass(found, Body | tuple)  # these are pickled by what they are made from
        and not any(part in found.__module__ for part in ELSEWHERE)
    ]
    assert missing == []


def test_the_layout_changes_with_the_classes(monkeypatch):
    before = layout()
    monkeypatch.setattr(blanks, "ROWS", blanks.ROWS[1:])
    assert layout() != before
