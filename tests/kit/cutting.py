"""Captures cut into files as rotation does it, at random places; some of them compressed."""

import gzip
import struct

PCAP = {b"\xd4\xc3\xb2\xa1": ("<", 16), b"\xa1\xb2\xc3\xd4": (">", 16),
        b"\x4d\x3c\xb2\xa1": ("<", 16), b"\xa1\xb2\x3c\x4d": (">", 16),
        b"\x34\xcd\xb2\xa1": ("<", 24), b"\xa1\xb2\xcd\x34": (">", 24)}  # fmt: skip
SECTION = b"\x0a\x0d\x0d\x0a"
INTERFACE, PACKETS = 1, (2, 3, 6)


def pcap_records(data):
    """The file header, and each record; what is cut short comes last."""
    order, header = PCAP[data[:4]]
    at = 24
    records = []
    while at < len(data):
        size = len(data) - at
        if size >= header:
            size = header + struct.unpack_from(order + "I", data, at + 8)[0]
        records.append((data[:24], data[at : at + size]))
        at += size
    return records


def pcapng_records(data):
    """What a file must begin with for a block to make sense, and the block, for each packet."""
    at, order, head, pending = 0, "<", b"", b""
    records = []
    while at < len(data):
        if data[at : at + 4] == SECTION:
            order = "<" if data[at + 8] == 0x4D else ">"
        kind, size = struct.unpack_from(order + "II", data, at)
        block = data[at : at + size]
        if block[:4] == SECTION:
            head = block
        elif kind == INTERFACE:
            head += block
        elif kind in PACKETS:
            records.append((head, pending + block))
            pending = b""
        else:
            pending += block
        at += size
    return records


def records_of(path):
    """All records of a capture."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return pcap_records(data) if data[:4] in PCAP else pcapng_records(data)


def cut(path, folder, random, pieces=4):
    """Write a capture as several files; how many."""
    folder.mkdir(parents=True)
    records = records_of(path)
    places = sorted(random.randrange(len(records) + 1) for _ in range(pieces - 1))
    files = 0
    for start, stop in zip([0, *places], [*places, len(records)], strict=True):
        if start == stop:
            continue
        # tcpdump -C numbers like this, so 10 comes after 9.
        name = f"ring.pcap{files or ''}"
        data = joined(records[start:stop])
        if random.random() < 0.25:
            name, data = f"ring{files}.pcap.gz", gzip.compress(data, 1)
        (folder / name.replace("ring.pcap", f"ring{files}.pcap")).write_bytes(data)
        files += 1
    return files


def joined(records):
    """A file of some records, with a new section wherever they need another one."""
    data, head = b"", None
    for needed, record in records:
        if needed != head:
            data += needed if head is None or needed[:4] == SECTION else b""
            head = needed
        data += record
    return data
