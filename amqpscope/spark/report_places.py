"""Where what the report tells of is to be seen, and the command that opens it there.

Numbers of frames and connections are those of a ring, so the command has to read the ring: a file
that stands alone by its name, several with --ring, by their directory if that still says
which they are, else one by one.
"""

from __future__ import annotations

import os
import shlex
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from amqpscope.capture.ring import in_order, ring_in
from amqpscope.spark.files import local_path
from amqpscope.spark.report_queries import FILES, PEERS, Asked

Report = dict[str, Any]
Row = dict[str, Any]
Place = tuple[str, int]
"""A ring and the number of a connection in it."""
LAST = "\U0010ffff"
"""Sorts behind all paths."""


class Places:
    """Which capture has a packet of a ring, how to open it, and who talks on a connection."""

    def __init__(self, tables: Asked, places: Collection[Place]) -> None:
        rings = sorted({ring for ring, _ in places})
        self.rings = tables.rings.of(rings)
        names, numbers = [[each[at] for each in places] for at in (0, 1)]
        wanted = pa.table({"ring": pa.array(names, pa.string()),
                           "connection": pa.array(numbers, pa.int64())})  # fmt: skip
        tables.database.register("wanted", wanted)
        self.files: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        """By ring: the first packet of each file, its place, and its path."""
        for row in tables.rows(FILES):
            file = row["first_packet"], row["ordinal"], row["path"]
            self.files[row["ring"]].append(file)
        self.connections = {(row["ring"], row["connection"]): row for row in tables.rows(PEERS)}
        self.known: dict[str, list[str]] = {}
        """Arguments that open rings."""

    def frame(self, ring: str, frame: int, packet: int) -> Report:
        """A frame of a ring, and its packet there."""
        return {**self.packet(ring, packet), "frame": frame,
                "command": self.command(ring, f"frame.number == {frame}")}  # fmt: skip

    def connection(self, place: Place) -> Report:
        """Where a connection begins; the command opens all of it."""
        ring, connection = place
        row = self.connections[place]
        found = self.packet(ring, row["first_packet"])
        if row["first_frame"] is not None:
            found["frame"] = row["first_frame"]
        return {**found, "connection": connection,
                "command": self.command(ring, f"connection == {connection}")}  # fmt: skip

    def begin(self, place: Place, frame: int | None, packet: int | None) -> Report:
        """A frame of a connection; where it is not known which, the connection."""
        if frame is None or packet is None:
            return self.connection(place)
        return {**self.frame(place[0], frame, packet), "connection": place[1]}

    def packet(self, ring: str, packet: int) -> Report:
        """The capture that has a packet of a ring, and its number there."""
        files = self.files[ring]
        first, _, path = files[max(bisect_right(files, (packet, len(files), LAST)) - 1, 0)]
        return {"capture": path, "packet": packet - first + 1, "ring": ring}

    def peers(self, place: Place) -> Report:
        """Who talks on a connection."""
        row = self.connections.get(place, {})
        names = ("client", "server", "client_product", "server_product", "first_packet", "gaps")
        known = {name: row.get(name) for name in names}
        return {"ring": place[0], "connection": place[1], **known}

    def command(self, ring: str, chosen: str) -> str:
        """What opens some frames of a ring."""
        if ring not in self.known:
            done = self.rings.get(ring)
            paths = [file.path for file in done.files] if done else []
            paths = paths or [path for _, _, path in self.files[ring]]
            self.known[ring] = [*(done.arguments if done else ()), *opening(paths)]
        return shlex.join(["amqpscope", "read", *self.known[ring], "-Y", chosen])


def opening(paths: Iterable[str]) -> list[str]:
    """The arguments with which `read` opens the files of a ring."""
    files = tuple(local_path(path) or path for path in paths)
    if len(files) == 1:
        return [*files]
    folder = files[0].rpartition("/")[0]
    if fill(folder, files):
        return ["--ring", folder]
    given = () if in_order(files) == files else ("--as-given",)
    return ["--ring", *given, *files]


def fill(folder: str, files: tuple[str, ...]) -> bool:
    """Whether the captures of a directory begin with these: more may have come since."""
    if any(path.rpartition("/")[0] != folder for path in files):
        return False
    if not os.path.isdir(folder):
        return True  # of another machine, where it can only be hoped for
    ring = ring_in(folder)
    return ring is not None and ring.files[: len(files)] == files
