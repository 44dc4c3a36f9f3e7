"""Rows of deliveries, as numbers.

There is one for each message. To keep a row of texts, truths and times, and make Arrow's columns of
these, takes longer than to find them out; so what can be counted on to come again is told once.
"""

from __future__ import annotations

from typing import Final

FIELDS: Final = (
    "place", "frame", "packet", "time_ns", "delivery_id", "octets", "transfers", "flags", "outcome",
    "settled_packet", "latency_ns",
)  # fmt: skip
"""The cells of a row, in order."""
NOTHING: Final = -1
"""Of a delivery-id, an outcome or a packet: there is none."""
LARGEST: Final = (1 << 63) - 1
"""What a column can hold: on the wire are tags and sizes of 64 bits."""
COMPLETE: Final = 1
ABORTED: Final = 2
PRESETTLED: Final = 4

Place = tuple[int, str, str, str]
"""Connection, link, address and sender."""


class Deliveries:
    """Rows of the table `deliveries`."""

    def __init__(self, ring: str) -> None:
        self.ring = ring
        self.cells: list[int] = []
        self.tags: list[bytes | None] = []
        self.places: dict[Place, int] = {}
        self.outcomes: dict[str, int] = {}
        # Those of the row before mostly are the next one's too.
        self.last_place: Place = (0, "", "", "")
        self.last_number = NOTHING

    def __len__(self) -> int:
        return len(self.tags)

    def place(self, connection: int, link: str, address: str, sender: str) -> int:
        """The number of where deliveries are made."""
        number, name, node, peer = self.last_place
        if number == connection and name == link and node == address and peer == sender:
            return self.last_number
        found = (connection, link, address, sender)
        self.last_place = found
        self.last_number = self.places.setdefault(found, len(self.places))
        return self.last_number

    def outcome(self, name: str) -> int:
        """The number of an outcome."""
        if not name:
            return NOTHING
        return self.outcomes.setdefault(name, len(self.outcomes))

    def add(
        self, place: int, frame: int, packet: int, time: int, delivery_id: int, octets: int,
        transfers: int, flags: int, outcome: str, settled_packet: int, latency: int,
        tag: bytes | None,
    ) -> None:  # fmt: skip
        """One more."""
        cells = self.cells
        cells.append(place)
        cells.append(frame)
        cells.append(packet)
        cells.append(time)
        cells.append(delivery_id)
        cells.append(octets)
        cells.append(transfers)
        cells.append(flags)
        cells.append(self.outcome(outcome))
        cells.append(settled_packet)
        cells.append(latency)
        self.tags.append(tag)
