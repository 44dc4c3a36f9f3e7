"""Order keys turned into the numbers that one process would have given.

`Numbers` is what a ring's final numbers follow from: how many frames each slice completed, the
keys of all connections, the numbers of frames that rows refer to, and which packets each
file has. The keys of all frames are needed only slice by slice, to rank the rows of that slice.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.spark.cells import NONE, Cells
from amqpscope.spark.deliveries import (
    ABORTED,
    COMPLETE,
    FIELDS,
    LARGEST,
    NOTHING,
    PLACE,
    PRESETTLED,
    REDELIVERED,
    Deliveries,
)
from amqpscope.spark.schema import NUMBERED, REFERRING, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amqpscope.spark.gather import Block, Row

DIGITS: Final = re.compile(r"([0-9]+)")
Keys = np.ndarray[Any, np.dtype[np.int64]]
FLAGS: Final = {
    "complete": COMPLETE, "aborted": ABORTED, "presettled": PRESETTLED, "redelivered": REDELIVERED,
}  # fmt: skip
"""Columns of deliveries that are one bit each."""


def no_keys() -> Keys:
    """An empty array of keys."""
    return np.empty(0, dtype=np.int64)


@dataclass
class Numbers:
    """What a ring's numbers follow from."""

    whole: bool
    """One process saw it all: rows have their final numbers."""
    files: list[tuple[str, int]] = field(default_factory=list)
    """Path and the packets of the ring before it."""
    frames_before: list[int] = field(default_factory=list)
    """Frames of the ring before each slice."""
    accepted: Keys = field(default_factory=no_keys)
    """The keys of all connections, ascending."""
    referred: Keys = field(default_factory=no_keys)
    """Keys of frames that rows refer to, ascending, and below their numbers."""
    referred_numbers: Keys = field(default_factory=no_keys)

    def frame(self, key: int | None) -> int | None:
        """The number of a frame that a row refers to."""
        if key is None:
            return None
        return int(self.referred_numbers[np.searchsorted(self.referred, key)])

    def file_of(self, packet: int) -> tuple[str, int]:
        """The file that has a packet, and its number there."""
        low, high = 0, len(self.files)
        while high - low > 1:
            middle = (low + high) // 2
            if self.files[middle][1] < packet:
                low = middle
            else:
                high = middle
        path, before = self.files[low]
        return path, packet - before


def table_of(table: str, rows: list[Row] | Deliveries | Cells) -> pa.Table:
    """Rows for Arrow."""
    schema = arrow_schema(table)
    if isinstance(rows, Deliveries):
        arrays = _columns_of(rows, schema)
    elif isinstance(rows, Cells):
        arrays = _columns_of_cells(rows, schema)
    else:
        columns = zip(*rows, strict=True)
        arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(column, type=kind)
    except OverflowError:  # a damaged header may tell of 2^64 octets
        return pa.array([None if v is None else min(v, LARGEST) for v in column], type=kind)


