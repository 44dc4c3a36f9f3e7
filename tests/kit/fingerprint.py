"""What the model looks like, in a form that can be compared: everything that an event leads to.

Left out are the ledgers and the findings, which the reporter writes, and what an object computes
when it is first asked for and remembers.
"""

from __future__ import annotations

from amqpscope.model.ledger import Ledger

FINDINGS = {
    # by class: where the reporter keeps what was found
    "Connection": {"faults", "breaches"},
}
REMEMBERED = {
    # by class: what is computed when it is first asked for
    "LinkEnd": {"own_place"},
    "SessionEnd": {"own_place"},
    "Message": {"values"},
    "Transactions": {"frame", "message"},
    # when it is asked for the best it drops what can no longer be that
    "Grants": {"entries", "unsure", "sure_from"},
}
MODEL = ("amqpscope.model.", "amqpscope.stream.")


def fingerprint(root: object) -> list[object]:
    """All objects that can be reached, in the order in which they are met.

    An object is its class and its attributes; what is met again is a number. What is not of the
    model, such as a frame's body, cannot be changed and counts by its identity.
    """
    found: list[object] = []
    numbers: dict[int, int] = {}
    waiting: list[object] = [root]
    while waiting:
        each = waiting.pop()
        if each is None or isinstance(each, str | bytes | int | float):
            found.append(each)
            continue
        if id(each) in numbers:
            found.append(("again", numbers[id(each)]))
            continue
        numbers[id(each)] = len(numbers)
        inside = contents(each)
        if inside is None:
            found.append((type(each), id(each)))
        else:
            found.append((type(each), len(inside)))
            waiting.extend(inside)
    return found


def contents(each: object) -> list[object] | None:
    """What an object holds; None where it is not of the model."""
    kind = type(each)
    if kind in (list, tuple, set, frozenset):
        return list(each)  # type: ignore[call-overload]
    if kind is dict:
        return [part for pair in each.items() for part in pair]  # type: ignore[attr-defined]
    if not kind.__module__.startswith(MODEL) or isinstance(each, Ledger):
        return None
    skipped = FINDINGS.get(kind.__name__, set()) | REMEMBERED.get(kind.__name__, set())
    state = each.__getstate__()
    attributes = state if isinstance(state, dict) else (state or (None, {}))[1]
    return [part for name, value in attributes.items() if name not in skipped
            for part in (name, value)]  # fmt: skip
