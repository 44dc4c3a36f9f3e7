"""The JSON lines contract: one object per unit, its keys, and every AMQP type told apart."""

import json

import pytest

from amqpscope.protocols.v1_0.json import json_value
from amqpscope.report.jsonl import seconds
from amqpscope.report.lint import finding_object
from amqpscope.runs.lint import CheckSettings, check
from dissectors.v1_0.codec import decode
from dissectors.v1_0.values import Char, Described, Float, Map, Symbol, Timestamp, Uint, Ulong, Uuid

ALWAYS = [
    "frame", "packet", "time", "connection", "from", "protocol", "kind", "channel", "name",
    "size", "fields",
]  # fmt: skip
SOMETIMES = ["payload", "missing", "malformed", "sections", "link", "delivery"]
V0_9 = [  # of AMQP 0-8 to 0-9-1
    "payload", "missing", "malformed", "answers", "content-of", "delivery", "queue", "publish",
    "body",
]  # fmt: skip


@pytest.fixture
def objects(show):
    """The frames of captures as objects; a member given twice is an error."""

    def pairs(members):
        assert len(dict(members)) == len(members)
        return dict(members)

    def read(*paths, late=False, **options):
        shown = show(*paths, form="jsonl", **options)
        assert shown.text.endswith("\n") or not shown.text
        found = [json.loads(line, object_pairs_hook=pairs) for line in shown.lines]
        return [each for each in found if (each["kind"] == "finding") is late]

    return read


def captures(root):
    return sorted(p for p in (root / "captures").glob("*.pcap*") if "_tls-" not in p.name)


def test_every_line_of_every_capture_keeps_the_contract(objects, root):
    kinds = set()
    for path in captures(root):
        for number, line in enumerate(objects(path), 1):
            keys = list(line)
            assert keys[: len(ALWAYS)] == ALWAYS
            assert keys[-1] == "findings"
            sometimes = SOMETIMES if line["protocol"] == "amqp-1.0" else V0_9
            assert [k for k in sometimes if k in keys] == keys[len(ALWAYS) : -1]
            assert line["frame"] == number
            assert line["from"] in {"client", "server"}
            assert (line["channel"] is None) == (line["kind"] == "header")
            assert ("malformed" in keys) == (line["kind"] == "malformed")
            assert ("payload" in keys) == (line["name"] in {"transfer", "content-body"})
            kinds.add(line["kind"])
    v0_9 = {"method", "content-header", "content-body", "heartbeat"}
    assert kinds == {"header", "sasl", "amqp", "empty", "malformed"} | v0_9


def test_what_is_found_too_late_is_an_object_of_its_own(objects, root):
    path = root / "captures" / "demo.pcapng"
    [found] = objects(path, late=True)
    [expected] = [f for f in check(str(path), CheckSettings()).findings if f.rule == "CON-008"]
    assert found == {"kind": "finding", **finding_object(expected, str(path))}


def test_every_finding_of_lint_is_in_a_frame_or_an_object_of_its_own(objects, root):
    for path in captures(root):
        expected = [(f.frame, f.rule) for f in check(str(path), CheckSettings()).findings]
        found = [(line["frame"], rule) for line in objects(path) for rule in line["findings"]]
        found += [(line["frame"], line["rule"]) for line in objects(path, late=True)]
        assert sorted(found) == sorted(expected), path.name


def test_a_transfer(objects, opened):
    line = objects(
        opened("""
client: attach name="a" handle=0 role=sender target=target(address="q") initial-delivery-count=0
@1.25s client: transfer handle=0 delivery-id=7 delivery-tag=0x00ff settled=false
     | header(durable=true) application-properties({"n"=uint 1}) data(b"hi")
""")
    )[-1]
    assert line == {
        "frame": 8,
        "packet": 11,
        "time": 1700000001.25,
        "connection": 1,
        "from": "client",
        "protocol": "amqp-1.0",
        "kind": "amqp",
        "channel": 0,
        "name": "transfer",
        "size": 48,
        "fields": {
            "handle": 0,
            "delivery-id": 7,
            "delivery-tag": {"binary": "00ff"},
            "settled": False,
        },
        "payload": 25,
        "sections": [
            {"name": "header", "value": {"durable": True}},
            {"name": "application-properties", "value": {"n": 1}},
            {"name": "data", "value": {"binary": "6869"}},
        ],
        "link": "a",
        "delivery": 7,
        "findings": line["findings"],
    }


