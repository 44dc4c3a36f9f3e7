"""Two peers that keep the rules, on a network that delays: a source of legal conversations.

Each peer acts only on frames that it has read; what its TCP has received may be more (that is the
ACK number), and what the other has sent more still. Where the spec leaves a choice (when a delivery
counts, whether an aborted one does, what a sender's flow repeats) each peer makes its own.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from amqpscope.analysis import Analyzer, Step
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.types import Chunk, Connection
from dissectors.v1_0.bodies import (
    Accepted,
    Attach,
    Begin,
    Body,
    Disposition,
    Flow,
    Open,
    Source,
    Target,
    Transfer,
)
from dissectors.v1_0.encode import encode_frame, encode_header

MASK = (1 << 32) - 1
WINDOW = 40


class Sent(NamedTuple):
    """A unit on its way, and what its sender's TCP had received when it was sent."""

    sender: int
    body: Body | None
    raw: bytes
    ack: int


class Link:
    """A peer's own view of one link."""

    def __init__(self, handle: int, sending: bool, second: bool, initial: int) -> None:
        self.handle = handle
        self.sending = sending
        self.second = second
        self.count = self.base = initial
        """The delivery-count, unwrapped, as this peer knows it; for a receiver from the attach."""
        self.attached = False
        self.limit = initial
        self.drain = False
        self.raw_credit = 0
        self.open_id: int | None = None
        self.counted = False
        self.adopted = False
        """A receiver has taken over the sender's count since the open delivery began."""
        self.settled = False


class Peer:
    """One side."""

    def __init__(self, number: int, random: Random, world: World) -> None:
        self.number = number
        self.random = random
        self.world = world
        self.next_out = self.first_out = random.choice([0, 1, 7, MASK - 2, MASK])
        self.next_in: int | None = None
        self.limit = 0
        self.next_delivery = random.choice([0, 3, MASK - 1])
        self.links: list[Link] = []
        self.unsettled: list[tuple[int, Link]] = []
        """Received and not settled: delivery-id and link."""
        self.stated: list[tuple[int, Link]] = []
        """Received in mode second, with an outcome that was stated."""
        self.outcomes: list[int] = []
        """Sent, and the receiver has stated an outcome in mode second."""
        self.counts_first = random.random() < 0.5
        self.counts_aborted = random.random() < 0.5
        self.repeats = random.random() < 0.3
        self.read = self.got = 0
        """Units of the partner that were read, and that TCP has received."""
        self.tags = 0

    def send(self, body: Body | None, payload: bytes = b"") -> None:
        raw = encode_header() if body is None else encode_frame(body, 0, payload)
        self.world.put(self, body, raw)

    def flow(self, link: Link | None = None, **fields: object) -> None:
        next_in = None if self.next_in is None else self.next_in & MASK
        handle = None if link is None else link.handle
        common = (next_in, WINDOW, self.next_out & MASK, 1000, handle)
        self.send(Flow(*common, **fields))

    # What a peer does on its own.

    def act(self) -> None:
        link = self.random.choice(self.links)
        if link.sending:
            self.random.choice([self.transfer, self.transfer, self.transfer, self.tell_count])(link)
        else:
            self.random.choice([self.grant, self.settle, self.settle])(link)
        if self.random.random() < 0.1:
            self.flow()

    def transfer(self, link: Link) -> None:
        if self.next_in is None or self.next_out >= self.limit or not link.attached:
            return
        random, payload = self.random, b"\x00\x53\x75\xa0\x01x"
        if link.open_id is not None:
            aborted, more = random.random() < 0.2, random.random() < 0.5
            named = link.open_id & MASK if random.random() < 0.3 else None
            self.send(
                Transfer(link.handle, named, more=more and not aborted, aborted=aborted or None),
                b"" if aborted else payload,
            )
            if aborted or not more:
                self.finish(link, aborted)
        else:
            if link.count >= link.limit:
                return
            more = random.random() < 0.4
            settled = random.choice([None, False, True])
            tag = self.tags.to_bytes(4, "big")
            self.tags += 1
            self.send(
                Transfer(link.handle, self.next_delivery & MASK, tag, 0, settled, more), payload
            )
            link.open_id = self.next_delivery
            self.next_delivery += 1
            link.counted = self.counts_first
            link.count += self.counts_first
            if not more:
                self.finish(link, False)
        self.next_out += 1

    def finish(self, link: Link, aborted: bool) -> None:
        if aborted and not self.counts_aborted:
            # A receiver may take back what it counted; a sender has to stand by it.
            link.count -= link.counted and not link.sending and not link.adopted
        elif not link.counted:
            link.count += 1
        link.open_id = None

    def tell_count(self, link: Link) -> None:
        if not link.attached or (link.open_id is not None and self.random.random() < 0.5):
            return
        if link.drain and link.open_id is None:
            link.count = max(link.count, link.limit)
        credit = min(max(link.limit - link.count, 0), MASK)
        if self.repeats:
            credit = link.raw_credit
        self.flow(
            link, delivery_count=link.count & MASK, link_credit=credit, drain=link.drain or None
        )

    def grant(self, link: Link) -> None:
        credit = self.random.choice([0, 1, 2, 5, 5, 20, 1 << 31, MASK])
        count = link.count & MASK if link.attached else None
        drain = link.attached and self.random.random() < 0.2
        self.flow(link, delivery_count=count, link_credit=credit, drain=drain or None)

    def settle(self, link: Link) -> None:
        known = [number for number, on in self.unsettled if on is link]
        if not known:
            return
        number = self.random.choice(known)
        self.unsettled.remove((number, link))
        if link.second:
            self.stated.append((number, link))
        self.send(Disposition(True, number & MASK, None, None if link.second else True, Accepted()))

    # What it reads.

    def take(self, sent: Sent) -> None:
        body = sent.body
        if isinstance(body, Begin):
            self.next_in = body.next_outgoing_id
            self.limit = self.first_out + body.incoming_window
        elif isinstance(body, Attach):
            link = self.links[body.handle]
            link.attached = True
            if not link.sending:
                link.count = link.base = body.initial_delivery_count
        elif isinstance(body, Flow):
            self.take_flow(body)
        elif isinstance(body, Transfer):
            self.take_transfer(body)
        elif isinstance(body, Disposition):
            self.take_disposition(body)

    def take_flow(self, body: Flow) -> None:
        base = self.first_out
        if body.next_incoming_id is not None:
            base = near(body.next_incoming_id, self.next_out)
        self.limit = base + body.incoming_window
        if self.next_in is not None:
            self.next_in = near(body.next_outgoing_id, self.next_in)
        if body.handle is None:
            return
        link = self.links[body.handle]
        if link.sending:
            base = link.base
            if body.delivery_count is not None:
                base = near(body.delivery_count, link.count)
            link.limit, link.drain = base + body.link_credit, bool(body.drain)
            link.raw_credit = body.link_credit
        else:
            link.count = near(body.delivery_count, link.count)
            link.adopted = True

    def take_transfer(self, body: Transfer) -> None:
        self.next_in += 1
        link = self.links[body.handle]
        if link.open_id is None:
            link.open_id = body.delivery_id
            link.count += self.counts_first
            link.counted = self.counts_first
            link.settled, link.adopted = bool(body.settled), False
        if not body.more:
            if not body.aborted and not link.settled:
                self.unsettled.append((link.open_id, link))
            self.finish(link, bool(body.aborted))

    def take_disposition(self, body: Disposition) -> None:
        if body.role and not body.settled:
            self.send(Disposition(False, body.first, None, True, Accepted()))
        elif not body.role:
            known = [entry for entry in self.stated if entry[0] & MASK == body.first]
            for entry in known:
                self.stated.remove(entry)
                if self.random.random() < 0.5:
                    self.send(Disposition(True, body.first, None, True, Accepted()))


