"""Rows of deliveries, as numbers.

There is one for each message. To keep a row of texts, truths and times, and make Arrow's columns of
these, takes longer than to find them out; so what can be counted on to come again is told once.
"""

from __future__ import annotations

from typing import Final

from amqpscope.insight.counters import LinkNumbers
from dissectors.secrets import clean_name

FIELDS: Final = (
    "place", "frame", "packet", "time_ns", "wire_id", "octets", "transfers", "flags", "outcome",
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
REDELIVERED: Final = 8

PLACE: Final = ("connection", "link_id", "session_id", "link", "address", "sender")
"""What is told once of where deliveries are made."""


class Deliveries:
    """Rows of the table `deliveries`."""

    def __init__(self, ring: str) -> None:
        self.ring = ring
        self.cells: list[int] = []
        self.tags: list[bytes | None] = []
        self.places: list[tuple[int, LinkNumbers]] = []
        """Connections and links."""
        self.numbers: dict[tuple[int, int], int] = {}
        self.outcomes: dict[str, int] = {}
        # Those of the row before mostly are the next one's too.
        self.last_link: LinkNumbers | None = None
        self.last_number = NOTHING

    def __len__(self) -> int:
        return len(self.tags)

    def place(self, connection: int, link: LinkNumbers) -> int:
        """The number of where deliveries are made."""
        if link is self.last_link:
            return self.last_number
        key = (connection, link.ordinal)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.places)
            self.places.append((connection, link))
        self.last_link, self.last_number = link, number
        return number

    def place_rows(self) -> list[tuple[int | None, int | None, int | None, str, str, str]]:
        """What PLACE names, of each place."""
        return [
            (
                connection, link.ordinal, None if link.session is None else link.session.ordinal,
                clean_name(link.name), clean_name(link.address), link.sender,
            )
            for connection, link in self.places
        ]  # fmt: skip

    def outcome(self, name: str) -> int:
        """The number of an outcome."""
        if not name:
            return NOTHING
        return self.outcomes.setdefault(name, len(self.outcomes))

    def add(
        self, place: int, frame: int, packet: int, time: int, wire_id: int, octets: int,
        transfers: int, flags: int, outcome: str, settled_packet: int, latency: int,
        tag: bytes | None,
    ) -> None:  # fmt: skip
        """One more."""
        cells = self.cells
        cells.append(place)
        cells.append(frame)
        cells.append(packet)
        cells.append(time)
        cells.append(wire_id)
        cells.append(octets)
        cells.append(transfers)
        cells.append(flags)
        cells.append(self.outcome(outcome))
        cells.append(settled_packet)
        cells.append(latency)
        self.tags.append(tag)