def test_fields_are_told_by_the_names_of_the_specification(objects, opened):
    line = objects(
        opened("""
client: attach name="a" handle=0 role=receiver
      source=source(address="q" outcomes=[:"amqp:accepted:list"]) target=target()
      properties={:x=[uint 1 "s"]}
server: close error=error(condition=:amqp:not-found description="no")
""")
    )
    fields = line[-2]["fields"]
    assert list(fields) == ["name", "handle", "role", "source", "target", "properties"]
    assert fields["role"] is True
    assert fields["source"] == {
        "described": "source",
        "value": {"address": "q", "outcomes": [{"symbol": "amqp:accepted:list"}]},
    }
    assert fields["properties"] == {"x": [1, "s"]}
    assert line[-1]["fields"] == {
        "error": {"condition": {"symbol": "amqp:not-found"}, "description": "no"}
    }


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("header TLS 1.0.0", {"kind": "header", "channel": None, "name": "header", "size": 8}),
        ("empty", {"kind": "empty", "channel": 0, "name": "empty", "fields": {}}),
        ("frame type=2 channel=3 0xdead", {"kind": "unknown", "fields": {"type": 2, "doff": 2}}),
        (
            'body[0] @:example:performative ["x"]',
            {
                "kind": "amqp",
                "name": "example:performative",
                "fields": {"descriptor": {"symbol": "example:performative"}, "value": ["x"]},
            },
        ),
        ("close +[uint 1]", {"fields": {"+": [1]}}),
    ],
)
def test_other_units(objects, recorded, unit, expected):
    line = objects(recorded(f"client: header AMQP 1.0.0\nclient: {unit}\n"))[-1]
    assert {key: line[key] for key in expected} == expected


def test_a_malformed_unit_says_where_and_why(objects, recorded):
    line = objects(
        recorded('client: header AMQP 1.0.0\nclient: open container-id="c" hostname=raw 0x56\n')
    )
    fault = line[-1]["malformed"][0]
    assert line[-1]["kind"] == "malformed"
    assert line[-1]["fields"] == {"container-id": "c"}
    assert fault["path"] == "open.hostname"
    assert isinstance(fault["offset"], int)
    assert fault["reason"]


def test_what_was_not_captured_is_counted(objects, root):
    path = root / "captures" / "dmg_snap128-v10_proton-labbroker_large512.pcap"
    missing = [line["missing"] for line in objects(path) if "missing" in line]
    assert missing == [79, 17, 74, 32706, 485]


# fmt: off
VALUES = [
    ("40",                                     None),
    ("41",                                     True),
    ("56 00",                                  False),
    ("53 05",                                  5),
    ("54 fb",                                  -5),
    ("80 ff ff ff ff ff ff ff ff",             18446744073709551615),
    ("72 3f c0 00 00",                         1.5),
    ("82 3f f8 00 00 00 00 00 00",             1.5),
    ("82 7f f0 00 00 00 00 00 00",             {"double": "inf"}),
    ("72 7f c0 00 00",                         {"float": "nan"}),
    ("74 32 00 00 0f",                         {"decimal32": "1.5"}),
    ("73 00 01 f6 00",                         {"char": "\U0001f600"}),
    ("83 00 00 01 8b cf e5 68 00",             {"timestamp": 1700000000000}),
    ("98" + "00" * 16,                         {"uuid": str(Uuid(bytes(16)))}),
    ("a0 02 00 ff",                            {"binary": "00ff"}),
    ("a1 02 c3 a9",                            "\xe9"),
    ("a3 01 78",                               {"symbol": "x"}),
    ("45",                                     []),
    ("c0 04 02 41 53 01",                      [True, 1]),
    ("c1 05 02 a1 01 61 41",                   {"a": True}),
    ("c1 04 02 53 01 41",                      {"map": [[1, True]]}),
    ("c1 09 04 a1 01 61 41 a1 01 61 42",       {"map": [["a", True], ["a", False]]}),
    ("c1 09 02 a1 05 61 72 72 61 79 41",       {"map": [["array", True]]}),
    ("e0 04 02 52 01 02",                      {"array": [1, 2]}),
    ("e0 06 01 00 a3 01 78 45",                {"array": [[]], "described": [{"symbol": "x"}]}),
    ("00 a3 01 78 53 01",                      {"described": {"symbol": "x"}, "value": 1}),
    ("00 53 24 45",                            {"described": "accepted", "value": {}}),
]
# fmt: on


@pytest.mark.parametrize(("octets", "expected"), VALUES)
def test_no_type_is_lost(octets, expected):
    value, faults = decode(bytes.fromhex(octets))
    assert faults == []
    assert json.loads(json_value(value)) == expected


@pytest.mark.parametrize("value", ["\x00\x1b[31m\n", "\u2028", '"\\', "\ud800", "é"])
def test_text_is_ascii_and_comes_back(value):
    made = json_value(value)
    assert made.isascii()
    assert json.loads(made) == value


@pytest.mark.parametrize("value", [Symbol("s"), Char("c"), Uint(1), Ulong(2), Float(0.5)])
def test_values_of_subclasses_are_plain_json(value):
    assert json.loads(json_value(Map([("k", value)])))


def test_nested_values():
    value = Map([(Symbol("a"), [Described(Ulong(5), Timestamp(1)), Uuid(bytes(16))])])
    assert json.loads(json_value(value)) == {
        "a": [
            {"described": 5, "value": {"timestamp": 1}},
            {"uuid": "00000000-0000-0000-0000-000000000000"},
        ]
    }


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.000000"),
        (1_700_000_000_000_001_000, "1700000000.000001"),
        (1_700_000_000_123_456_789, "1700000000.123456789"),
    ],
)
def test_times_keep_their_digits(nanoseconds, text):
    assert seconds(nanoseconds) == text
