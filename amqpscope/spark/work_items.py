"""What tasks work on, in files of the staging area: a task reads what is its own.

What a closure holds goes to every task of a stage, and a petabyte has millions of slices. So the
driver stores work items by number, a thousand to a file, and closures hold only where these lie.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from amqpscope.spark.files import locate, open_octets
from amqpscope.spark.numbering import Keys, Numbers, frame_keys
from amqpscope.spark.parts import Staged
from amqpscope.spark.plan import Piece, Share
from amqpscope.spark.records import Part
from amqpscope.spark.stored import Stored
from amqpscope.spark.unpickling import loads
from amqpscope.spark.worker import RingPlan

CHUNK: Final = 1000
"""Items in a file."""
REMEMBERED: Final = 16
"""Rings of which a worker keeps in mind what it must know."""
SCHEMA: Final = pa.schema([("item", pa.large_binary())])
KINDS: Final = (Share, Piece, Part, RingPlan, Staged, Stored)
"""Classes that an item may consist of."""


@dataclass(frozen=True)
class Items:
    """Stored work items."""

    place: str
    count: int

    def get(self, number: int) -> Any:
        """One of them."""
        with open_octets(f"{self.place}/{number // CHUNK:06}") as file:
            batch = pa.ipc.open_file(file).get_batch(number % CHUNK)
            return loads(batch.column(0)[0].as_py(), *KINDS)


def store_items(folder: str, items: Iterable[object]) -> Items:
    """Write work items below a folder, under a name that no other has."""
    place = f"{folder}/_items/{uuid4().hex}"
    system, root = locate(place)
    system.create_dir(root, recursive=True)
    rest, count = iter(items), 0
    while chunk := list(islice(rest, CHUNK)):
        with (
            system.open_output_stream(f"{root}/{count // CHUNK:06}") as file,
            pa.ipc.new_file(file, SCHEMA) as writer,
        ):
            for item in chunk:
                octets = pa.array([pickle.dumps(item)], pa.large_binary())
                writer.write_batch(pa.record_batch([octets], SCHEMA))
        count += len(chunk)
    return Items(place, count)


class RingNumbers(NamedTuple):
    """What the final numbers of rings follow from, by their index."""

    known: Items
    """Files and packets before each, and frames before each slice, as the driver knows them."""
    keys: str
    """The folder with the keys of connections and of frames that rows refer to, a file a ring."""

    def of(self, ring: int) -> Numbers:
        """The numbers of a ring, when its keys are known."""
        return _numbers(self, ring)

    def frames_before(self, ring: int, place: int) -> int:
        """The frames of a ring before a slice."""
        before: int = _known(self.known, ring)[1][place]
        return before


@lru_cache(REMEMBERED)
def _known(known: Items, ring: int) -> Any:
    return known.get(ring)


@lru_cache(REMEMBERED)
def _numbers(rings: RingNumbers, ring: int) -> Numbers:
    found = Numbers(False, *_known(rings.known, ring))
    try:
        with open_octets(f"{rings.keys}/{ring}") as file, np.load(io.BytesIO(file.read())) as keys:
            found.accepted = keys["accepted"]
            found.referred, found.referred_numbers = keys["referred"], keys["numbers"]
    except FileNotFoundError:
        pass  # it has no connections
    return found


@lru_cache(REMEMBERED)
def plan_of(plans: Items, ring: int) -> RingPlan:
    """What a worker must know of a ring of several slices."""
    found: RingPlan = plans.get(ring)
    return found


def store_keys(folder: str, ring: int, blocks: Iterator[tuple[bytes, bytes | None]]) -> None:
    """Write the keys of a ring: of connections, and of frames with their numbers."""
    accepted: list[bytes] = []
    referred: list[bytes] = []
    numbers: list[bytes] = []
    for keys, ranks in blocks:
        if ranks is None:
            accepted.append(keys)
        else:
            referred.append(keys)
            numbers.append(ranks)
    sorted_keys, order = _ordered(referred)
    ranks_in_order = np.frombuffer(b"".join(numbers), dtype=np.int64)[order]
    system, root = locate(folder)
    system.create_dir(root, recursive=True)
    sink = io.BytesIO()
    np.savez(sink, accepted=frame_keys(accepted), referred=sorted_keys, numbers=ranks_in_order)
    with system.open_output_stream(f"{root}/{ring}") as file:
        file.write(sink.getvalue())


def _ordered(blobs: list[bytes]) -> tuple[Keys, Keys]:
    keys = np.frombuffer(b"".join(blobs), dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    return keys[order], order
