"""One frame in full: as a tree, and as octets with the fields marked."""

import re

import pytest

from amqpscope.filter import compile_filter
from amqpscope.report.tree import clock, instant, octets

LINK = """
client: attach name="l" handle=0 role=sender source=source()
                target=target(address="orders") initial-delivery-count=0
"""
HEX = re.compile(r"  ([0-9a-f]{6})  ((?:[0-9a-f*]{2} ?)+)")


def test_tree_of_a_transfer(show, opened):
    text = (
        LINK
        + """
@2s client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"t1" rcv-settle-mode=second
     | header(durable=true priority=4) data(b"hi")
"""
    )
    shown = show(opened(text), tree=True, where=compile_filter("transfer"))
    assert shown.lines[2:] == [
        "       packet 11, 2023-11-14 22:13:22.000000 UTC (1700000002.000000), 41 octets,"
        " sent by the client",
        "        size: 41",
        "        doff: 2",
        "        type: 0",
        "        channel: 0",
        "        transfer",
        "          descriptor: 0x14 = amqp:transfer:list (smallulong)",
        "          handle: 0 (uint0)",
        "          delivery-id: 0 (uint0)",
        '          delivery-tag: 0x7431 = "t1" (vbin8)',
        "          message-format: null (null)",
        "          settled: null (null)",
        "          more: null (null)",
        "          rcv-settle-mode: 1 = second (ubyte)",
        "        payload: 16 octets",
        "       message, 16 octets",
        "        header",
        "          descriptor: 0x70 = amqp:header:list (smallulong)",
        "          durable: true (boolean)",
        "          priority: 4 (ubyte)",
        "        data: described",
        "          descriptor: 0x75 = amqp:data:binary (smallulong)",
        '          value: 0x6869 = "hi" (vbin8)',
        "",
    ]


def test_a_message_of_several_transfers_is_put_together(show, opened):
    text = (
        LINK
        + """
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" more=true | raw 0x005375a00468
client: transfer handle=0 | raw 0x656c6c
"""
    )
    shown = show(opened(text), tree=True, where=compile_filter("transfer")).text
    assert shown.count("put together") == 1
    assert 'value: 0x68656c6c = "hell"' in shown


def test_octets_show_every_octet_once_and_in_order(show, root):
    from amqpscope.analysis import Analyzer
    from amqpscope.capture.pieces import Pieces

    path = root / "captures" / "v10_proton-labbroker_outcomes.pcap"
    analyzer = Analyzer()
    with Pieces(str(path)) as pieces:
        raws = [s.frame.raw for batch in pieces for p in batch for s in analyzer.feed(p)]
    shown = show(path, octets=True, show_secrets=True).text
    frames = re.split(r"\n\n?(?= *\d+ +\d+\.\d{6} )", shown)[1:]
    assert len(frames) == len(raws)
    for frame, raw in zip(frames, raws, strict=True):
        rows = HEX.findall(frame.partition("       message, ")[0])
        assert bytes.fromhex("".join(row for _, row in rows)) == raw
        assert [int(at, 16) for at, _ in rows] == sorted(int(at, 16) for at, _ in rows)


def test_octets_left_over_are_called_that(show, root):
    path = root / "captures" / "v10_proton-labbroker_connerror.pcap"
    shown = show(path, octets=True, where=compile_filter("malformed")).text
    assert "(left over)" in shown
    assert "malformed: open: list8 has 82 octets after its items" in shown


@pytest.mark.parametrize("width", [80, 99, 100, 160])
def test_octets_keep_to_the_terminal(show, root, width):
    path = root / "captures" / "v10_proton-labbroker_types.pcap"
    lines = show(path, octets=True, width=width).lines
    assert max(len(line) for line in lines if HEX.match(line)) <= width


def test_every_capture_can_be_shown_in_full(show, root):
    for path in sorted((root / "captures").glob("*.pcap")):
        shown = show(path, tree=True, octets=True)
        assert shown.code == 0


def test_times_beyond_the_calendar():
    assert instant(2**62) == "beyond the calendar"
    assert instant(-(2**62)) == "beyond the calendar"
    assert clock(2**63) != ""
    assert clock(0) == "1970-01-01 00:00:00.000000 UTC"


@pytest.mark.parametrize(
    ("value", "words"),
    [(b"", "no octets"), (b"\xff", "0xff"), (b"ab", '0x6162 = "ab"'), (b"a\x1b", "0x611b")],
)
def test_octets_as_text_where_they_are_that(value, words):
    assert octets(value) == words


def test_a_descriptor_that_is_cut_off_is_shown_as_what_is_left_of_it():
    from amqpscope.report.tree import describe
    from dissectors.tree import Node

    assert describe(Node("descriptor", "ulong", 0x53, 9, 10, None)) == "null"
