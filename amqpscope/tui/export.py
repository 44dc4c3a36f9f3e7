"""Frames written to a capture file of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.tui.bookmarks import Bookmarks
from amqpscope.tui.store import Store
from amqpscope.wording import reason_of

BEGIN = (1001, 2001)
"""The sequence numbers of each peer's first octet."""


def write_frames(store: Store, marks: Bookmarks, numbers: Iterable[int], path: str) -> int:
    """Write some frames as pcapng, with the notes on them; returns how many.

    Each keeps its time and its place in its stream, so that what is left out between two frames is
    seen as missing and not taken for something that the peers did not send.
    """
    talks: dict[int, ConnectionWriter] = {}
    count = 0
    partial = f"{path}.part"
    try:
        with open(partial, "wb") as file:
            writer = CaptureWriter(file)
            for number in numbers:
                record = store.record(number)
                talk = talks.get(record.connection)
                if talk is None:
                    tcp = store.connections[record.connection].connection
                    talk = ConnectionWriter(writer, tcp.client, tcp.server)
                    if tcp.complete:
                        talk.open(record.time)
                    talks[record.connection] = talk
                talk.seq[record.sender] = BEGIN[record.sender] + record.offset
                octets, comment = store.files.octets(record), marks.comment(number)
                talk.data(record.sender, record.time, octets, comment=comment)
                talk.seq[record.sender] += record.missing
                count += 1
        os.replace(partial, path)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
    return count


def save_frames(
    store: Store, marks: Bookmarks, numbers: Iterable[int], path: Path
) -> tuple[str, bool]:
    """Write some frames to a new file; returns what to say of it, and whether it went well."""
    try:
        if path.exists():
            raise FileExistsError(17, "the file exists already")
        count = write_frames(store, marks, numbers, str(path))
    except OSError as error:
        return f"{path}: cannot be written: {reason_of(error)}", False
    return f"{count:,} frames written to {path}", True
