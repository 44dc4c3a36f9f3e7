"""Field tables: which letters whom they trouble, sizes, names, and headers exchanges."""

from __future__ import annotations

import pytest

from kit.exchange_v0_9 import play


def found(text: str, setup: str = "channel") -> list[tuple[str, str]]:
    """The rules of tables that an exchange breaks, with their severities."""
    findings = play(text, setup).findings
    off = {"A09-TBL-01", "A09-TBL-02", "A09-TBL-14"}
    told = [f for f in findings if f.rule.startswith("A09-TBL") and f.rule not in off]
    return [(finding.rule, finding.severity) for finding in told]


def declare(arguments: str) -> str:
    return f'client: queue.declare[1] queue="q" arguments={arguments}'


def frame(table: str) -> str:
    """A queue.declare whose arguments are these octets, with their length."""
    return f"client: frame-0-x type=1 channel=1 0x0032000a0000017100{table.replace(' ', '')}"


@pytest.mark.parametrize(
    ("setup", "arguments", "expected"),
    [
        # what products define
        ("channel", "{a=1'b b=2'B c=3's d=4'u e=5 f=6'i g=7'l h=8'L i=0x00 j=null}", []),
        # the text of 0-9-1 has U, RabbitMQ has not
        ("channel", "{a=1'U}", [("A09-TBL-06", "warning")]),
        ("plain", "{a=1'U}", [("A09-TBL-05", "info")]),
        # products have x, the text has not
        ("plain", "{a=0x00ff}", [("A09-TBL-04", "warning")]),
        # the texts before 0-9-1 have few letters
        ("v0_9", '{a=1 b="x" c=null d={e=1}}', []),
        ("v0_9", "{a=1'l}", [("A09-TBL-04", "error")]),
        ("v0_8", "{a=null}", [("A09-TBL-04", "error")]),
        # read in two ways
        ("plain", "{a=5's}", [("A09-TBL-05", "info")]),
        ("plain", "{a=5'l}", []),
        ("channel", "{a=-5'l}", []),
        # seen in the wild in the place of V
        ("channel", "{a=null'00}", [("A09-TBL-04", "warning"), ("A09-TBL-06", "warning")]),
    ],
)
def test_letters(setup, arguments, expected):
    assert found(declare(arguments), setup) == expected


def test_qpid_has_letters_of_its_own():
    start = """
        client: header AMQP 0.9.1
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="qpid" kind="x"'c}
    """
    assert found(start, "") == []


def test_a_letter_that_nobody_defines_is_told_of_a_server_too():
    text = """
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: frame-0-x type=2 channel=1 0x003c00000000000000000000 2000 00000003 01615a
    """
    assert found(text.replace(" 2000 00000003 ", "200000000003"), "consuming") == [
        ("A09-TBL-04", "error")
    ]


@pytest.mark.parametrize(
    "table",
    [
        "00000009 0178 49 0000000a",  # one octet more than there is
        "00000006 0178 49 0000000a",  # one less: the value is cut
        "0000000b 0178 46 00000005 0179 56",  # the inner table is larger than the outer
    ],
)
def test_lengths(table):
    assert ("A09-TBL-07", "error") in found(frame(table))


def test_a_name_of_128_characters_is_not_too_long():
    assert found(declare('{"a"*128=1}')) == []
    assert found(declare('{"é"*120=1}')) == []
    assert found(declare('{"a"*129=1}')) == [("A09-TBL-03", "error")]


def test_an_empty_name():
    assert found(frame("00000006 00 49 0000000a")) == [("A09-TBL-03", "error")]


def test_before_0_9_1_the_first_of_two_names_counts():
    assert found(declare("{a=1 a=2}"), "v0_9") == [("A09-TBL-08", "info")]


def test_names_are_repeated_within_a_table_only():
    assert found(declare("{a={x=1} b={x=1}}")) == []
    assert found(declare("{a={x=1 x=2}}")) == [("A09-TBL-08", "warning")]


def test_milliseconds_in_a_table_are_told_once():
    text = declare("{at=1700000000000'T}")
    assert found(f"{text}\n{text}") == [("A09-TBL-10", "info")]


BIND = 'client: queue.bind[1] queue="q" exchange="{}" arguments={{x-match="some" a=1}}'


def test_x_match_counts_for_headers_exchanges_only():
    assert found(BIND.format("amq.topic"), "queue") == []
    assert found(BIND.format("unknown"), "queue") == []
    assert found(BIND.format("amq.match"), "queue") == [("A09-TBL-11", "error")]


def test_an_exchange_that_was_only_asked_for_may_be_of_any_type():
    text = """
        client: exchange.declare[1] exchange="h" type="headers" passive=true
        server: exchange.declare-ok[1]
    """
    assert found(text + BIND.format("h"), "queue") == []
    declared = text.replace(" passive=true", "")
    assert found(declared + BIND.format("h"), "queue") == [("A09-TBL-11", "error")]


def test_a_lost_frame_before_it_does_not_make_a_table_unsure():
    text = f"client: GAP\n{declare('{a=1 a=2}')}"
    assert ("A09-TBL-08", "warning") in found(text)
