"""The connections to brokers: their links and consumers, and the messages on them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from amqpscope.insight.journeys.nodes import source_node, target_node
from amqpscope.insight.journeys.records import Opening, Outcome, Peers, Records
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.declaration import Declaration
from amqpscope.model.broker.envelope import (
    DISCHARGED,
    OPEN,
    PENDING,
    PROVISIONAL,
    Commitment,
    Envelope,
    Route,
    Verdict,
)  # fmt: skip
from amqpscope.model.broker.journey import Anchor, Lane, Leg, Node, Transaction
from amqpscope.model.mark import Mark
from amqpscope.model.place import CHANNEL
from amqpscope.stream.types import CLIENT, SERVER

if TYPE_CHECKING:
    from amqpscope.insight.journeys.judge import Judge

DEFAULT_HOST: Final = "/"
GOING_ON: Final = (PENDING, DISCHARGED)
"""How far transactions are of which more comes."""
UNDECIDED: Final = (OPEN, PROVISIONAL)
"""What a client has said of messages that it can give back."""
MAX_PENDING: Final = 1024
"""Outcomes of a connection of which it is watched whether the broker has read them."""
MAX_PROVISIONAL: Final = 4096
"""Outcomes of a connection of which it is watched whether their transactions are committed."""
MAX_ENDED: Final = 4096
"""Messages without an outcome that are watched after their link has ended."""
MAX_TARGETS: Final = 1024
"""Targets of a connection that are looked up only once."""
MAX_GRANTS: Final = 32
"""Grants of a link that are kept, to find the one that a delivery needed."""


class Party(Records):
    """One connection to a broker, as the judge of its records knows it."""

    def __init__(self, judge: Judge, peers: Peers, broker: Broker) -> None:
        super().__init__()
        self.judge = judge
        self.peers = peers
        self.number = peers.number
        self.capture = peers.capture
        self.broker = broker
        self.virtual_host = DEFAULT_HOST
        self.lanes: dict[int, Lane] = {}
        self.legs: dict[int, Leg] = {}
        """Messages whose outcome is not known, by their ids."""
        self.ended: dict[int, Leg] = {}
        """Messages whose link, consumer or channel has ended."""
        self.targets: dict[str, Node] = {}
        """Where messages go that are published over one channel to different nodes."""
        self.anchor = Anchor(self)
        self.pending: deque[Leg] = deque(maxlen=MAX_PENDING)
        """Messages that a consumer has accepted, and the broker may not know it."""
        self.provisional: dict[int, Leg] = {}
        """Messages whose outcome was given in a transaction that is not over."""
        self.transactions: dict[int, Transaction] = {}
        """Those of which more may come."""
        self.broken = False
        """Octets of it are missing, or its beginning."""
        self.holed = False
        """Octets of it are missing, or a fault of a proxy has acted on it."""
        self.closing = False
        """A peer has said that it closes the connection."""
        self.over = False
        self.copied = False
        """Another capture has the same connection."""
        broker.connections += 1
        broker.open += 1

    @property
    def suffix(self) -> str:
        """What tells its nodes from those of the same name on another virtual host."""
        host = self.virtual_host
        return "" if host == DEFAULT_HOST else f" (virtual host {host})"

    # what is captured of it

    def look_for_loss(self) -> None:
        """Notice that not all of the connection is in view, where its witness has not said so."""
        if self.source is not None:
            self.source.look_for_loss()

    def lose(self, *, holed: bool) -> None:
        """Its beginning was not captured; `holed`: or octets are missing, or a fault has acted."""
        if holed:
            self.find_hole()
        if not self.broken:
            self.broken = True
            self.broker.broken += 1

    def find_hole(self) -> None:
        """Something may have happened to its messages that is not known."""
        if not self.holed:
            self.holed = True
            for lane in self.lanes.values():
                lane.holed = True

    # who it is

    def set_virtual_host(self, name: str) -> None:
        """The client asks for a part of the broker."""
        self.virtual_host = name

    def introduce(self, product: str, container: str) -> None:
        """The server says who it is, as far as these are not empty."""
        self.judge.introduce(self, product, container)

    # messages

    def follows(self) -> bool:
        """Whether the next message is to be followed."""
        sparing = self.judge.sparing
        return not self.copied and (sparing is None or not sparing.skips(self))

    def skip(self) -> None:
        """A message has passed that cannot be followed."""
        self.broker.counts["not followed"] += 1

    def overlook(self, lane: int, opening: Opening | None) -> None:
        """A consumer got a message that cannot be followed, perhaps any that its node had."""
        self.skip()
        found = self.lane(lane, opening)
        found.count += 1
        found.node.blurred = True

    def message(
        self, leg: Leg, lane: int, opening: Opening | None, target: str | None, way: Route | None,
        transaction: int, first: int, scrap: Envelope | None,
    ) -> None:  # fmt: skip
        """A message has passed."""
        if scrap is not None:
            if scrap.key in self.broker.scraps:
                leg.envelope = scrap
            elif leg.envelope is scrap:
                self.overlook(lane, opening)
                return
        self.place(leg, lane, opening, target, way)
        if not leg.verdict.word:
            leg.awaited = True
            self.legs[leg.mark.frame] = leg
            leg.lane.open[leg] = None
        leg.lane.count += 1
        if leg.node.is_private:
            self.legs.pop(leg.mark.frame, None)
            leg.close()
        elif leg.is_publish:
            if transaction:
                leg.transaction = self.transaction(transaction, leg.commitment)
            self.judge.publish(self, leg)
        else:
            self.judge.deliver(self, leg, first)

    def scrap(
        self, leg: Leg, lane: int, opening: Opening | None, target: str | None, way: Route | None
    ) -> None:
        """A publish that was not completed."""
        if not self.copied and not self.over:
            self.place(leg, lane, opening, target, way)
            self.broker.scrap(leg)

    def place(
        self, leg: Leg, number: int, opening: Opening | None, target: str | None, way: Route | None
    ) -> None:
        """Find out where a message goes, or comes from."""
        lane = self.lane(number, opening)
        leg.lane, leg.node = lane, lane.node
        if target is not None:
            leg.node = self.target_node(target, way)

    def lane(self, number: int, opening: Opening | None) -> Lane:
        """A lane by its number, which may be new."""
        found = self.lanes.get(number)
        if found is None:
            assert opening is not None
            found = self.open_lane(number, opening)
        return found

    def target_node(self, target: str, way: Route | None) -> Node:
        """Where one message goes, on a link without an address or by its routing key."""
        if way is not None:
            if len(self.targets) >= MAX_TARGETS:
                self.targets.clear()
            self.targets[target] = target_node(self.broker, way, self.suffix)
        return self.targets[target]

    def transaction(self, number: int, commitment: Commitment) -> Transaction:
        """One in which messages are published."""
        found = self.transactions.get(number)
        if found is None:
            found = self.transactions[number] = Transaction(commitment)
        return found

    def progress(self, transaction: int, commitment: Commitment) -> None:
        """A transaction in which messages were published is so far."""
        found = self.transactions.get(transaction)
        if found is not None:
            found.commitment = commitment
            if commitment.state not in GOING_ON:
                del self.transactions[transaction]

    # links and consumers

    def subscribe(self, lane: int, opening: Opening) -> None:
        """A consumer is complete, before anything was delivered to it."""
        if lane not in self.lanes:
            self.open_lane(lane, opening).counted = True

    def find_empty(self, route: Route, name: str, mark: Mark) -> None:
        """A queue had nothing for somebody who is no consumer of it."""
        node = target_node(self.broker, route, self.suffix)
        node.empty(Lane(self.number, self.capture, name, route, node), mark)

    def clear(self, route: Route) -> None:
        """A client removes all messages of a queue."""
        target_node(self.broker, route, self.suffix).waiting.clear()

    def open_lane(self, number: int, opening: Opening) -> Lane:
        """A link, consumer or channel over which messages pass."""
        peer, place, route = opening.peer, opening.place, opening.route
        if peer == CLIENT:
            node = target_node(self.broker, route, self.suffix)
        else:
            private = f"connection {self.number}, {place.name or place.key}"
            node = source_node(self.broker, route, self.suffix, private)
        lane = Lane(self.number, self.capture, place.key, route, node)
        lane.channel = place.channel
        lane.anchor, lane.legs = self.anchor, self.legs
        lane.holed = self.holed
        lane.name = place.name if place.kind not in (CHANNEL,) else ""
        if peer == SERVER:
            node.lanes.append(lane)
        self.lanes[number] = lane
        return lane

    def grant(self, lane: int, limit: int, mark: Mark) -> None:
        """A consumer asks for more."""
        found = self.lanes.get(lane)
        if found is None:
            return
        grants = found.grants
        if not grants or limit > grants[-1][0]:
            grants.append((limit, mark))
            if len(grants) > MAX_GRANTS:
                del grants[0]
                found.counted = False

    def drain(self, lane: int, unused: int, mark: Mark) -> None:
        """The broker has nothing more for a consumer, for so many that were asked for."""
        found = self.lanes.get(lane)
        if found is not None and self.judge.closed_world and unused > found.unused:
            found.unused = unused
            found.node.empty(found, mark)

    # what becomes of messages

    def answer(
        self, id: int, verdict: Verdict, settled: bool, peer: int, known: int, mark: Mark
    ) -> None:
        """Somebody says what became of a message."""
        leg = self.legs.get(id)
        if leg is None:
            self.hear_late(id, verdict)
            return
        if peer == SERVER and leg.read is None:
            before = leg.verdict.mark
            if before is not None and before.end <= known:
                leg.read = mark  # the broker answers the consumer's word
        if verdict.word != OPEN:
            self.judge.answer(self, leg, verdict, settled, mark)

    def hear_late(self, id: int, verdict: Verdict) -> None:
        """Something is said of a message whose lane has ended."""
        leg = self.ended.get(id)
        if leg is not None and verdict.word != OPEN:
            leg.latest = verdict

    def recover(self, channel: int, verdict: Verdict) -> None:
        """A client gives back all that it has on a channel."""
        for leg in self.legs.values():
            if not leg.is_publish and leg.lane.channel == channel and leg.outcome in UNDECIDED:
                leg.latest = verdict

    def conclude(self, outcomes: list[Outcome], mark: Mark) -> None:
        """A transaction is over: the outcomes that were given in it hold, or do not.

        What is rolled back waits for another outcome, where a client may still give one.
        """
        found: list[Leg] = []
        for outcome in outcomes:
            id, verdict = outcome.id, outcome.verdict
            leg = self.provisional.get(id)
            if leg is None:
                self.hear_late(id, verdict)
                continue
            leg.hear(verdict, mark)
            if leg.outcome == PROVISIONAL and not verdict.undone:
                continue
            del self.provisional[id]
            if leg.journey is None:
                continue
            if leg.outcome != PROVISIONAL:
                found.append(leg)
            elif not outcome.settled:
                self.legs[id] = leg
                leg.awaited = True
        self.judge.conclude(self, found)

    def await_commit(self, leg: Leg) -> None:
        """An outcome was given in a transaction."""
        self.provisional[leg.mark.frame] = leg
        if len(self.provisional) > MAX_PROVISIONAL:
            del self.provisional[next(iter(self.provisional))]

    def prove(self, end: int, mark: Mark) -> None:
        """The broker has read the client's octets up to here, as one of its frames shows."""
        pending = self.pending
        while pending:
            answered = pending[0].verdict.mark
            if answered is None or answered.end > end:
                return
            pending.popleft().read = mark

    def discard(self) -> None:
        """The broker ends something: what it has not read by then, it throws away (2.5.5)."""
        self.pending.clear()

    def cause(self, lane: Lane, first: int) -> Mark | None:
        """The consumer's frame without which a delivery could not have been sent.

        Its attach or consume; or, where the credit known before did not reach so far, a flow.
        """
        since = lane.route.since
        grants = lane.grants
        if first < 0 or not grants or (len(grants) < 2 and not lane.counted):
            return since
        position = first + lane.count - 1
        for place in range(len(grants) - 1, -1, -1):
            limit, mark = grants[place]
            if position >= limit:
                return since
            before = grants[place - 1][0] if place else first if lane.counted else -1
            if 0 <= before <= position:
                return mark
        return since

    # what is declared

    def declare(self, said: Declaration) -> None:
        """A client declares or uses something, or the broker answers."""
        if not self.copied:
            self.judge.declare(self, said)

    def count_modes(self, modes: list[str]) -> None:
        """The broker answers with the modes that it gives."""
        for mode in modes:
            self.broker.count_key("modes asked for -> given", mode)

    # what ends

    def close(self, mark: Mark) -> None:
        """A peer closes the connection: what has no outcome gets none from a consumer any more."""
        self.closing = True
        self.judge.end_declared(self)
        for number, lane in list(self.lanes.items()):
            if lane in lane.node.lanes:
                self.end_lane(number, mark, unused=False)

    def end_consumers(self, channel: int) -> None:
        """What was declared on a channel has no consumers there any more, or one less."""
        self.judge.end_consumers(self, channel)

    def end_channel(self, channel: int, mark: Mark) -> None:
        """All lanes of a channel end."""
        for number, lane in list(self.lanes.items()):
            if lane.channel == channel:
                self.end_lane(number, mark, unused=False)

    def end_lane(self, lane: int, mark: Mark, *, unused: bool) -> None:
        """A link or consumer ends, and with it what has no outcome."""
        ending = self.lanes.get(lane)
        if ending is None or (unused and ending.open):
            return
        del self.lanes[lane]
        ending.ended = mark
        lost = list(ending.open)
        for leg in lost:
            leg.lost = mark
            self.legs.pop(leg.mark.frame, None)
            self.ended[leg.mark.frame] = leg
        ending.open = {}
        if len(self.ended) > MAX_ENDED:
            self.ended = {}
        if ending in ending.node.lanes:
            ending.node.lanes.remove(ending)
        self.judge.take_back(lost)

    def end(self, mark: Mark, time: int, *, dropped: bool, over: bool) -> None:
        """A direction of the connection has ended, or the capture has."""
        for number in list(self.lanes):
            self.end_lane(number, mark, unused=False)
        self.ended.update(self.legs)
        self.legs.clear()
        self.pending.clear()
        self.ended.update(self.provisional)
        self.provisional.clear()
        if not self.over:
            self.over = True
            self.broker.leave(time, dropped and not self.closing)
        self.judge.end_declared(self)
        if over:
            self.judge.part(self)

    def leave(self) -> None:
        """Nothing more comes of the connection: let go of its model."""
        self.source = None
        self.anchor.holder = None
        self.ended = {}
