"""What one connection shows of its messages: looks at its frames, beside its model, and says so.

What is said goes to a `Records`, in values that hold nothing of the model. Where a frame changes
what is known of a message, that is said with the frame; a judge need not ask.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from amqpscope.analysis import Conversation
from amqpscope.insight.journeys.declarations import FRAMES
from amqpscope.insight.journeys.parties import (
    GOING_ON,
    MAX_PENDING,
    MAX_PROVISIONAL,
    MAX_TARGETS,
)  # fmt: skip
from amqpscope.insight.journeys.records import Opening, Outcome, Records, Source
from amqpscope.model.broker.envelope import (
    ABORTED,
    ACCEPTED,
    CUT,
    PROVISIONAL,
    RELEASED,
    Envelope,
    Route,
    Verdict,
)
from amqpscope.model.broker.journey import Leg
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import CHANNEL, LINK, Place
from amqpscope.model.transactions import COMMITTED, ROLLED_BACK
from amqpscope.protocols.broker import BrokerView
from amqpscope.protocols.talk import Talk
from amqpscope.stream.types import CLIENT, SERVER

ENDINGS: Final = frozenset((
    "detach", "end", "close", "channel.close", "channel.close-ok", "basic.cancel-ok",
    "connection.close",
))  # fmt: skip
"""Frames that may end a link, consumer or channel."""
CANCELLED: Final = "basic.cancel-ok"
"""Ends a consumer; what it got stays its channel's, until it is acknowledged."""
CLOSINGS: Final = frozenset(("close", "connection.close"))
CLOSES: Final = CLOSINGS | {"detach", "end", "channel.close"}
"""Frames by which a peer that did not have to ends something."""
IDLE: Final = frozenset((
    "transfer", "disposition", "basic.publish", "basic.deliver", "basic.ack", "content-header",
    "content-body",
))  # fmt: skip
"""Frames that, where they neither complete a message nor answer one, have nothing to say."""
SELECTED: Final = frozenset(("confirm.select-ok", "tx.select-ok"))
"""Frames that switch a mode on."""
RECOVERIES: Final = frozenset(("basic.recover", "basic.recover-async", "basic.recover-sync"))
"""Frames by which a client gives back all that it has on a channel."""
CONCLUDED: Final = (COMMITTED, ROLLED_BACK)
"""What a broker does with a transaction that is over."""
INTRODUCTIONS: Final = frozenset(("open", "connection.start", "connection.open"))
CONTROL: Final = ("$coordinator",)
"""Where messages go that are none."""


class Track:
    """A link, consumer or channel over which messages pass, as its witness knows it."""

    def __init__(self, number: int, peer: int) -> None:
        self.number = number
        self.peer = peer
        self.known = False
        """It was stated to be open, and surely is."""
        self.varies = False
        """Each message has a way of its own."""


class Publishing:
    """A transaction in which messages are published, by one of them."""

    def __init__(self, number: int, delivery: Delivery, state: str) -> None:
        self.number = number
        self.delivery = delivery
        self.state = state


