"""Octets that other encoders make, and what this one refuses."""

import datetime
import decimal
import inspect

import pamqp.commands
import pamqp.frame
import pamqp.header
import pika.frame
import pika.spec
import pytest

from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_frame,
    encode_heartbeat,
    encode_method,
    encode_table,
)
from dissectors.v0_9.framing import decode_unit
from dissectors.v0_9.values import (
    FieldArray,
    Int,
    Long,
    PosixTime,
    ScaledDecimal,
    Table,
    Ulong,
    same,
)

RABBIT = dialect("0-9-1-rabbit")
SAMPLES = {"shortstr": "x", "longstr": "yy", "table": {"k": 1}, "bit": True}


@pytest.mark.parametrize("made", pamqp.commands.INDEX_MAPPING.values(), ids=lambda made: made.name)
def test_every_method_of_pamqp_decodes_and_encodes_again(made):
    method = made()
    for name in method.attributes():
        if getattr(method, name) is None:  # others have to stay as they are
            value = SAMPLES.get(method.amqp_type(name), 1)
            setattr(method, name, value)
    unit = decode_unit(pamqp.frame.marshal(method, 1), RABBIT)
    assert (unit.kind, unit.faults) == ("method", [])
    assert unit.name.replace("-", "") == made.name.lower().replace("-", "")
    for name, value in unit.fields():
        own = getattr(method, name.replace("-", "_"), None)
        if own is not None and not isinstance(own, dict):
            assert value == own
    again = encode_method(RABBIT, unit.name, dict(unit.fields()), 1)
    assert again == pamqp.frame.marshal(method, 1)


@pytest.mark.parametrize("code", pika.spec.methods, ids=lambda code: pika.spec.methods[code].NAME)
def test_every_method_of_pika_decodes_and_encodes_again(code):
    made = pika.spec.methods[code]
    wanted = list(inspect.signature(made.__init__).parameters.values())[1:]
    method = made(*[None for one in wanted if one.default is one.empty])
    for field in RABBIT.methods[code].row.fields:
        name = field.name.replace("-", "_")
        if hasattr(method, name) and not getattr(method, name):
            setattr(method, name, SAMPLES.get(field.type, 1))
    raw = pika.frame.Method(1, method).marshal()
    unit = decode_unit(raw, RABBIT)
    assert (unit.kind, unit.faults, unit.method.plan.code) == ("method", [], code)
    assert encode_method(RABBIT, unit.name, dict(unit.fields()), 1) == raw


def test_both_know_no_method_that_we_do_not():
    own = {plan.code for plan in RABBIT.methods.values() if not plan.row.extension}
    assert own == set(pika.spec.methods)
    assert own - set(pamqp.commands.INDEX_MAPPING) == {30 << 16 | 10, 30 << 16 | 11}


HEADERS = {
    "b": True, "i": 7, "big": 2**40, "neg": -3, "none": None, "text": "é",
    "list": [1, "a", {"z": None}], "table": {"k": "v"}, "decimal": decimal.Decimal("1.50"),
    "time": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
}  # fmt: skip


def test_a_content_header_of_pika_decodes():
    properties = pika.spec.BasicProperties(
        content_type="text/plain", headers=HEADERS | {"raw": b"\xff"}, delivery_mode=2,
        priority=9, timestamp=5, cluster_id="c",
    )  # fmt: skip
    unit = decode_unit(pika.frame.Header(1, 10, properties).marshal(), RABBIT)
    assert not unit.faults
    headers = unit.content.get("headers")
    assert headers.get("big") == 2**40
    assert headers.get("list")[2] == Table([("z", None)], b"V")
    assert headers.get("decimal") == ScaledDecimal(1, 15)
    assert same(headers.get("time"), PosixTime(1704067200))
    assert headers.get("raw") == b"\xff"
    assert unit.content.get("reserved") == "c"
    assert unit.content.body_size == 10


def test_a_content_header_of_pamqp_decodes():
    header = pamqp.header.ContentHeader(
        body_size=10,
        properties=pamqp.commands.Basic.Properties(headers=HEADERS | {"f": 1.5}, message_id="m"),
    )
    unit = decode_unit(pamqp.frame.marshal(header, 1), RABBIT)
    assert not unit.faults
    assert unit.content.get("message-id") == "m"
    assert unit.content.get("headers").get("f") == 1.5
    assert unit.content.get("headers").get("table") == Table([("k", "v")], b"S")


def test_values_without_letters_get_the_plainest():
    value = {"i": 1, "l": 2**40, "s": "x", "n": None, "a": [1.5], "t": {"k": b"\xff"}}
    assert encode_table(value) == encode_table(
        Table(
            [
                ("i", Int(1)),
                ("l", Long(2**40)),
                ("s", "x"),
                ("n", None),
                ("a", FieldArray([1.5], b"d")),
                ("t", Table([("k", b"\xff")], b"x")),
            ],
            b"IlSVAF",
        )
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: encode_method(RABBIT, "basic.ack", {"tag": 1}), "basic.ack has no field tag"),
        (lambda: encode_content_header(RABBIT, "basic", 0, {"x": 1}), "basic has no property x"),
        (lambda: encode_method(RABBIT, "basic.get", {"queue": "x" * 256}), "at most 255 octets"),
        (lambda: encode_table({"k": Ulong(1)}), "no letter is for a Ulong"),
        (lambda: encode_table(Table([("k", 1)], b"?")), "no type has the letter 0x3f"),
        (lambda: encode_table(Table([("k", 1)], b"II")), "1 fields of a table have 2 letters"),
        (lambda: encode_table(Table([("k", 1)], b"V")), "1 is not void"),
        (lambda: encode_table({"k": FieldArray([1], b"II")}), "1 items of an array"),
    ],
)
def test_what_cannot_be_encoded(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()


def test_frames_by_hand():
    assert encode_frame(7, 1, b"x", head=8, cycle=9, end=0) == bytes.fromhex("07090001000000017800")
    assert encode_body(b"", 1) == bytes.fromhex("03 0001 00000000 ce")
    assert encode_heartbeat(3, head=8) == bytes.fromhex("0800 0003 00000000 ce")
