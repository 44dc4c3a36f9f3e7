"""A stream that goes on without the states of its connections, as after an upgrade.

A state means something only to the build that wrote it. Another build makes those of connections
that go on anew: it reads the files again that these lie in, and drops the rows that come of it, as
the tables have them. Where the files are gone, or are too much to read again, what the tables
have of a connection is final, and what comes of it later is a connection that begins in its middle.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from amqpscope.spark.arrivals import Progress, list_captures
from amqpscope.spark.delta import Change, dataset
from amqpscope.spark.parts import Writer, rows_in
from amqpscope.spark.schema import table_schema
from amqpscope.spark.stored import PROVISIONAL, Stored
from amqpscope.spark.stream_numbering import name_of

if TYPE_CHECKING:
    from amqpscope.spark.directory import Directory
    from amqpscope.spark.manifest import State

LIMIT: Final = 1 << 30
"""Octets of a ring that are read again."""

Live = Mapping[str, list[tuple[str, Stored]]]
"""Files of provisional rows, by the name of their ring: table and file."""


@dataclass
class Again:
    """What is to be read again of a ring."""

    files: list[tuple[int, str, int]] = field(default_factory=list)
    """Ordinal, path and size, in order."""
    base: int = 0
    """The packets before them."""
    names: list[str] = field(default_factory=list)
    """The connections that go on, in hexadecimal."""
    lost: list[int] = field(default_factory=list)
    """The numbers of those of which the beginning is gone."""


class Rebuild:
    """What all rings of a stream need to go on."""

    def __init__(self, directory: Directory, state: State, live: Live) -> None:
        self.directory = directory
        self.state = state
        self.live = live
        self.known = state.rings.of(state.rings.counts())
        self.rings = {ring: self._again(ring) for ring in self.known}

    @property
    def lost(self) -> int:
        """How many connections cannot go on."""
        return sum(len(each.lost) for each in self.rings.values())

    @property
    def connections(self) -> int:
        """How many can."""
        return sum(len(each.names) for each in self.rings.values())

    def begin(self) -> str:
        """The offset that the stream goes on from, as an option of `arrivals`."""
        found = {}
        for ring in self.rings:
            paths = [file.path for file in self.known[ring].files]
            there = {file.path for file in list_captures(ring)}
            known = [path for path in paths if path in there or path == paths[-1]]
            found[ring] = Progress(len(paths), tuple(known))
        return json.dumps(found)

    def again(self) -> str:
        """What is to be read again, as an option of `arrivals`."""
        wanted = {ring: vars(each) for ring, each in self.rings.items() if each.names}
        return json.dumps(wanted) if wanted else ""

    def _rows(self, ring: str, table: str) -> list[dict[str, Any]]:
        parts = [rows_in(self.directory.target(0), name, file)
                 for name, file in self.live.get(name_of(ring), []) if name == table]  # fmt: skip
        return pa.concat_tables(parts).to_pylist() if parts else []

    def _again(self, ring: str) -> Again:
        rows, found = self._rows(ring, "connections"), Again()
        bases = self._bases(ring)
        there = {(file.path, file.size) for file in list_captures(ring)}
        left = LIMIT
        for ordinal, file in reversed(list(enumerate(self.known[ring].files))):
            if ordinal not in bases:  # it came too late and was not read
                continue
            left -= file.size
            if (file.path, file.size) not in there or left < 0:
                break
            found.files.insert(0, (ordinal, file.path, file.size))
        found.base = bases[found.files[0][0]] if found.files else 0
        for row in rows:
            if not found.files or row["first_packet"] <= found.base:
                found.lost.append(row["connection"])
            else:
                found.names.append(connection_name(row).hex())
        first = min((r["first_packet"] for r in rows if r["first_packet"] > found.base), default=0)
        # The file before may have the connection's SYN.
        while len(found.files) > 2 and first > bases[found.files[2][0]]:
            found.files.pop(0)
        found.base = bases[found.files[0][0]] if found.files else 0
        return found

    def _bases(self, ring: str) -> dict[int, int]:
        """The packets before each file that was read, by its ordinal."""
        table = self.directory.version("captures", self.state)
        assert table is not None
        rows = dataset(table, f"{self.directory.path}/captures", table_schema("captures"))
        chosen = (pc.field("ring") == ring) & (pc.field("packets") > 0)
        found = rows.to_table(columns=["ordinal", "first_packet"], filter=chosen)
        columns = (found[name].to_pylist() for name in found.column_names)
        return {ordinal: packet - 1 for ordinal, packet in zip(*columns, strict=True)}

    def settle(self, run: int) -> dict[str, Change]:
        """Let rows of connections be final of which the beginning is gone."""
        changes: dict[str, Change] = defaultdict(Change)
        for ring, again in self.rings.items():
            gone = pa.array(again.lost, pa.int64())
            target = self.directory.target(run)
            final, kept = Writer(target), Writer(target, f"{PROVISIONAL}{name_of(ring)}-")
            for table, file in self.live.get(name_of(ring), []) if again.lost else ():
                rows = rows_in(target, table, file)
                own = pc.is_in(rows["connection"], gone)
                changes[table].removed.append(file)
                over = rows.filter(own)
                at = over.schema.get_field_index("provisional")
                over = over.set_column(at, over.schema.field(at), pa.repeat(False, len(over)))
                for writer, some in ((final, over), (kept, rows.filter(pc.invert(own)))):
                    if len(some):
                        writer.add(table, some)
            for each in (*final.close(), *kept.close()):
                changes[each.table].added.append(each.file)
        return changes


def connection_name(row: Mapping[str, Any]) -> bytes:
    """The name that segments of a connection go by."""
    ends = [
        ip_address(row[f"{peer}_address"]).packed + row[f"{peer}_port"].to_bytes(2)
        for peer in ("client", "server")
    ]
    return b"".join(sorted(ends))
