"""Maps, descriptors and language tags, at any depth."""

from __future__ import annotations

import pytest

from kit.exchange import play


def rules(text: str) -> list[str]:
    return [each.rule for each in play(text, "session").findings]


def test_keys_of_one_number_in_two_encodings_are_the_same():
    text = "client: begin[1] next-outgoing-id=0 incoming-window=1 outgoing-window=1"
    text += " properties={:m={uint 1'52=1 uint 1'70=2}}"
    assert rules(text) == ["TYP-016"]


@pytest.mark.parametrize(
    "keys",
    [
        "[int 1]=1 [long 1]=2",
        '["a"]=1 [:a]=2',
        "{1=int 1}=1 {1=long 1}=2",
        "@:a int 1=1 @:a long 1=2",
        "array int[1]=1 array long[1]=2",
        "raw 0x727fc00001=1 raw 0x727fc00002=2",
        "[raw 0x827ff8000000000001]=1 [raw 0x827ff8000000000002]=2",
    ],
)
def test_keys_that_differ_in_a_type_inside_or_are_no_number_are_not_the_same(keys):
    text = "client: begin[1] next-outgoing-id=0 incoming-window=1 outgoing-window=1"
    assert rules(f"{text} properties={{:m={{{keys}}}}}") == []


def test_keys_that_are_lists_of_the_same_are_the_same():
    text = "client: begin[1] next-outgoing-id=0 incoming-window=1 outgoing-window=1"
    assert rules(f"{text} properties={{:m={{[int 1]=1 [int 1'71]=2}}}}") == ["TYP-016"]


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        (":apache.org:selector-filter:string", []),
        (":amqp:sql-filter", []),
        ("ulong 0x468C00000004", []),
        ("ulong 0x13700000000c", []),
        ("ulong 0x99", ["TYP-013"]),
        (":selector", ["TYP-013"]),
        ("uint 5", ["TYP-012"]),
    ],
)
def test_descriptors_of_filters(descriptor, expected):
    text = 'client: attach[0] name="r" handle=0 role=receiver target=target()'
    assert rules(f'{text} source=source(address="q" filter={{:f=@{descriptor} "x"}})') == expected
