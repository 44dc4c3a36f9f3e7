"""Octets that are no value, or not the value they claim to be (ENC and some TYP; spec 1.2, 1.6).

`frame_damage` finds the cause; each rule here reports one. A frame is judged only when all of it
is in the capture and it is sure that it begins where it was taken to. Payloads of transfers are
messages, with rules of their own.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.frame_damage import diagnosis_for
from amqpscope.rules.v1_0.message import _flaws as flaws
from dissectors.v1_0.bodies import Attach, Open
from dissectors.wire import MAX_FRAME_SIZE

LIKELY: Final = 65536
"""Octets that few frames exceed."""


def report_damage(event: Event, report: Reporter) -> None:
    """Report what is diagnosed under the rule that runs."""
    found = diagnosis_for(event, report.running.id)
    if found is not None:
        name = event.frame.unit.name
        path = found.path or (name if name != "malformed" else "")
        where = f"{path}: " if path else ""
        report.sure(event, f"{where}{found.reason}", path)


@rule("TYP-008", "1.3.2, 1.4", IMPLIED, ERROR, on="malformed")
def composite_not_described_list(event: Event, report: Reporter) -> None:
    """What follows the descriptor of a composite type is a list.

    A map with the fields' names, or a bare value where there is one field, cannot be read by rows.

    Bad (session):
        client: end[0] error=@ulong 0x1d {:condition=:amqp:not-found}   # <- TYP-008

    Good (session):
        client: end'80'd0[0] error=error'symbol'd0(condition=:amqp:not-found description="q")
        server: end[0]
    """
    report_damage(event, report)


@rule("TYP-015", "1.6.23", MUST, ERROR, on="malformed")
def map_odd_items(event: Event, report: Reporter) -> None:
    """A map has an even number of items: each key with its value.

    Bad (headers):
        client: open container-id="c" properties=raw 0xc10401a30161   # <- TYP-015

    Good (headers):
        client: open container-id="c" properties=raw 0xc10502a3016140
    """
    report_damage(event, report)


@rule("TYP-023", "1.6.16", IMPLIED, ERROR, on="malformed | odd-message")
def char_invalid(event: Event, report: Reporter) -> None:
    """A char is one Unicode scalar value: at most 0x10FFFF, and no half of a surrogate pair.

    Bad (headers):
        client: open container-id="c" properties={:c=raw 0x730000d800}   # <- TYP-023

    Good (headers):
        client: open container-id="c" properties={:c=raw 0x730010ffff}
    """
    report_damage(event, report)
    flaws.report_flaws(event, report)


@rule("TYP-024", "1.6.20", IMPLIED, ERROR, on="malformed | open | attach | odd-message")
def string_invalid_utf8(event: Event, report: Reporter) -> None:
    """A string is UTF-8.

    Names in another encoding reach one peer garbled and make another drop the connection. A byte
    order mark at its start is legal text but hardly meant, and gets a warning.

    Bad (headers):
        client: open container-id=raw 0xa103e46263   # <- TYP-024

    Good:
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
        client: open container-id="ä\U0001f600"
    """
    report_damage(event, report)
    flaws.report_flaws(event, report)
    body = event.body
    if isinstance(body, Open):
        path, text = "open.container-id", body.container_id
    elif isinstance(body, Attach):
        path, text = "attach.name", body.name
    else:
        return
    if text is not None and text.startswith("\ufeff") and event.trusted:
        report.sure(event, f"{path} begins with a byte order mark", path, severity=WARNING)


@rule("TYP-025", "1.6.21", IMPLIED, ERROR, on="malformed | odd-message")
def symbol_not_ascii(event: Event, report: Reporter) -> None:
    """A symbol is ASCII: no octet of it is 0x80 or more.

    Bad (headers):
        client: open container-id="c" offered-capabilities=raw 0xa302c3a4   # <- TYP-025

    Good (headers):
        client: open container-id="c" offered-capabilities=raw 0xa302617f
    """
    report_damage(event, report)
    flaws.report_flaws(event, report)


@rule("TYP-026", "1.6.2", IMPLIED, ERROR, on="malformed | odd-message")
def boolean_octet_invalid(event: Event, report: Reporter) -> None:
    """The octet of a boolean (format code 0x56) is 0 or 1.

    Bad (sending):
        client: detach[0] handle=0 closed=raw 0x5602   # <- TYP-026

    Good (sending):
        client: detach[0] handle=0 closed=raw 0x5601
        server: detach[0] handle=0 closed=true
    """
    report_damage(event, report)
    flaws.report_flaws(event, report)


@rule("ENC-001", "1.2, 1.6", IMPLIED, ERROR, on="malformed")
def unknown_format_code(event: Event, report: Reporter) -> None:
    """Every constructor octet is the format code of an encoding that the specification has.

    The rest of the frame cannot be read for certain, so only the first one in a frame is reported.
    Frames that two threads wrote into each other look like this.

    Bad (headers):
        client: open container-id="c" hostname=raw 0x46   # <- ENC-001

    Good (headers):
        client: open container-id="c" properties={:l=raw 0x45 :d=raw 0x7400000000}
    """
    report_damage(event, report)


@rule("ENC-002", "1.2", IMPLIED, ERROR, on="malformed")
def truncated_value(event: Event, report: Reporter) -> None:
    """A value ends within the list, map or array that contains it.

    Frames of which the capture lacks octets are never judged by this.

    Bad (headers):
        client: open container-id="c" hostname=raw 0xa10a6162   # <- ENC-002

    Good (headers):
        client: open container-id="c" hostname=raw 0xb1000000026162
    """
    report_damage(event, report)


@rule("ENC-003", "1.2.3", IMPLIED, ERROR, on="malformed")
def compound_size_mismatch(event: Event, report: Reporter) -> None:
    """The size of a list or map is the octets of its count and its items.

    A receiver that goes by the size and one that goes by the count read two different frames. When
    the items are all there and only the size disagrees, the size is taken for wrong.

    Bad (sending):
        client: frame channel=0 0x005316c002024341   # <- ENC-003

    Good (sending):
        client: frame channel=0 0x005316c003024341
        server: detach[0] handle=0 closed=true
    """
    report_damage(event, report)


@rule("ENC-004", "1.2.3", IMPLIED, ERROR, on="malformed")
def compound_count_mismatch(event: Event, report: Reporter) -> None:
    """A list or map holds as many items as its count says.

    When the size fits what surrounds the list, the count is taken for wrong.

    Bad (sending):
        client: frame channel=0 0x005316c003034341   # <- ENC-004

    Good (sending):
        client: frame channel=0 0x005316c00403434140
        server: detach[0] handle=0 closed=true
    """
    report_damage(event, report)


@rule("ENC-005", "1.6.22", IMPLIED, ERROR, on="malformed")
def compound8_overflow(event: Event, report: Reporter) -> None:
    """A list, map or array that needs more than 255 octets has the wide encoding.

    An encoder that forgets it writes the size modulo 256: a list of 255 octets and its count gets
    the size 0. Small tests pass, and the first long list breaks the connection.

    Bad (headers):
        client: body[0] @ulong 0x10 raw 0xc00e09 |
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                null null null null null
                :aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                :aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa   # <- ENC-005

    Good (headers):
        client: open
                container-id="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                hostname="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                offered-capabilities=:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                desired-capabilities=:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    """
    report_damage(event, report)


@rule("ENC-006", "1.2.4", IMPLIED, ERROR, on="malformed")
def array_size_mismatch(event: Event, report: Reporter) -> None:
    """The size of an array is the octets of its count, its constructor and its elements.

    Bad (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00601a301610000   # <- ENC-006

    Good (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00602a301610162
    """
    report_damage(event, report)


@rule("ENC-007", "1.2.4", IMPLIED, ERROR, on="malformed")
def array_elements_not_uniform(event: Event, report: Reporter) -> None:
    """An array has one constructor for all its elements, which follow without theirs.

    An encoder that writes elements as it writes list items repeats the constructor. Receivers take
    it for data, and read nonsense or nothing.

    Bad (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00702a30161a30162   # <- ENC-007

    Good (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00602a301610162
    """
    report_damage(event, report)


@rule("ENC-008", "1.2.4", IMPLIED, WARNING, on="malformed")
def array_empty_no_constructor(event: Event, report: Reporter) -> None:
    """An array has a constructor even when it has no elements.

    The layout has no exception for the empty array. Many decoders take it without, some do not.

    Bad (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00100   # <- ENC-008

    Good (headers):
        client: open container-id="c" offered-capabilities=raw 0xe00200a3
    """
    report_damage(event, report)


@rule("ENC-010", "1.2", IMPLIED, ERROR, on="malformed")
def described_constructor_malformed(event: Event, report: Reporter) -> None:
    """The octet 0x00 is followed by a descriptor, and that by the value it describes.

    Bad (headers):
        client: open container-id="c" properties=raw 0x005375   # <- ENC-010

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver target=target() source=source(address="q"
                filter={:f=@:example.com:a @:example.com:b "nested"})
    """
    report_damage(event, report)


@rule("ENC-013", "1.2, 2.3.2", IMPLIED, ERROR, on="malformed")
def decode_stops_at_frame_end(event: Event, report: Reporter) -> None:
    """A performative ends within its frame.

    Only the payload of a delivery may be spread over frames; a performative that does not fit the
    frame size cannot be sent.

    Bad (headers):
        client: frame channel=0 0x005310c01002a10163a10a6162   # <- ENC-013

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                more=true | raw 0x005375a004ff
        client: transfer[0] handle=0 | raw 0x00ff00
    """
    report_damage(event, report)


@rule("ENC-012", "1.2", IMPLIED, INFO, on="malformed", needs="anchored trusted")
def byte_order_wrong(event: Event, report: Reporter) -> None:
    """Numbers on the wire have their highest octet first.

    A frame size that is absurd, and reasonable with its octets reversed, looks as if it was written
    the other way round. It may be chance.

    Bad (headers):
        client: octets 0x1900000002000000005310c00c01a10963   # <- ENC-012

    Good (headers):
        client: octets 0x0000001102000000005310c00401a10163
    """
    raw, own = event.frame.raw, event.own
    if own.layer != 0 or len(raw) < 8:
        return
    size = int.from_bytes(raw[:4], "big")
    turned = int.from_bytes(raw[:4], "little")
    if size > MAX_FRAME_SIZE and 8 <= turned < LIKELY and 2 <= raw[4] <= 3:
        report.suspect(
            event, f"frame size is {size}; with its octets reversed it would be {turned}", "size"
        )
