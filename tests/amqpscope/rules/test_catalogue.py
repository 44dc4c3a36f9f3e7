"""The code and the catalogue agree."""

import re
from importlib import import_module

import pytest

from amqpscope.rules.all import load, modules
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import NOT_OBSERVABLE, PERMITTED, STATUSES, status

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
    assert {PERMITTED, NOT_OBSERVABLE} <= {status(entry) for entry in catalogue().values()}
    assert {status(entry) for entry in catalogue().values()} <= set(STATUSES)


def test_what_another_rule_reports_names_rules_that_are_checked():
    for entry in catalogue().values():
        assert entry.reported == "here" or entry.reporters, entry.id
        assert set(entry.reporters) <= set(load()), entry.id
        assert not entry.reporters or entry.id not in load()


def prefixes(package):
    """The groups that a folder's first line names in brackets: `Flow control (FLW): ...`."""
    return re.search(r"\(([^)]+)\)", import_module(package).__doc__)[1].split(", ")


STRAYS = {
    # module: groups beside its folder's own, since one look finds both
    "v1_0.encoding.octets": ["TYP"],
    "v1_0.outcomes.redelivery": ["TXN"],
    "v0_9.basic.own_messages": ["A09-FRM", "A09-TX"],
    "v0_9.channel.replies": ["A09-EXC", "A09-QUE"],
}


def test_folders_hold_the_rules_of_their_groups():
    for rule in load().values():
        package = rule.module.rpartition(".")[0]
        own = prefixes(package) + STRAYS.get(rule.module.removeprefix("amqpscope.rules."), [])
        assert rule.id.rpartition("-")[0] in own, rule.id


def test_rules_run_in_the_order_of_the_catalogue():
    assert list(load()) == [id for id in catalogue() if id in load()]


def test_every_module_in_a_folder_of_rules_has_rules():
    assert set(modules()) == {rule.module for rule in load().values()}
