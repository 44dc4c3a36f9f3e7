"""The code and the catalogue agree."""

import re

import pytest

from amqpscope.rules.all import GROUPS, load
from amqpscope.rules.catalogue import NOT_OBSERVABLE, PERMITTED, STATUSES, catalogue

SEVERITY = {
    # rule: (what the catalogue proposes, what the code has, why)
    "SAS-006": ("warning", "error", "5.3.1 sets the limit and says that no other can be agreed on"),
}
SECTION = {
    # rule: why the code gives another section than the catalogue
    "SAS-021": "5.3.3.5/6 in the catalogue are two sections",
}
NUMBER = re.compile(r"\d+(?:\.\d+)*")


def fits(section, text):
    """A section is one of the catalogue's, above one of them, or within."""
    known = NUMBER.findall(text)
    return section in text or any(
        f"{one}.".startswith(f"{section}.") or f"{section}.".startswith(f"{one}.") for one in known
    )


@pytest.mark.parametrize("rule", load().values(), ids=lambda rule: rule.id)
def test_a_rule_is_in_the_catalogue_as_it_is_in_the_code(rule):
    entry = catalogue()[rule.id]
    assert rule.name == entry.name
    assert rule.default is (entry.default == "on")
    if rule.id not in SECTION and not rule.id.startswith("A09"):
        assert all(fits(part.strip(), entry.section) for part in rule.section.split(","))
    proposed, chosen, _ = SEVERITY.get(rule.id, (entry.severity, entry.severity, ""))
    assert (entry.severity, rule.severity) == (proposed, chosen)


def test_exceptions_are_about_rules_that_are_there():
    assert set(SEVERITY) | set(SECTION) <= set(load())


def test_what_only_permits_or_cannot_be_seen_is_no_rule():
    for rule in load().values():
        entry = catalogue()[rule.id]
        assert entry.level != "MAY", rule.id
        assert entry.observable != "no", rule.id
    assert {PERMITTED, NOT_OBSERVABLE} <= {entry.status for entry in catalogue().values()}
    assert {entry.status for entry in catalogue().values()} <= set(STATUSES)


def test_modules_hold_the_rules_of_their_groups():
    prefixes = dict(GROUPS)
    for rule in load().values():
        module = rule.module.removeprefix("amqpscope.rules.")
        assert rule.id.rpartition("-")[0] in prefixes[module].split(), rule.id
