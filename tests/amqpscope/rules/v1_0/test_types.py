"""Fields against their rows: what is legal in every spelling."""

from __future__ import annotations

import pytest

from kit.exchange import play


def rules(text: str, setup: str = "session", **how: bool) -> list[str]:
    return [each.rule for each in play(text, setup, **how).findings]


def test_fields_are_judged_in_a_capture_that_begins_in_the_middle():
    frames = "client: empty\n" * 4
    text = f"{frames}client: begin[0] next-outgoing-id=0 incoming-window=10"
    assert rules(text, "", complete=False) == ["TYP-001"]


@pytest.mark.parametrize("spelling", ["'80", "'symbol", "'80'd0", "'symbol'd0"])
def test_descriptors_in_every_spelling_are_the_same_type(spelling):
    text = f"client: attach{spelling}[0] name=\"s\"'b1 handle=0'70 role=true'56"
    text += ' source=source(address="q") target=target()'
    assert rules(text) == []


def test_a_value_in_the_wrong_place_is_one_finding():
    text = 'client: attach[0] name=list[] handle="s" role=uint 0 snd-settle-mode=raw 0x41'
    found = play(text, "session").findings
    assert [each.rule for each in found if each.rule.startswith("TYP")] == ["TYP-002"]
    assert "3 more fields" in found[0].message


def test_the_condition_of_an_error_is_a_symbol():
    text = 'client: end[0] error=error(condition="amqp:not-found" description="x")'
    found = play(text, "session").findings
    assert [each.path for each in found if each.rule == "TYP-002"] == ["end.error.condition"]


def test_surplus_nulls_are_only_noted():
    text = "client: end[0] error=null +[null]"
    assert [each.severity for each in play(text, "session").findings] == ["info"]


def test_an_empty_list_of_locales_is_only_noted():
    text = 'client: header AMQP 1.0.0\nclient: open container-id="c" incoming-locales=list[]'
    assert [(each.rule, each.severity) for each in play(text).findings] == [("TYP-003", "info")]


def test_sasl_fields_are_left_to_their_own_rules():
    text = 'client: sasl-init mechanism="ANONYMOUS"'
    assert not [rule for rule in rules(text, "sasl") if rule.startswith("TYP")]


def test_a_field_missing_after_the_peers_close_is_not_told_again():
    text = "client: close\nclient: begin[0] next-outgoing-id=0"
    assert [rule for rule in rules(text) if rule[:3] in {"TYP", "CON"}] == ["CON-009"]
