"""Which rules run, and how much each matters."""

from dataclasses import replace

import pytest

from amqpscope.check.selection import (
    ConfigError,
    Selection,
    closest,
    matches,
    resolve,
    resolve_one,
    suggestion,
    why_idle,
)
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import NOT_YET, status
from amqpscope.rules.registry import Rule
from amqpscope.rules.v1_0 import OF_1_0


def made(id, *, default=True):
    return Rule(
        id, "name", "1.1", "MUST", "error", "first", default, print, "tests", OF_1_0, (), 0, 0, ()
    )


@pytest.mark.parametrize(
    ("select", "ignore", "wanted"),
    [
        ((), (), True),
        (("FLW",), (), True),
        (("FLW-016",), (), True),
        (("ALL",), (), True),
        (("MSG",), (), False),
        (("FLW-01",), (), False),
        ((), ("FLW",), False),
        ((), ("FLW-016",), False),
        ((), ("ALL",), False),
        (("FLW",), ("FLW-016",), False),
        (("FLW-016",), ("FLW",), True),
        (("FLW-016",), ("FLW-016",), False),
        (("FLW",), ("ALL",), True),
    ],
)
def test_the_closer_word_decides(select, ignore, wanted):
    assert Selection(select=select, ignore=ignore).wants(made("FLW-016")) is wanted


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ((), False),
        (("FLW",), False),
        (("FLW-016",), True),
        (("ALL",), True),
        (("FLW", "ALL"), True),
    ],
)
def test_a_rule_that_is_off_by_default_wants_to_be_asked_for(select, wanted):
    assert Selection(select=select).wants(made("FLW-016", default=False)) is wanted


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("FLW-016",), ("FLW-016",)),
        (("flw-016, msg",), ("FLW-016", "MSG")),
        (("transfer-without-credit", "SES"), ("FLW-016", "SES")),
        (("all",), ("ALL",)),
        (("A09", "a09-frm"), ("A09", "A09-FRM")),
        (("",), ()),
        ((), ()),
    ],
)
def test_rules_are_named_by_id_group_or_name(words, ids):
    assert resolve(words) == ids


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("FLW-0166", "FLW-016"),
        ("flw016", "FLW-016"),
        ("FLV", "FLW"),
        ("transfer-without-credits", "transfer-without-credit"),
    ],
)
def test_a_near_miss_gets_a_suggestion(word, hint):
    with pytest.raises(ConfigError, match=f"{word!r} is no rule or group; did you mean"):
        resolve_one(word)
    assert hint in suggestion(word)


def test_a_far_miss_is_shown_where_to_look():
    assert suggestion("%%%%%%") == "; amqpscope rules lists them"


def test_a_selection_that_nothing_answers_to_is_noticed():
    unchecked = next(entry.id for entry in catalogue().values() if status(entry) == NOT_YET)
    choice = Selection(select=("FLW-016", unchecked))
    assert choice.idle() == [unchecked]
    assert why_idle(unchecked) == f"this rule is not checked: {NOT_YET}"


@pytest.mark.parametrize(
    ("path", "pattern", "matched"),
    [
        ("a.pcap", "a.pcap", True),
        ("old/a.pcap", "a.pcap", True),
        ("/x/old/a.pcap", "old/*", True),
        ("/x/old/a.pcap", "*/old/*", True),
        ("./old/a.pcap", "old/a.*", True),
        ("new/a.pcap", "old/*", False),
        ("very-old/a.pcap", "old/*", False),
    ],
)
def test_a_pattern_means_a_path_or_the_end_of_one(path, pattern, matched):
    assert matches(path, pattern) is matched


def test_findings_in_captures_with_a_pattern_are_ignored(checked):
    [finding] = checked.findings
    choice = Selection(per_capture={"legacy-*": ("FLW",)})
    assert choice.adjust(finding, "x/legacy-1.pcap") is None
    assert choice.adjust(finding, "x/new.pcap") == finding
    assert choice.adjust_all([finding, finding], "x/legacy-1.pcap") == []
    assert choice.adjust_all([finding, finding], "x/new.pcap") == [finding, finding]


@pytest.mark.parametrize(
    ("severity", "expected"),
    [({"FLW-016": "info", "FLW": "warning"}, "info"), ({"FLW": "warning"}, "warning"),
     ({"ALL": "info"}, "info"), ({"MSG": "info"}, "error"), ({}, "error")],
)  # fmt: skip
def test_severity_is_set_by_rule_or_group(checked, severity, expected):
    [finding] = checked.findings
    adjusted = Selection(severity=severity).adjust(finding, "a.pcap")
    assert adjusted == replace(finding, severity=expected)
    assert finding.severity == "error"
    assert closest(severity, "FLW-016") == (expected if expected != "error" else None)


@pytest.mark.parametrize(
    ("strict", "certainty", "expected"),
    [(False, "sure", "warning"), (True, "suspect", "warning"), (True, "sure", "error")],
)
def test_strict_makes_a_broken_should_an_error_if_it_is_sure(change, strict, certainty, expected):
    finding = change(level="SHOULD", severity="warning", certainty=certainty)
    assert Selection(strict=strict).adjust(finding, "a").severity == expected


def test_a_suspect_finding_is_never_an_error(change):
    finding = change(certainty="suspect")
    adjusted = Selection(severity={"FLW-016": "error"}).adjust(finding, "a")
    assert adjusted.severity == "warning"


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [("error", ["error"]), ("warning", ["error", "warning"]),
     ("info", ["error", "warning", "info"]), ("never", [])],
)  # fmt: skip
def test_a_run_fails_from_a_severity_on(change, fail_on, failing):
    choice = Selection(fail_on=fail_on)
    severities = ("error", "warning", "info")
    assert [each for each in severities if choice.fails(change(severity=each))] == failing


def test_the_command_line_wins_over_the_configuration():
    config = Selection(select=("FLW",), ignore=("MSG",), fail_on="warning")
    merged = config.merged(select=("SES",), ignore=(), strict=True, fail_on=None)
    assert (merged.select, merged.ignore) == (("SES",), ("MSG",))
    assert (merged.strict, merged.fail_on) == (True, "warning")


def test_rules_that_prove_violations_run_unreported_beside_those_that_are_selected():
    rules = Selection(select=("FLW-017",)).rules()
    assert [rule.id for rule in rules.rules] == ["FLW-017"]
    assert {"SES-002", "A09-CHN-03"} <= rules.silent
    assert "FLW-017" not in rules.silent