class Witness(Source):
    """Makes the records of one connection."""

    def __init__(self, conversation: Conversation, records: Records) -> None:
        self.conversation = conversation
        self.records = records
        records.source = self
        self.talk: Talk = conversation.talk
        self.view: BrokerView = conversation.talk.voice.broker
        self.client: PeerEnd = conversation.talk.ends[CLIENT]
        self.server: PeerEnd = conversation.talk.ends[SERVER]
        self.tracks: dict[Place, Track] = {}
        self.count = 0
        """Numbers given so far."""
        self.targets: set[str] = set()
        self.unproved: deque[int] = deque(maxlen=MAX_PENDING)
        """Where frames end by which a consumer accepted a message, while the broker may not have
        read them."""
        self.provisional: dict[Delivery, None] = {}
        """Messages whose outcome was given in a transaction that is not over."""
        self.publishing: dict[object, Publishing] = {}
        """Transactions in which messages are published, and that are not over."""
        self.broken = False
        """It was stated that its beginning is missing, or octets are."""
        self.holed = False
        """It was stated that octets are missing, or that a fault has acted."""
        self.look_for_loss()

    def look_for_loss(self) -> None:
        """Say that not all of the connection is in view, once that is so."""
        conversation, connection = self.conversation, self.conversation.connection
        holed = conversation.gaps > 0 or connection.marks is not None
        broken = holed or not connection.complete
        if (holed and not self.holed) or (broken and not self.broken):
            self.holed, self.broken = holed or self.holed, True
            self.records.lose(holed=holed)

    # frames

    def take(self, event: Event) -> None:
        """Say what a frame shows beside the message that it completes."""
        covers = event.covers
        if covers:
            for delivery in covers:
                self.answer(event, delivery)
            if self.provisional and event.transacts in CONCLUDED:
                self.conclude(event.mark)
            return
        name = event.name
        if event.aborts:
            self.abort(event)
        elif name in IDLE:
            return
        elif name == "flow":
            self.flow(event)
        elif name in ENDINGS:
            self.end_places(event)
        elif name in INTRODUCTIONS:
            self.introduce(event)
        elif name == "attach" or name in FRAMES:
            self.subscribe(event)
            self.declare(event)
            self.count_modes(event)
        elif name in SELECTED:
            self.count_modes(event)
        elif event.transacts in CONCLUDED:
            self.conclude(event.mark)
        elif name in RECOVERIES and event.peer == CLIENT:
            channel = event.frame.unit.channel
            self.records.recover(channel, Verdict(RELEASED, event.mark))
        returned = event.returns
        if returned is not None:
            self.answer(event, returned)

    def prove(self) -> None:
        """Say which outcomes the broker has read, by its frames so far."""
        # The model may be ahead of the frame at hand: its newest is then the proof.
        proved, found = self.server.proved, False
        unproved = self.unproved
        while unproved and unproved[0] <= proved:
            unproved.popleft()
            found = True
        if found:
            self.records.prove(proved, self.server.last_mark)

    def report_progress(self) -> None:
        """Say how far the transactions are in which messages were published."""
        for key, each in list(self.publishing.items()):
            commitment = self.view.commitment(each.delivery)
            if commitment.state != each.state:
                each.state = commitment.state
                self.records.progress(each.number, commitment)
                if commitment.state not in GOING_ON:
                    del self.publishing[key]

    # messages

    def complete(self, event: Event, delivery: Delivery) -> None:
        """A message has passed."""
        records = self.records
        if not records.follows():
            return
        if self.conversation.gaps:
            self.look_for_loss()
        if self.conversation.connection.marks is not None:
            # What a fault of a proxy made of it says nothing about a broker.
            self.look_for_loss()
            records.skip()
            return
        envelope, scrap = self.view.envelope(event), None
        if event.peer == SERVER and (envelope is None or envelope.torn):
            scrap = self.view.scrap(event)
        known = scrap if envelope is None else envelope
        if envelope is None and delivery.place.address in CONTROL:
            return
        if known is None and event.peer == CLIENT:
            records.skip()
            return
        lane = delivery.lane
        if lane is None:
            lane = delivery.place
        track, opening = self.tracks.get(lane), None
        if track is None or not track.known:
            track, opening = self.open(event.peer, lane, self.view.route(delivery))
        if known is None:
            records.overlook(track.number, opening)
            return
        leg = Leg(
            known, delivery.mark, event.mark, lane if lane.kind == LINK else delivery.place,
            is_publish=event.peer == CLIENT,
        )  # fmt: skip
        leg.redelivered = delivery.redelivered
        leg.hear(self.view.verdict(delivery), event.mark)
        transaction, first = 0, -1
        if leg.is_publish:
            leg.commitment = self.view.commitment(delivery)
            if leg.commitment.state in GOING_ON:
                transaction = self.number_transaction(delivery, leg.commitment.state)
        else:
            first = self.view.first_position(delivery)
        target, way = None, None
        if track.varies:
            target = self.view.target_key(delivery, known)
            way = self.new_way(target, delivery, known)
        records.message(
            leg, track.number, opening, target, way, transaction, first, scrap
        )  # fmt: skip

    def open(self, peer: int, place: Place, route: Route) -> tuple[Track, Opening]:
        """A lane that is new, or may be."""
        track = self.tracks.get(place)
        if track is None:
            self.count += 1
            track = self.tracks[place] = Track(self.count, peer)
        track.known, track.varies = True, route.varies
        return track, Opening(peer, place, route)

    def new_way(self, target: str, delivery: Delivery, envelope: Envelope) -> Route | None:
        """Where a message goes that has a way of its own; None where that was said before."""
        if target in self.targets:
            return None
        if len(self.targets) >= MAX_TARGETS:
            self.targets.clear()
        self.targets.add(target)
        route = self.view.route(delivery)
        if not route.address and not route.exchange:
            route.address = envelope.open().to
        return route

    def number_transaction(self, delivery: Delivery, state: str) -> int:
        """The number of the transaction in which a message is published."""
        key = self.view.transaction(delivery)
        found = self.publishing.get(key)
        if found is None:
            self.count += 1
            found = self.publishing[key] = Publishing(self.count, delivery, state)
        return found.number

    def abort(self, event: Event) -> None:
        """A client gives up a message that it has begun to send."""
        scrap, delivery = self.view.scrap(event), event.carries
        if scrap is not None and delivery is not None:
            self.scrap(delivery, scrap, Verdict(ABORTED, event.mark))

    def scrap(self, delivery: Delivery, envelope: Envelope, verdict: Verdict) -> None:
        """A publish that was not completed."""
        place = delivery.place
        leg = Leg(envelope, delivery.mark, delivery.mark, place, is_publish=True)
        leg.redelivered = delivery.redelivered
        leg.verdict = verdict
        track, opening, target, way = self.tracks.get(place), None, None, None
        if track is None or not track.known:
            track, opening = self.open(CLIENT, place, self.view.route(delivery))
        if track.varies:
            target = self.view.target_key(delivery, envelope)
            way = self.new_way(target, delivery, envelope)
        self.records.scrap(leg, track.number, opening, target, way)

    def answer(self, event: Event, delivery: Delivery) -> None:
        """Somebody says what became of a message."""
        verdict = self.view.verdict(delivery)
        word, mark = verdict.word, verdict.mark
        if word == PROVISIONAL:
            self.provisional[delivery] = None
            if len(self.provisional) > MAX_PROVISIONAL:
                del self.provisional[next(iter(self.provisional))]
        elif word == ACCEPTED and mark is not None and event.peer == CLIENT:
            self.unproved.append(mark.end)
        settled = delivery.settled is not None
        self.records.answer(
            delivery.mark.frame, verdict, settled, event.peer, event.known, event.mark
        )  # fmt: skip

    def conclude(self, mark: Mark) -> None:
        """A transaction is over: the outcomes that were given in it hold, or do not."""
        outcomes: list[Outcome] = []
        for delivery in list(self.provisional):
            verdict = self.view.verdict(delivery)
            settled = delivery.settled is not None
            outcomes.append(Outcome(delivery.mark.frame, verdict, settled))
            said = verdict.mark
            if verdict.undone or (
                verdict.word != PROVISIONAL and said is not None and said.frame <= mark.frame
            ):
                del self.provisional[delivery]
        if outcomes:
            self.records.conclude(outcomes, mark)

    # links and consumers

    def subscribe(self, event: Event) -> None:
        """A consumer is complete, before anything was delivered to it."""
        found = self.view.subscribes(event)
        if found is None:
            return
        place, route = found
        track = self.tracks.get(place)
        if track is None or not track.known:
            track, opening = self.open(SERVER, place, route)
            self.records.subscribe(track.number, opening)

    def flow(self, event: Event) -> None:
        """A consumer asks for more, or the broker has nothing more for it."""
        said = self.view.grant(event) if event.peer == CLIENT else self.view.drained_place(event)
        track = None if said is None else self.tracks.get(said[0])
        if said is None or track is None:
            return
        if event.peer == CLIENT:
            self.records.grant(track.number, said[1], event.mark)
        else:
            self.records.drain(track.number, said[1], event.mark)

    # what is declared

    def introduce(self, event: Event) -> None:
        """A server says who it is, or a client which part of it it wants."""
        if event.peer == CLIENT:
            host = self.view.virtual_host(event)
            if host:
                self.records.set_virtual_host(host)
            return
        identity = event.identifies
        if identity is not None:
            container = identity.name if event.name == "open" else None
            self.records.introduce(identity.product or "", container or "")

    def declare(self, event: Event) -> None:
        """A client declares or uses something, or the broker answers."""
        view, records = self.view, self.records
        cleared, emptied = view.clears(event), view.empties(event)
        if cleared is not None:
            records.clear(cleared)
        if emptied is not None:
            records.find_empty(emptied, event.name, event.mark)
        said = view.declares(event)
        if said is not None:
            records.declare(said)

    def count_modes(self, event: Event) -> None:
        """A broker answers with the modes that it gives."""
        modes = self.view.modes(event)
        if modes:
            self.records.count_modes(modes)

    # what ends

    def end_places(self, event: Event) -> None:
        """A link, consumer, session, channel or connection ends, at least for one peer."""
        name, mark = event.name, event.mark
        if name == "detach":
            self.declare(event)
        answered = self.view.answers_ending(event)
        if answered is not None:
            self.records.prove(answered.end, mark)
        elif event.peer == SERVER and name in CLOSES and self.unproved:
            # What the client sent before it knew of that is thrown away.
            self.unproved.clear()
            self.records.discard()
        if name in CLOSINGS:
            self.records.close(mark)
            for place, track in list(self.tracks.items()):
                if track.peer == SERVER:
                    del self.tracks[place]
        for place in self.view.leaves(event):
            left = self.tracks.get(place)
            if left is not None and left.peer == SERVER:
                self.end_track(place, mark)
        for place in self.talk.left(event):
            if place.kind == CHANNEL:
                self.end_channel(place.channel, mark)
            elif name == CANCELLED:
                cancelled = self.tracks.get(place)
                if cancelled is not None:
                    cancelled.known = False
                    self.records.end_lane(cancelled.number, mark, unused=True)
            else:
                self.end_track(place, mark)
            self.records.end_consumers(place.channel)

    def end_track(self, place: Place, mark: Mark) -> None:
        """A link or consumer ends."""
        track = self.tracks.pop(place, None)
        if track is not None:
            self.records.end_lane(track.number, mark, unused=False)

    def end_channel(self, channel: int, mark: Mark) -> None:
        """All lanes of a channel end."""
        self.records.end_channel(channel, mark)
        for place in list(self.tracks):
            if place.channel == channel:
                del self.tracks[place]

    def end(self) -> None:
        """A direction of the connection has ended, or the capture has."""
        self.look_for_loss()
        self.report_progress()
        conversation = self.conversation
        client, server = conversation.current.ends
        mark = NOWHERE if conversation.last[CLIENT] is None else client.last_mark
        for delivery, envelope in self.view.unfinished_messages(self.client):
            self.scrap(delivery, envelope, Verdict(CUT, mark))
        self.tracks.clear()
        dropped, over = bool(server.finished), bool(client.finished and server.finished)
        time = max(mark.time, server.last_mark.time)
        self.records.end(mark, time, dropped=dropped, over=over)
