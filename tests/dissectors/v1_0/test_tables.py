import pytest

from dissectors.v1_0.encodings import TYPES
from dissectors.v1_0.tables import (
    COMPOSITE,
    COMPOSITES,
    RESTRICTED,
    RESTRICTED_TYPE,
    SECTION_SYMBOLS,
    SECTIONS,
    choice,
    field_numbers,
    primitive,
)

PROVIDED = {name for row in (*COMPOSITES, *RESTRICTED) for name in row.provides}
OPEN = {"error-condition", "global-tx-id"}
"""Archetypes that no row provides: their choices are open, or the spec leaves them unassigned."""


def test_names_and_descriptors_are_unique():
    rows = [*COMPOSITES, *(row for row in RESTRICTED if row.code is not None)]
    assert len({row.name for row in (*COMPOSITES, *RESTRICTED)}) == len(COMPOSITES) + len(
        RESTRICTED
    )
    assert len({row.code for row in rows}) == len(rows)
    assert len({row.symbol for row in rows}) == len(rows)


@pytest.mark.parametrize("row", COMPOSITES, ids=lambda row: row.name)
def test_each_field_has_a_known_type_and_a_provided_archetype(row):
    for field in row.fields:
        assert primitive(field.type) in {"*", *TYPES, *COMPOSITE}
        assert not field.requires or field.requires in PROVIDED | OPEN
        assert not (field.mandatory and field.default is not None)
    assert len({field.name for field in row.fields}) == len(row.fields)


@pytest.mark.parametrize("row", RESTRICTED, ids=lambda row: row.name)
def test_each_restricted_type_rests_on_a_primitive(row):
    assert primitive(row.name) in {"*", *TYPES}


@pytest.mark.parametrize(
    ("name", "code", "fields"),
    [
        ("open", 0x10, 10), ("begin", 0x11, 8), ("attach", 0x12, 14), ("flow", 0x13, 11),
        ("transfer", 0x14, 11), ("disposition", 0x15, 6), ("detach", 0x16, 3), ("end", 0x17, 1),
        ("close", 0x18, 1), ("error", 0x1D, 3), ("received", 0x23, 2), ("accepted", 0x24, 0),
        ("rejected", 0x25, 1), ("released", 0x26, 0), ("modified", 0x27, 3), ("source", 0x28, 11),
        ("target", 0x29, 7), ("delete-on-close", 0x2B, 0), ("delete-on-no-links", 0x2C, 0),
        ("delete-on-no-messages", 0x2D, 0), ("delete-on-no-links-or-messages", 0x2E, 0),
        ("coordinator", 0x30, 1), ("declare", 0x31, 1), ("discharge", 0x32, 2),
        ("declared", 0x33, 1), ("transactional-state", 0x34, 2), ("sasl-mechanisms", 0x40, 1),
        ("sasl-init", 0x41, 3), ("sasl-challenge", 0x42, 1), ("sasl-response", 0x43, 1),
        ("sasl-outcome", 0x44, 2), ("header", 0x70, 5), ("properties", 0x73, 13),
    ],
)  # fmt: skip
def test_composites_have_the_descriptors_and_fields_of_the_specification(name, code, fields):
    assert COMPOSITE[name].code == code
    assert len(COMPOSITE[name].fields) == fields


def test_all_composites_are_in_that_table():
    assert len(COMPOSITES) == 33


def test_sections_are_0x70_to_0x78_with_symbols():
    assert sorted(SECTIONS) == list(range(0x70, 0x79))
    assert SECTION_SYMBOLS["amqp:data:binary"] == 0x75
    assert SECTION_SYMBOLS["amqp:message-annotations:map"] == 0x72
    assert SECTION_SYMBOLS["amqp:amqp-value:*"] == 0x77
    assert SECTION_SYMBOLS["amqp:amqp-sequence:list"] == 0x76
    assert SECTION_SYMBOLS["amqp:properties:list"] == 0x73


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [("role", True, "receiver"), ("sasl-code", 2, "sys"), ("sasl-code", 9, ""), ("uint", 1, "")],
)
def test_choice_names_a_value(kind, value, name):
    assert choice(kind, value) == name


def test_primitive_goes_through_all_restrictions():
    assert primitive("delivery-number") == "uint"
    assert primitive("node-properties") == "map"
    assert primitive("error") == "error"
    assert RESTRICTED_TYPE["delivery-number"].source == "sequence-no"


def test_field_numbers_are_zero_where_any_value_may_stand():
    numbers = field_numbers(COMPOSITE["attach"])
    assert [place for place, number in enumerate(numbers) if number == 0] == [5, 6]
