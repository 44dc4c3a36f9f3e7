"""Names for what vendors put on the wire."""

import re
import subprocess
import sys

import pytest

from dissectors.v1_0 import names
from dissectors.v1_0.tables import COMPOSITES
from dissectors.v1_0.values import Described, Map, Symbol, Ulong

SESSION_FILTER = "com.microsoft:session-filter"


@pytest.mark.parametrize(
    ("descriptor", "name"),
    [
        (Ulong(0x0000468C00000004), "apache.org:selector-filter:string"),
        (Symbol("apache.org:selector-filter:string"), "apache.org:selector-filter:string"),
        (Ulong(0x120), "amqp:sql-filter"),
        (Ulong(0x173), "amqp:properties-filter"),
        (Ulong(0x1370000009), "com.microsoft:correlation-filter:list"),
        (Ulong(0x14), "amqp:transfer:list"),
        (Ulong(0x77), "amqp:amqp-value:*"),
        (0x24, "amqp:accepted:list"),
        (Symbol("example:thing"), "example:thing"),
        ("text", "text"),
    ],
)
def test_descriptor_has_its_symbol(descriptor, name):
    assert names.descriptor_name(descriptor) == name


@pytest.mark.parametrize(
    "descriptor",
    [Ulong(0x000000137000000C), Ulong(0x000001370000000C), Symbol(SESSION_FILTER)],
)
def test_session_filter_in_all_its_spellings(descriptor):
    assert names.descriptor_name(descriptor) == SESSION_FILTER
    assert names.descriptor_note(descriptor)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0x0000468C_000000FF, "apache:0xff"),
        (0x00000137_00000FFF, "microsoft:0xfff"),
        (0x13_70000FFF, "microsoft:0xfff"),
        (0x00000000_0000FFFF, "amqp:0xffff"),
        (0x00ABCDEF_00000001, "0x00abcdef00000001"),
        (0xFFFFFFFF_FFFFFFFF, "0xffffffffffffffff"),
    ],
)
def test_unknown_number_is_named_by_its_domain(number, name):
    assert names.descriptor_name(Ulong(number)) == name


@pytest.mark.parametrize("odd", [None, True, -1, 1.5, b"x", Described(Ulong(1), 2), [], Map()])
def test_descriptor_of_an_odd_type_is_still_called_something(odd):
    assert names.descriptor_name(odd)


def test_every_composite_is_named_by_its_code():
    assert [names.descriptor_name(Ulong(row.code)) for row in COMPOSITES] == [
        row.symbol for row in COMPOSITES
    ]


def test_no_code_of_an_extension_belongs_to_another():
    codes = [row.code for row in names.EXTENSIONS if row.code is not None]
    assert len(codes) == len(set(codes))
    assert not set(codes) & {row.code for row in COMPOSITES}


@pytest.mark.parametrize("family", ["", "connection:", "session:", "link:", "transaction:"])
def test_standard_conditions_are_explained(family):
    found = [name for name in names.CONDITIONS if re.fullmatch(rf"amqp:{family}[a-z-]+", name)]
    assert (
        len(found)
        == {"": 13, "connection:": 3, "session:": 4, "link:": 5, "transaction:": 3}[family]
    )


TABLES = [
    names.CONDITIONS, names.ANNOTATIONS, names.PROPERTIES, names.CAPABILITIES,
    names.OPERATIONS, names.MECHANISMS, names.MESSAGE_FORMATS,
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_explanations_are_one_line_without_a_full_stop(table):
    assert all(text and "\n" not in text and text[-1] != "." for text in table.values())


@pytest.mark.parametrize(
    ("lookup", "known"),
    [(names.annotation_note, "x-opt-jms-msg-type"), (names.descriptor_note, "amqp:sql-filter")],
)
def test_known_is_explained_and_unknown_is_empty(lookup, known):
    assert lookup(known)
    assert lookup("no such thing") == ""


def test_import_needs_only_the_tables():
    code = "import sys, dissectors.v1_0.names; print('dissectors.v1_0.codec' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
