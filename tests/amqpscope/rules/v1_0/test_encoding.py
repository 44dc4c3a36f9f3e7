"""Which cause is told for damaged octets, and when nothing is."""

from __future__ import annotations

import pytest

from dissectors.notation import parse
from kit.exchange import play

ATTACH = parse(
    'attach[0] name="s" handle=0 role=sender source=source(address="a") target=target(address="q")'
    " initial-delivery-count=0 offered-capabilities=[:a :bb] properties={:x=1 :y=2}"
)
TRANSFER = parse(
    'transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true'
    ' | data(b"abc")'
)
LIST, SOURCE, ARRAY, MAP = 11, ATTACH.index(b"\x53\x28") + 2, ATTACH.index(0xE0), ATTACH.index(0xC1)


def rules(setup: str, raw: bytes, before: str = "", **how: bool) -> list[str]:
    return [
        each.rule for each in play(f"{before}\nclient: octets 0x{raw.hex()}", setup, **how).findings
    ]


def changed(raw: bytes, at: int, by: int) -> bytes:
    return raw[:at] + bytes((raw[at] + by,)) + raw[at + 1 :]


@pytest.mark.parametrize("by", [1, -1, 5])
@pytest.mark.parametrize(
    ("at", "size", "count"),
    [
        (LIST, "ENC-003", "ENC-004"),
        (SOURCE, "ENC-003", "ENC-004"),
        (MAP, "ENC-003", "ENC-004"),
        (ARRAY, "ENC-006", "ENC-006"),
    ],
)
def test_a_wrong_size_is_told_from_a_wrong_count(at, by, size, count):
    assert rules("session", changed(ATTACH, at + 1, by)) == [size]
    assert rules("session", changed(ATTACH, at + 2, by)) == [count]


@pytest.mark.parametrize("by", [1, -1])
def test_the_message_behind_a_transfer_shows_which_of_them_is_wrong(by):
    assert rules("sending", changed(TRANSFER, LIST + 1, by)) == ["ENC-003"]
    assert rules("sending", changed(TRANSFER, LIST + 2, by)) == ["ENC-004"]


@pytest.mark.parametrize("end", range(20, len(ATTACH)))
def test_a_frame_that_ends_too_early_is_one_finding(end):
    raw = (end).to_bytes(4, "big") + ATTACH[4:end]
    assert rules("session", raw) in (["ENC-013"], ["ENC-010"])


def test_what_the_capture_lacks_is_not_judged():
    text = f"client: octets 0x{ATTACH[:30].hex()}\nclient: GAP"
    assert play(text, "session").findings == []


def test_damage_is_not_judged_before_frames_in_a_row_prove_that_we_are_in_step():
    broken = changed(ATTACH, LIST + 2, 1)
    assert rules("", broken, "client: empty", complete=False) == []
    assert rules("", broken, "client: empty\n" * 4, complete=False) == ["ENC-004"]


def test_damage_in_a_sasl_frame_is_told_by_the_same_rules():
    raw = changed(parse("sasl-init mechanism=:ANONYMOUS"), LIST + 2, 1)
    assert rules("sasl", raw) == ["ENC-004"]


def test_several_strings_that_are_no_utf8_are_one_finding():
    text = "client: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=1 properties={"
    text += ":a=raw 0xa101ff :b=raw 0xa101fe}"
    assert [each.rule for each in play(text, "opened").findings] == ["TYP-024"]


def test_an_empty_array_of_any_constructor_is_an_absent_field():
    text = 'client: attach[0] name="r" handle=0 role=receiver source=source(address="q")'
    text += " target=target() offered-capabilities=raw 0xe0020040"
    assert play(text, "session").findings == []


@pytest.mark.parametrize("octets", ["59", "62", "8f00", "a2", "a20561", "c2"])
def test_a_code_that_is_not_assigned_is_told_also_where_its_value_is_cut(octets):
    body = bytes.fromhex(f"005317c0{1 + len(octets) // 2:02x}01{octets}")
    head = (8 + len(body)).to_bytes(4, "big") + bytes.fromhex("02000000")
    assert rules("session", head + body) == ["ENC-001"]
