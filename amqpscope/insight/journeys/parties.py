"""The connections to brokers: their links and consumers, and the messages on them."""

from __future__ import annotations

from collections import deque
from typing import Final

from amqpscope.analysis import Conversation
from amqpscope.insight.journeys.nodes import source_node, target_node
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import CUT, PROVISIONAL, Envelope, Route, Verdict
from amqpscope.model.broker.journey import Anchor, Lane, Leg, Node
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.mark import Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import CHANNEL, LINK, Place
from amqpscope.protocols.broker import BrokerView
from amqpscope.stream.types import CLIENT, SERVER

DEFAULT_HOST: Final = "/"
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


class Party:
    """One connection to a broker."""

    def __init__(self, conversation: Conversation, capture: int, broker: Broker) -> None:
        self.conversation = conversation
        self.capture = capture
        self.broker = broker
        self.view: BrokerView = conversation.talk.voice.broker
        self.client: PeerEnd = conversation.talk.ends[CLIENT]
        self.server: PeerEnd = conversation.talk.ends[SERVER]
        self.virtual_host = DEFAULT_HOST
        self.lanes: dict[Place, Lane] = {}
        self.legs: dict[Delivery, Leg] = {}
        """Messages whose outcome is not known."""
        self.ended: list[Leg] = []
        """Messages whose link, consumer or channel has ended."""
        self.targets: dict[str, Node] = {}
        """Where messages go that are published over one channel to different nodes."""
        self.anchor = Anchor(self)
        self.pending: deque[Leg] = deque(maxlen=MAX_PENDING)
        """Messages that a consumer has accepted, and the broker may not know it."""
        self.provisional: dict[Leg, None] = {}
        """Messages whose outcome was given in a transaction that is not over."""
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
        self.look_for_loss()

    @property
    def suffix(self) -> str:
        """What tells its nodes from those of the same name on another virtual host."""
        host = self.virtual_host
        return "" if host == DEFAULT_HOST else f" (virtual host {host})"

    def look_for_loss(self) -> None:
        """Notice that not all of the connection is in view."""
        conversation, connection = self.conversation, self.conversation.connection
        touched = connection.marks is not None
        if (conversation.gaps or touched) and not self.holed:
            self.find_hole()
        if not self.broken and (conversation.gaps or touched or not connection.complete):
            self.broken = True
            self.broker.broken += 1

    def find_hole(self) -> None:
        """Something may have happened to its messages that is not known."""
        if not self.holed:
            self.holed = True
            for lane in self.lanes.values():
                lane.holed = True

    def leg(self, event: Event, delivery: Delivery, envelope: Envelope) -> Leg:
        """The passage that a frame completes."""
        place = delivery.lane
        if place is None:
            place = delivery.place
        lane = self.lanes.get(place)
        if lane is None:
            lane = self.open_lane(event.peer, place, self.view.route(delivery))
        lane.count += 1
        leg = Leg(lane, delivery, envelope, event.mark, event.peer == CLIENT)
        leg.place = place if place.kind == LINK else delivery.place
        if lane.route.varies:
            leg.node = self.target_of(delivery, envelope)
        self.look(leg, delivery, event.mark)
        if not leg.outcome:
            self.legs[delivery] = leg
            lane.open[leg] = None
        return leg

    def overlook(self, event: Event, delivery: Delivery) -> None:
        """A message is not followed, so that any that its node had may have been delivered."""
        self.broker.counts["not followed"] += 1
        place = delivery.place if delivery.lane is None else delivery.lane
        if event.peer == SERVER:
            lane = self.lanes.get(place) or self.open_lane(SERVER, place, self.view.route(delivery))
            lane.count += 1
            lane.node.blurred = True

    def scrap(self, delivery: Delivery, envelope: Envelope, verdict: Verdict) -> None:
        """A publish that was not completed."""
        lane = self.lanes.get(delivery.place)
        if lane is None:
            lane = self.open_lane(CLIENT, delivery.place, self.view.route(delivery))
        leg = Leg(lane, delivery, envelope, delivery.mark, True)
        if lane.route.varies:
            leg.node = self.target_of(delivery, envelope)
        leg.verdict, leg.delivery = verdict, None
        self.broker.scrap(leg)

    def look(self, leg: Leg, delivery: Delivery, now: Mark) -> None:
        """See what became of a message, by the frames up to now.

        The model may be ahead: all frames of a packet are applied before the first is handed on.
        """
        verdict = self.view.verdict(delivery)
        mark = verdict.mark
        if verdict.word != leg.outcome and mark is not None and mark.frame <= now.frame:
            leg.verdict = verdict
            if verdict.read is not None:
                leg.read = verdict.read

    def target_of(self, delivery: Delivery, envelope: Envelope) -> Node:
        """Where one message goes, on a link without an address or by its routing key."""
        key = self.view.target_key(delivery, envelope)
        found = self.targets.get(key)
        if found is None:
            route = self.view.route(delivery)
            if not route.address and not route.exchange:
                route.address = envelope.open().to
            if len(self.targets) >= MAX_TARGETS:
                self.targets.clear()
            found = self.targets[key] = target_node(self.broker, route, self.suffix)
        return found

    def subscribe(self, event: Event) -> None:
        """A consumer is complete, before anything was delivered to it."""
        found = self.view.subscribes(event)
        if found is None:
            return
        place, route = found
        if place not in self.lanes:
            self.open_lane(SERVER, place, route).counted = True

    def find_empty(self, route: Route, event: Event) -> None:
        """A queue had nothing for somebody who is no consumer of it."""
        node = target_node(self.broker, route, self.suffix)
        lane = Lane(self.conversation.number, self.capture, event.name, route, node)
        node.empty(lane, event.mark)

    def open_lane(self, peer: int, place: Place, route: Route) -> Lane:
        """A link, consumer or channel over which messages pass."""
        number = self.conversation.number
        if peer == CLIENT:
            node = target_node(self.broker, route, self.suffix)
        else:
            private = f"connection {number}, {place.name or place.key}"
            node = source_node(self.broker, route, self.suffix, private)
        lane = Lane(number, self.capture, place.key, route, node)
        lane.channel = place.channel
        lane.anchor, lane.legs = self.anchor, self.legs
        lane.holed = self.holed
        lane.name = place.name if place.kind not in (CHANNEL,) else ""
        if peer == SERVER:
            node.lanes.append(lane)
        self.lanes[place] = lane
        return lane

    def grant(self, event: Event) -> None:
        """A consumer asks for more."""
        granted = self.view.grant(event)
        if granted is None:
            return
        place, limit = granted
        lane = self.lanes.get(place)
        if lane is None:
            return
        grants = lane.grants
        if not grants or limit > grants[-1][0]:
            grants.append((limit, event.mark))
            if len(grants) > MAX_GRANTS:
                del grants[0]
                lane.counted = False

    def cause(self, lane: Lane, delivery: Delivery) -> Mark | None:
        """The consumer's frame without which a delivery could not have been sent.

        Its attach or consume; or, where the credit known before did not reach so far, a flow.
        """
        since = lane.route.since
        grants = lane.grants
        if not grants or (len(grants) < 2 and not lane.counted):
            return since
        first = self.view.first_position(delivery)
        if first < 0:
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

    def prove(self) -> None:
        """See which outcomes the broker has read, by its frames so far."""
        # The model may be ahead of the frame at hand: its newest is then the proof.
        self.prove_to(self.server.proved, self.server.last_mark)

    def prove_to(self, end: int, proof: Mark) -> None:
        """The broker has read the client's octets up to here, as one of its frames shows."""
        pending = self.pending
        while pending:
            mark = pending[0].verdict.mark
            if mark is None or mark.end > end:
                return
            pending.popleft().read = proof

    def await_commit(self, leg: Leg) -> None:
        """An outcome was given in a transaction."""
        self.provisional[leg] = None
        if len(self.provisional) > MAX_PROVISIONAL:
            del self.provisional[next(iter(self.provisional))]

    def committed(self, mark: Mark) -> list[Leg]:
        """A transaction is over: the messages whose outcome holds from now on.

        What is rolled back waits for another outcome, where a client may still give one.
        """
        found: list[Leg] = []
        for leg in list(self.provisional):
            delivery = leg.delivery
            if delivery is not None:
                self.look(leg, delivery, mark)
                verdict = self.view.verdict(delivery)
                if leg.outcome == PROVISIONAL and not verdict.undone:
                    continue
                if leg.outcome != PROVISIONAL:
                    found.append(leg)
                elif delivery.settled is None:
                    self.legs[delivery] = leg
            del self.provisional[leg]
        return found

    def end(self, place: Place, mark: Mark) -> list[Leg]:
        """A place ends; its messages without an outcome."""
        if place.kind != CHANNEL:
            return self.end_lane(place, mark)
        lost: list[Leg] = []
        for each, lane in list(self.lanes.items()):
            if lane.channel == place.channel:
                lost += self.end_lane(each, mark)
        return lost

    def holds(self, place: Place) -> bool:
        """Whether messages of a place have no outcome yet."""
        lane = self.lanes.get(place)
        return lane is not None and bool(lane.open)

    def end_consumers(self, mark: Mark) -> list[Leg]:
        """A peer closes the connection: what has no outcome gets none from a consumer any more."""
        lost: list[Leg] = []
        for place in list(self.lanes):
            lost += self.end_consumer(place, mark)
        return lost

    def end_consumer(self, place: Place, mark: Mark) -> list[Leg]:
        """A place ends for one peer, if messages come to a consumer there."""
        lane = self.lanes.get(place)
        return self.end_lane(place, mark) if lane is not None and lane in lane.node.lanes else []

    def end_lane(self, place: Place, mark: Mark) -> list[Leg]:
        """A link or consumer ends; its messages without an outcome."""
        lane = self.lanes.pop(place, None)
        if lane is None:
            return []
        lane.ended = mark
        lost = list(lane.open)
        for leg in lost:
            leg.lost = mark
            if leg.delivery is not None:
                self.legs.pop(leg.delivery, None)
                self.ended.append(leg)
        lane.open = {}
        if len(self.ended) > MAX_ENDED:
            self.release()
        if lane in lane.node.lanes:
            lane.node.lanes.remove(lane)
        return lost

    def end_all(self, mark: Mark) -> list[Leg]:
        """The connection is over; its messages without an outcome."""
        if not self.over and not self.copied:
            for delivery, envelope in self.view.unfinished_messages(self.client):
                self.scrap(delivery, envelope, Verdict(CUT, mark))
        lost: list[Leg] = []
        for place in list(self.lanes):
            lost += self.end_lane(place, mark)
        self.ended += list(self.legs.values())
        self.legs.clear()
        self.pending.clear()
        self.ended += list(self.provisional)
        self.provisional.clear()
        return lost

    @property
    def addresses(self) -> tuple[str, int, str, int]:
        """Who talks to whom, the client first."""
        connection = self.conversation.connection
        return (*connection.client, *connection.server)

    def leave(self) -> None:
        """Nothing more comes of the connection: let go of its model."""
        self.anchor.holder = None
        self.release()

    def release(self) -> None:
        """Nothing more is to be said of messages whose link or connection has ended."""
        for leg in self.ended:
            leg.delivery = None
        self.ended = []
