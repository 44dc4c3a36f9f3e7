"""Captures cut anywhere give what one process gives, before Spark comes in."""

import random

import pytest

from amqpscope.capture.ring import natural
from kit.cutting import cut, records_of
from kit.spark.expected import counted, findings_of, linted, statistics_of
from kit.spark.same import replayed
from kit.spark.without_spark import tables
from kit.talks_v0_9 import OPENED

pytest.importorskip("pyarrow")


def captures(root):
    return sorted(path for path in (root / "captures").iterdir() if ".pcap" in path.suffix)


def wrong(rows, capture):
    found = []
    if findings_of(rows["findings"]) != linted(capture)[0]:
        found.append(f"{capture.name}: findings")
    parts = (rows[table] for table in ("connections", "sessions", "links"))
    if statistics_of(*parts) != counted(capture):
        found.append(f"{capture.name}: statistics")
    if frames_told(rows) != frames_seen(capture):
        found.append(f"{capture.name}: frames that rows speak of")
    return found


def frames_told(rows):
    """The frames and packets at which connections, deliveries and the longest stalls begin."""
    return {
        "connections": sorted((r["first_frame"], r["first_packet"]) for r in rows["connections"]),
        "links": sorted(
            (r["connection"], r["link_id"], r["first_frame"] or 0, r["first_packet"] or 0,
             r["longest_frame"] or 0, r["longest_packet"] or 0)
            for r in rows["links"]
        ),
        "sessions": sorted(
            (r["connection"], r["session_id"], r["longest_frame"] or 0, r["longest_packet"] or 0)
            for r in rows["sessions"]
        ),
    }  # fmt: skip


def frames_seen(capture):
    """The same of the whole capture, as one process sees it."""
    units, connections = replayed(capture)
    first = {}
    for unit in units:
        first.setdefault(unit["connection"], (unit["frame"], unit["packet"]))
    links, sessions = [], []
    for numbers in connections:
        for at, link in enumerate(numbers.links):
            stall = (link.credit.frame, link.credit.packet)
            links.append((numbers.number, at, link.first_frame, link.first_packet, *stall))
        for at, session in enumerate(numbers.sessions):
            stall = (session.window.frame, session.window.packet)
            sessions.append((numbers.number, at, *stall))
    return {"connections": sorted(first.values()), "links": sorted(links),
            "sessions": sorted(sessions)}  # fmt: skip


def test_slices_of_a_few_packets_give_the_same(root):
    found = [each for path in captures(root) for each in wrong(tables([path], 400), path)]
    assert found == []


def test_files_and_slices_cut_at_random_give_the_same(root, tmp_path):
    found = []
    for number, path in enumerate(captures(root)):
        folder = tmp_path / path.name
        cut(path, folder, random.Random(number), 2 + number % 9)
        files = sorted(folder.iterdir(), key=lambda file: natural(file.name))
        found += wrong(tables(files, 2000), path)
    assert found == []


HUGE = f"""{OPENED}
server: basic.deliver[1] consumer-tag="t" delivery-tag={2**64 - 1} exchange="e" routing-key="q"
server: content-header[1] class=basic body-size={2**64 - 1}
server: content-body[1] 0xff01
"""


def test_numbers_of_64_bits_are_the_largest_that_a_column_can_hold(recorded):
    rows = tables([recorded(HUGE)], 100_000)
    (delivery,) = rows["deliveries"]
    assert (delivery["wire_id"], delivery["octets"]) == (2**63 - 1, 2**63 - 1)
    assert not delivery["complete"]
    assert [row["octets"] for row in rows["statistics"]] == [2**63 - 1]


def test_a_datagram_cut_between_slices_is_put_together(root, tmp_path):
    """Fragments of one IP datagram in two files."""
    from amqpscope.capture.write import CaptureWriter

    whole = root / "captures" / "demo.pcapng"
    path = tmp_path / "fragmented.pcapng"
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        for _, block in records_of(whole):
            time = int.from_bytes(block[-len(block) + 12 : -len(block) + 16], "little") << 32
            time |= int.from_bytes(block[16:20], "little")
            size = int.from_bytes(block[20:24], "little")
            for packet in fragments(block[28 : 28 + size]):
                writer.packet(time * 1000, packet)
    rows = tables([path], 100)
    assert len(rows["connections"]) > 0
    assert wrong(rows, path) == []


def fragments(packet):
    """An Ethernet packet of IPv4 in two fragments, if it has room for that."""
    ethernet, ip, data = packet[:14], packet[14:34], packet[34:]
    if ethernet[12:14] != b"\x08\x00" or ip[0] != 0x45 or len(data) <= 40:
        return [packet]

    def part(offset, octets, more):
        head = bytearray(ip)
        head[2:4] = (20 + len(octets)).to_bytes(2, "big")
        head[6:8] = ((0x2000 if more else 0) | offset // 8).to_bytes(2, "big")
        return ethernet + bytes(head) + octets

    return [part(0, data[:32], more=True), part(32, data[32:], more=False)]
