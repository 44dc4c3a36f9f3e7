"""What a kept state leaves out is found again by its name."""

import ast

from amqpscope.check.selection import Selection
from amqpscope.spark.interned import Known
from dissectors.v0_9.dialects import NAMES, dialect

PACKAGES = ("amqpscope", "dissectors")


def shared(root):
    """The names of empty lists and dicts in modules that say of such that they are shared."""
    for path in (path for package in PACKAGES for path in (root / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.parse(source).body if "shared, so never added to" in source else ():
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.value or node) in ("[]", "{}"):
                yield node.target.id


def test_every_empty_list_that_is_shared_is_known(root):
    names = {name.rpartition(" ")[2] for name in Known(Selection().rules()).things}
    # answers, which no object keeps; and what belongs to messages that are not kept here
    passing = {"NO_ENDED", "NO_LEVELS", "NO_PLACES", "NO_SESSIONS", "NO_ANNOTATIONS", "NO_LEGS"}
    found = set(shared(root))
    assert len(found) > 5
    assert found - names == passing


def test_a_thing_is_found_by_its_name():
    known = Known(Selection().rules())
    lost = [name for name, thing in known.things.items()
            if known.things[known.names[id(thing)]] is not thing]  # fmt: skip
    assert lost == []


def test_every_method_of_every_dialect_is_known():
    known = Known(Selection().rules())
    plans = [plan for name in NAMES for plan in dialect(name).methods.values()]
    assert all(id(plan) in known.names for plan in plans)
    assert all(id(plan.other) in known.names for plan in plans if plan.other)