def _columns_of(rows: Deliveries, schema: pa.Schema) -> list[pa.Array]:
    """The columns of deliveries."""
    cells = np.fromiter(rows.cells, np.int64, len(rows.cells)).reshape(-1, len(FIELDS)).T
    found: dict[str, Any] = dict(zip(FIELDS, cells, strict=True))
    places = zip(*rows.place_rows(), strict=True)
    for name, values in zip(PLACE, places, strict=True):
        named = pa.array([None if v == "" else v for v in values], schema.field(name).type)
        found[name] = named.take(pa.array(found["place"]))
    outcomes = pa.array(rows.outcomes, pa.string())
    found["outcome"] = outcomes.take(_known(found["outcome"], found["outcome"]))
    found["latency_ns"] = _known(found["latency_ns"], found["settled_packet"])
    for name in ("wire_id", "settled_packet"):
        found[name] = _known(found[name], found[name])
    for name, flag in FLAGS.items():
        found[name] = found["flags"] & flag != 0
    found["ring"] = pa.repeat(rows.ring, len(rows))
    found["tag"] = rows.tags
    found["delivery_id"] = found["frame"]
    found["time"] = pa.array(found["time_ns"] // 1000).cast(schema.field("time").type)
    return [
        found[name] if isinstance(found[name], pa.Array) else pa.array(found[name], kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]


def _columns_of_cells(rows: Cells, schema: pa.Schema) -> list[pa.Array]:
    """The columns of rows that are numbers."""
    cells = np.fromiter(rows.cells, np.int64, len(rows.cells)).reshape(len(rows), -1).T
    words = pa.array(list(rows.words), pa.string())
    found = [pa.repeat(rows.ring, len(rows))]
    for column, kind in zip(cells, schema.types[1:], strict=True):
        if kind == pa.bool_():
            found.append(pa.array(column != 0))
        else:
            known = pa.array(column, mask=column == NONE)
            found.append(words.take(known) if kind == pa.string() else known.cast(kind))
    return found


def _known(values: Keys, where: Keys) -> pa.Array:
    return pa.array(values, mask=where == NOTHING)


def encode_rows(table: str, rows: list[Row] | Deliveries | Cells) -> bytes:
    """Rows as octets, as they pass between stages."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, arrow_schema(table)) as writer:
        writer.write_table(table_of(table, rows))
    return bytes(sink.getvalue())


def octets_of(block: Block) -> bytes:
    """A block's rows or numbers as octets."""
    rows = block.rows
    return rows.tobytes() if isinstance(rows, array) else encode_rows(block.table, rows)


def octets_in_files(block: Block, numbers: Numbers) -> bytes:
    """The rows of a block as octets, with the files of their packets."""
    assert not isinstance(block.rows, array)
    if block.table != "findings":
        return encode_rows(block.table, block.rows)
    rows = with_file(block.table, table_of(block.table, block.rows), numbers)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def decode_rows(octets: bytes) -> pa.Table:
    """The rows in octets."""
    with pa.ipc.open_stream(octets) as reader:
        return reader.read_all()


def frame_keys(blobs: list[bytes]) -> Keys:
    """The keys of all frames of a slice, in order."""
    keys = np.frombuffer(b"".join(blobs), dtype=np.int64).copy()
    keys.sort()
    return keys


def number_rows(table: str, octets: bytes, numbers: Numbers, place: int, order: Keys) -> pa.Table:
    """Rows of a slice with their final numbers, and the day."""
    rows = decode_rows(octets)
    if not numbers.whole:
        connections = np.searchsorted(numbers.accepted, rows["connection"].to_numpy()) + 1
        frames = None
        if table in NUMBERED:
            before = numbers.frames_before[place]
            frames = np.searchsorted(order, rows["frame"].to_numpy()) + before + 1
        rows = renumber_rows(table, rows, connections, frames, numbers)
    return with_day(with_file(table, rows, numbers))


def renumber_rows(
    table: str, rows: pa.Table, connections: Keys, frames: Keys | None, numbers: Numbers
) -> pa.Table:
    """Rows with other numbers of connections and frames."""
    rows = _with(rows, "connection", connections)
    for name in REFERRING.get(table, ()):
        rows = _with(rows, name, [numbers.frame(key) for key in rows[name].to_pylist()])
    if frames is None:
        return rows
    if table == "findings":
        rows = _findings(rows, frames, numbers)
    elif table == "deliveries":
        rows = _with(rows, "delivery_id", frames)
    return _with(rows, "frame", frames)


def with_file(table: str, rows: pa.Table, numbers: Numbers) -> pa.Table:
    """Findings with the file that has their packet."""
    if table != "findings":
        return rows
    places = [numbers.file_of(packet) for packet in rows["packet"].to_pylist()]
    rows = _with(rows, "file", [path for path, _ in places])
    return _with(rows, "file_packet", [packet for _, packet in places])


def with_day(rows: pa.Table) -> pa.Table:
    """Rows with the day of their time."""
    return rows.append_column("day", pc.cast(rows["time"], pa.date32()))


def _findings(rows: pa.Table, frames: Keys, numbers: Numbers) -> pa.Table:
    """Findings whose related frames have their final numbers, in the text too."""
    keys = rows["frame"].to_pylist()
    messages = rows["message"].to_pylist()
    all_related = rows["related"].to_pylist()
    for at, related in enumerate(all_related):
        known = {str(keys[at]): str(frames[at])}
        for other in related:
            key, other["frame"] = other["frame"], numbers.frame(other["frame"])
            known[str(key)] = str(other["frame"])
        # Whole numbers only: the digits of a key may begin those of another.
        parts = DIGITS.split(messages[at])
        messages[at] = "".join(known.get(part, part) for part in parts)
    return _with(_with(rows, "message", messages), "related", all_related)


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    place = rows.schema.get_field_index(name)
    field = rows.schema.field(place)
    return rows.set_column(place, field, pa.array(values, type=field.type))