def near(value: int, known: int) -> int:
    """The number nearest to `known` that reads `value` in 32 bits."""
    return known + ((value - known + (1 << 31)) & MASK) - (1 << 31)


class World:
    """Both peers, and what is on its way."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.sent: list[Sent] = []
        self.by: tuple[list[int], list[int]] = ([], [])
        self.ends: tuple[list[int], list[int]] = ([0], [0])
        self.peers = (Peer(0, self.random, self), Peer(1, self.random, self))

    def put(self, peer: Peer, body: Body | None, raw: bytes) -> None:
        own = peer.number
        self.by[own].append(len(self.sent))
        self.sent.append(Sent(own, body, raw, self.ends[1 - own][peer.got]))
        self.ends[own].append(self.ends[own][-1] + len(raw))

    def receive(self, peer: Peer) -> None:
        """TCP takes some of what was sent; the peer reads some of that."""
        waiting = self.by[1 - peer.number]
        peer.got = self.random.randint(peer.got, len(waiting))
        for _ in range(self.random.randint(0, peer.got - peer.read)):
            sent = self.sent[waiting[peer.read]]
            peer.read += 1
            peer.take(sent)

    def begin(self) -> None:
        for peer in self.peers:
            peer.send(None)
            peer.send(Open(f"peer{peer.number}"))
        client, server = self.peers
        second = self.random.random() < 0.5
        initial = self.random.choice([0, 5, MASK - 1])
        for handle, sending in enumerate((True, False)):
            for peer in self.peers:
                first = initial if sending == (peer is client) else 0
                peer.links.append(Link(handle, sending == (peer is client), second, first))
        client.send(Begin(None, client.first_out & MASK, WINDOW, 1000))
        for link in client.links:
            self.attach(client, link, initial)
        if self.random.random() < 0.5:
            client.grant(client.links[1])
        server.got = len(self.by[0])
        for index in self.by[0][server.read :]:
            server.read += 1
            if isinstance(self.sent[index].body, Begin):
                server.send(Begin(0, server.first_out & MASK, WINDOW, 1000))
            server.take(self.sent[index])
        for link in server.links:
            self.attach(server, link, initial)

    def attach(self, peer: Peer, link: Link, initial: int) -> None:
        mode = 1 if link.second else 0
        name, source, target = f"link{link.handle}", Source("a"), Target("b")
        count = initial if link.sending else None
        if link.sending:
            link.count = link.base = link.limit = initial
        peer.send(
            Attach(
                name, link.handle, not link.sending, None, mode, source, target, None, None, count
            )
        )

    def run(self, steps: int) -> list[Sent]:
        self.begin()
        for _ in range(steps):
            peer = self.random.choice(self.peers)
            if self.random.random() < 0.5:
                self.receive(peer)
            else:
                peer.act()
        return self.sent


def conversation(seed: int, steps: int = 60) -> list[Sent]:
    """A legal conversation."""
    return World(seed).run(steps)


def analyse(sent: list[Sent], *, complete: bool = True, acks: bool = True) -> list[Step]:
    """Play it with all rules on."""
    analyzer = Analyzer({5672: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), complete)
    offsets = [0, 0]
    steps: list[Step] = []
    for place, each in enumerate(sent):
        time = 1_700_000_000_000_000_000 + place * 1_000_000
        ack = each.ack if acks else -1
        chunk = Chunk(connection, each.sender, offsets[each.sender], each.raw, place, time, ack)
        offsets[each.sender] += len(each.raw)
        steps += analyzer.feed(chunk)
    return steps
