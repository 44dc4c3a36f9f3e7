"""What is kept of each link, consumer and channel."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.insight.series.downsample import Series
from amqpscope.stream.types import PEERS

MAX_LINKS: Final = 256
"""Links that are followed; of others it is only counted how many there are."""


class Names(NamedTuple):
    """What the numbers of a link, or of what is like one, are called."""

    credit: str
    """What the sender may still send; empty: nothing limits it by number."""
    empty: str
    """What it means that it is 0."""
    unsettled: str
    waiting: str
    """What is unsettled, in one word."""


# fmt: off
KINDS: Final = {
    "link":     Names("credit", "no credit", "unsettled deliveries", "unsettled"),
    "consumer": Names("prefetch left", "prefetch reached", "unacknowledged deliveries", "unacked"),
    "channel":  Names("", "", "unconfirmed publishes", "unconfirmed"),
}
# fmt: on
USUAL_KIND: Final = Names("may be sent", "nothing may be sent", "unsettled messages", "unsettled")


class LinkSeries:
    """One link, from attach to detach; or a consumer, or what a channel publishes."""

    def __init__(
        self, kind: str, connection: int, name: str, address: str, sender: str,
        window: Series | None = None,
    ) -> None:  # fmt: skip
        self.kind = kind
        """`link`, `consumer` or `channel`."""
        self.connection = connection
        self.name = name
        self.address = address
        self.sender = sender
        """`client` or `server`."""
        self.window = window
        """Transfers that the sender may still send on the session, whose links share it."""
        self.limit = 0
        """Of a consumer: the prefetch that binds it; 0 for none."""
        self.credit = Series()
        """Deliveries that the sender may still begin."""
        self.unsettled = Series()
        """Deliveries that are not settled."""
        self.deliveries = Series()
        """One event for each: see `rates`. Its values are the octets of the first frame."""
        self.latency = Series()
        """Nanoseconds from a delivery's first frame to the one that settled it."""

    @property
    def names(self) -> Names:
        """What its numbers are called."""
        return KINDS.get(self.kind, USUAL_KIND)


class SeriesStore:
    """The series of one capture, as far as they are followed."""

    def __init__(self, most_links: int = MAX_LINKS) -> None:
        self.links: list[LinkSeries] = []
        """In the order in which they came up."""
        self.left_out = 0
        """Links beyond the most that are followed."""
        self.most_links = most_links
        self.places: dict[tuple[int, str, str], Series] = {}
        """Deliveries by connection, exchange or queue, and sender."""

    def add(self, link: LinkSeries) -> LinkSeries | None:
        """Follow one more, if there is room for it."""
        if len(self.links) >= self.most_links:
            self.left_out += 1
            return None
        self.links.append(link)
        return link

    def place(self, key: tuple[int, str, str]) -> Series | None:
        """The deliveries of an exchange or queue; None: too many of them."""
        found = self.places.get(key)
        if found is None and len(self.places) < self.most_links:
            found = self.places[key] = Series()
        return found

    def newest(self, kind: str, connection: int, name: str, sender: int) -> LinkSeries | None:
        """The newest link, consumer or channel of a name."""
        wanted = (kind, connection, name, PEERS[sender])
        for link in reversed(self.links):
            if (link.kind, link.connection, link.name, link.sender) == wanted:
                return link
        return None

    def deliveries(self, connection: int, name: str, sender: str, kind: str) -> list[Series]:
        """The deliveries over time of what is counted as a link, by its kind there."""
        if kind != "link":
            found = self.places.get((connection, name, sender))
            return [] if found is None else [found]
        wanted = ("link", connection, name, sender)
        return [
            each.deliveries
            for each in self.links
            if (each.kind, each.connection, each.name, each.sender) == wanted
        ]
