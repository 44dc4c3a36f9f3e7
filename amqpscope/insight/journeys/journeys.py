"""Follows every message of a capture through the broker that it goes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqpscope.analysis import NOTHING, Conversation, Step, StepSink
from amqpscope.findings import Finding
from amqpscope.insight.journeys import facts
from amqpscope.insight.journeys.connections import Connections
from amqpscope.insight.journeys.declarations import FRAMES, Declarations
from amqpscope.insight.journeys.nodes import target_node
from amqpscope.insight.journeys.observer import Observer
from amqpscope.insight.journeys.parties import Party
from amqpscope.insight.journeys.sparing import Sparing
from amqpscope.model.broker.broker import (
    MAX_ASKED,
    MAX_FINISHED,
    MAX_JOURNEYS,
    Broker,
    is_renamed,
)  # fmt: skip
from amqpscope.model.broker.declaration import ASKED, UNBOUND, Declaration
from amqpscope.model.broker.envelope import (
    ABORTED,
    ACCEPTED,
    DISCHARGED,
    MODIFIED,
    OPEN,
    PENDING,
    PROVISIONAL,
    REFUSALS,
    REJECTED,
    RELEASED,
    Route,
    Verdict,
)
from amqpscope.model.broker.journey import (
    EXACT,
    MAX_LEGS,
    SAME_BODY,
    UNMATCHED,
    Journey,
    Leg,
    precedes,
)
from amqpscope.model.broker.moment import (
    AGAIN,
    DISORDERED,
    DRAINED,
    MATCHED,
    MISSED,
    OUTRANKED,
    REFUSED,
    REHEADED,
    REPLIED,
    SCRAPPED,
    YIELDING,
    Moment,
    is_anothers,
    kinds_of,
    pair_of,
)
from amqpscope.model.broker.overtaking import overtaken
from amqpscope.model.broker.sharing import is_fanned_out, is_missed, learn
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.mark import NOWHERE
from amqpscope.model.transactions import COMMITTED, ROLLED_BACK
from amqpscope.rules.broker import FAMILY, Reporter, doubted
from amqpscope.rules.dispatch import RuleSet
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
CONCLUDED: Final = (COMMITTED, ROLLED_BACK)
"""What a broker does with a transaction that is over."""
INTRODUCTIONS: Final = frozenset(("open", "connection.start", "connection.open"))
MIN_FOR_ANSWERS: Final = 5
"""How many properties a message has at least that has a reply-to."""
CONTROL: Final = ("$coordinator",)
"""Where messages go that are none."""
RANKED: Final = DISORDERED | OUTRANKED | YIELDING
"""Ways in which a message comes after others that were published later."""
ENOUGH: Final = 8
"""Messages with the same change of their header that rules look at."""


class Journeys(Connections):
    """Takes Steps; has, at the end, what brokers did with messages, and what is wrong with it."""

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        closed_world: bool = False,
        window: int = MAX_FINISHED,
        wanted: Sequence[Observer] = (),
        collects: bool = False,
        sparing: bool = False,
    ) -> None:
        super().__init__(
            window, MAX_ASKED if closed_world or wanted else MAX_JOURNEYS, collects=collects
        )
        self.closed_world = closed_world
        """All connections to the brokers are in the captures, by the user's word."""
        self.wanted = list(wanted)
        """What looks at messages as they pass."""
        self.declared: dict[Broker, Declarations] = {}
        self.reporter = Reporter(rules)
        families = self.reporter.checks.families
        spared = sparing and FAMILY not in families
        self.sparing = Sparing(families) if spared else None
        """Which messages to follow; None for all. Only without a profile can some be left out."""
        self.heard = False
        """Rules have looked at something, so that there may be findings."""
        self.watched: dict[int, bool] = {}
        """Whether a rule looks at moments of some kinds."""
        self.late: list[Finding] = []
        self.found: list[tuple[int, Finding]] = []
        """What is held back until it is known that no octets are missing."""

    @property
    def is_wanted(self) -> bool:
        """Whether a rule about brokers is to be reported."""
        return self.reporter.checks.wanted

    # what passes

    def follow(self, steps: list[Step]) -> None:
        """Take units, and add to each what it shows to be wrong with it."""
        for step in steps:
            for finding in self.take(step):
                if finding.frame == step.frame.number:
                    step.findings = [*step.findings, finding]
                else:
                    self.late.append(finding)

    def late_findings(self) -> list[Finding]:
        """What was found about units that were handed over before, since this was last asked."""
        found = self.late
        if found:
            self.late = []
        return found

    def take(self, step: Step, capture: int = 0) -> list[Finding]:
        """Take one unit; returns what it shows to be wrong."""
        if step.talk is not step.conversation.talk:
            return NOTHING  # A server that refuses its client's protocol takes no message of it.
        event = step.event
        if event.message is not None:
            carried = event.carries
            if carried is not None:
                self.complete(step, carried, capture)
        elif event.frame.unit.header is None:
            self.other(step, event, capture)
        if event.peer == SERVER:
            party = self.parties.get(step.conversation)
            if party is not None and party.pending:
                party.prove()
        if not self.heard:
            return NOTHING
        self.heard = False
        return self.findings()

    def other(self, step: Step, event: Event, capture: int) -> None:
        """A frame that completes no message."""
        covers = event.covers
        if covers:
            party = self.parties.get(step.conversation)
            if party is not None:
                for delivery in covers:
                    leg = party.legs.get(delivery)
                    if leg is not None:
                        self.answer(party, leg, delivery, event)
                if party.provisional and event.transacts in CONCLUDED:
                    self.conclude(party, event)
            return
        name = event.name
        if event.aborts:
            self.abort(self.party(step, capture), event)
        elif name in IDLE:
            return
        elif name == "flow":
            party = self.parties.get(step.conversation)
            if party is not None:
                self.flow(party, event)
        elif name in ENDINGS:
            party = self.parties.get(step.conversation)
            if party is not None:
                self.end_places(party, step, event)
        elif name in INTRODUCTIONS:
            self.introduce(step, event, capture)
        elif name == "attach" or name in FRAMES:
            party = self.party(step, capture)
            party.subscribe(event)
            self.declare(party, event)
            self.count_modes(party, event)
        elif name in SELECTED:
            self.count_modes(self.party(step, capture), event)
        elif event.transacts in CONCLUDED:
            self.conclude(self.party(step, capture), event)
        returned = event.returns
        if returned is not None:
            party = self.parties.get(step.conversation)
            leg = None if party is None else party.legs.get(returned)
            if party is not None and leg is not None:
                self.answer(party, leg, returned, event)

    def end_places(self, party: Party, step: Step, event: Event) -> None:
        """A link, consumer, session, channel or connection ends, at least for one peer."""
        name, mark = event.name, event.mark
        if name == "detach":
            self.declare(party, event)
        answered = party.view.answers_ending(event)
        if answered is not None:
            party.prove_to(answered.end, mark)
        elif event.peer == SERVER and name in CLOSES:
            # What the client sent before it knew of that is thrown away (2.5.5).
            party.pending.clear()
        lost: list[Leg] = []
        if name in CLOSINGS:
            party.closing = True
            declared = self.declared.get(party.broker)
            if declared is not None:
                declared.end(party.conversation.number, party.capture)
            lost += party.end_consumers(mark)
        for place in party.view.leaves(event):
            lost += party.end_consumer(place, mark)
        declared = self.declared.get(party.broker)
        for place in step.talk.left(event):
            if name != CANCELLED or not party.holds(place):
                lost += party.end(place, mark)
            if declared is not None and declared.consumers:
                number = party.conversation.number
                declared.end_consumers(number, party.capture, place.channel)
        self.take_back(lost)

    def take_back(self, lost: list[Leg]) -> None:
        """A broker has again what consumers had that are gone."""
        for leg in lost:
            if leg.journey is not None and not leg.is_publish:
                self.wait(leg.journey, leg)

    def abort(self, party: Party, event: Event) -> None:
        """A client gives up a message that it has begun to send."""
        scrap, delivery = party.view.scrap(event), event.carries
        if scrap is not None and delivery is not None and not party.copied:
            party.scrap(delivery, scrap, Verdict(ABORTED, event.mark))

    def declare(self, party: Party, event: Event) -> None:
        """A client declares or uses something, or the broker answers."""
        view = party.view
        cleared, emptied = view.clears(event), view.empties(event)
        if cleared is not None:
            target_node(party.broker, cleared, party.suffix).waiting.clear()
        if emptied is not None:
            party.find_empty(emptied, event)
        said = view.declares(event)
        if said is not None and not party.copied:
            if said.kind == "queue" and said.action == ASKED:
                node = party.broker.node(said.name + party.suffix, True)
                # One that goes with its connection or consumers takes its messages with it.
                passing = said.limited or said.exclusive or said.fleeting
                node.limited = node.limited or passing
                node.fleeting = not said.facts["durable"]
            if said.waiting:
                node = party.broker.node(said.name + party.suffix, True)
                node.had_older = node.had_older or not node.published
            if said.empty:
                party.broker.node(said.name + party.suffix, True).found_empty(event.mark)
            said.connection, said.capture = party.conversation.number, party.capture
            self.heard = True
            declared = self.declarations_of(party)
            known = declared.earlier(said, party.suffix)
            if known is not None and self.is_holed(known.capture, known.connection):
                declared.forget(known, party.suffix)
            declared.take(said, party.suffix, self.reporter)

    def count_modes(self, party: Party, event: Event) -> None:
        """A broker answers with the modes that it gives."""
        for mode in party.view.modes(event):
            party.broker.count_key("modes asked for -> given", mode)

    def declarations_of(self, party: Party) -> Declarations:
        """What was declared at the broker of a connection."""
        found = self.declared.get(party.broker)
        if found is None:
            found = self.declared[party.broker] = Declarations()
        return found

    def end(self, conversation: Conversation) -> None:
        """A direction of a connection is over, or the capture is."""
        party = self.parties.get(conversation)
        if party is None:
            return
        party.look_for_loss()
        newest = conversation.last[CLIENT]
        event = conversation.current.ends[CLIENT].last_mark if newest is not None else NOWHERE
        self.take_back(party.end_all(event))
        if not party.over:
            party.over = True
            dropped = bool(conversation.current.ends[SERVER].finished) and not party.closing
            last = conversation.current.ends[SERVER].last_mark
            party.broker.leave(max(event.time, last.time), dropped)
        self.declarations_of(party).end(conversation.number, party.capture)
        if all(end.finished for end in conversation.current.ends):
            del self.parties[conversation]
            self.numbered.pop((party.capture, conversation.number), None)
            if self.addressed.get(party.addresses) is party:
                del self.addressed[party.addresses]
            party.leave()

    def findings(self) -> list[Finding]:
        """What was found since this was last asked; nothing yet of what may turn out otherwise."""
        found = self.reporter.take()
        if self.closed_world:
            self.found += found
            return []
        return [finding for _, finding in found]

    def finish(self) -> list[Finding]:
        """All has passed: what is left to report."""
        return [finding for _, finding in self.remaining_findings()]

    def remaining_findings(self) -> list[tuple[int, Finding]]:
        """What is left to report, each with the number of its capture."""
        for party in self.parties.values():
            party.look_for_loss()
        for each in dict.fromkeys(self.brokers.values()):
            self.look_for_lost(each)
        self.found += self.reporter.take()
        broken = any(broker.broken for broker in self.brokers.values())
        found, self.found = self.found, []
        return [(capture, doubted(each) if broken else each) for capture, each in found]

    def notes(self) -> list[str]:
        """What could not be followed, and makes what was found less than all."""
        return [
            f"{broker.forgotten:,} messages at {broker.name} were followed no further:"
            " too many others were under way"
            for broker in dict.fromkeys(self.brokers.values())
            if broker.forgotten and broker.facts["delivered"]
        ]

    # messages

    def complete(self, step: Step, delivery: Delivery, capture: int) -> None:
        """A message has passed."""
        party = self.party(step, capture)
        if party.copied or (self.sparing is not None and self.sparing.skips(party)):
            return
        if step.conversation.gaps:
            party.look_for_loss()
        if step.conversation.connection.marks is not None:
            # What a fault of a proxy made of it says nothing about a broker.
            party.look_for_loss()
            party.broker.counts["not followed"] += 1
            return
        envelope = party.view.envelope(step.event)
        if party.broker.scraps and step.event.peer == SERVER:
            scrap = party.view.scrap(step.event)
            if scrap is not None and scrap.key in party.broker.scraps:
                envelope = scrap
        if envelope is None:
            if delivery.place.address not in CONTROL:
                party.overlook(step.event, delivery)
            return
        leg = party.leg(step.event, delivery, envelope)
        if leg.node.is_private:
            party.legs.pop(delivery, None)
            leg.close()
        elif step.event.peer == CLIENT:
            self.publish(party, leg, delivery)
        else:
            self.deliver(party, leg, delivery)

    def publish(self, party: Party, leg: Leg, delivery: Delivery) -> None:
        """A client hands a message to the broker."""
        broker = party.broker
        journey = leg.journey = broker.publish(leg.envelope)
        journey.add_publish(leg)
        if journey.published <= MAX_LEGS:
            broker.held += len(leg.envelope.octets)
        leg.commitment = party.view.commitment(delivery)
        node = leg.node
        node.published += 1
        node.family = leg.envelope.family
        if len(node.lanes) > 1:
            node.recent.append(journey)
        if leg.envelope.properties >= MIN_FOR_ANSWERS:
            self.correspond(party, leg)
        facts.count_publish(broker, journey, leg)
        for wanted in self.wanted:
            wanted.look(journey, leg)
        if leg.outcome and not leg.commitment.state:
            leg.delivery = None

    def correspond(self, party: Party, leg: Leg) -> None:
        """A message that wants an answer, or may be one."""
        broker, journey, content = party.broker, leg.journey, leg.envelope.open()
        if content.reply_to:
            route = Route(content.reply_to)
            broker.request(leg, target_node(broker, route, party.suffix).name)
        if journey is not None and content.correlation and leg.node.name in broker.requests:
            moment = Moment(broker, journey, leg, self.closed_world and not broker.broken)
            moment.publish = leg
            self.check(moment, REPLIED)

    def deliver(self, party: Party, leg: Leg, delivery: Delivery) -> None:
        """The broker hands a message to a client."""
        broker = party.broker
        journey = self.recognise(broker, leg)
        closed = self.closed_world and not broker.broken
        leg.journey = journey
        journey.add_delivery(leg)
        if journey.delivered <= MAX_LEGS:
            broker.held += len(leg.envelope.octets)
        scrapped = bool(broker.scraps) and self.find_scrap(broker, journey, leg)
        for wanted in self.wanted:
            wanted.look(journey, leg)
        node = leg.node
        node.delivered += 1
        cause = leg.cause = party.cause(leg.lane, delivery)
        if cause is not None and party.pending:
            # What came before the frame that it answers was read before that.
            party.prove_to(cause.end, leg.mark)
        moment = Moment(broker, journey, leg, closed)
        publish = moment.publish = pair_of(broker, journey, leg, closed)
        if publish is None and is_anothers(journey, leg):
            leg.level = UNMATCHED  # somebody else counts alike
        earlier = moment.earlier = journey.newest_before(leg) if journey.delivered > 1 else None
        if earlier is not None:
            if moment.is_alike:
                self.refresh(earlier, leg)
            else:
                before = journey.before(leg)
                earlier = moment.earlier = newest_of(before, leg)
                for each in before:
                    self.refresh(each, leg)
        if publish is not None:
            self.refresh(publish, leg)
        if self.closed_world and not leg.lane.route.copy:
            for each in journey.publishes:
                each.node.waiting.pop(journey, None)
            node.waiting.pop(journey, None)
        learn(node, journey, leg, earlier)
        kinds = kinds_of(moment)
        if scrapped:
            kinds |= SCRAPPED
        if publish is not None and earlier is None:
            kinds |= overtaken(leg, publish)
            if kinds & RANKED:
                facts.overtaken(broker, kinds)
        if publish is not None and len(node.lanes) > 1 and is_fanned_out(node):
            self.look_for_missed(moment, publish)
        facts.count_delivery(moment)
        if publish is not None and kinds & REHEADED:
            self.compare(moment, publish, kinds)
        elif self.is_checked(kinds):
            self.check(moment, kinds)
        if leg.outcome:
            leg.delivery = None
            self.close(broker, journey)

    def recognise(self, broker: Broker, leg: Leg) -> Journey:
        """The journey of a message that is delivered; notes how it was recognised."""
        envelope = leg.envelope
        found, leg.level = broker.recognise(envelope)
        if found is not None:
            return found
        alike = broker.bodies.get(envelope.body_key) if self.closed_world else None
        if alike is not None:
            for party in self.parties.values():
                party.look_for_loss()
            if not broker.broken and is_renamed(alike, leg):
                leg.level = SAME_BODY
                return alike
        return broker.begin(envelope)

    def compare(self, moment: Moment, publish: Leg, kinds: int) -> None:
        """A delivery has another header or other annotations than the message was published with.

        Brokers do the same to all messages that are alike. Rules look at the first of them.
        """
        change = facts.change_of(moment, publish)
        if change.looked >= ENOUGH and not kinds & AGAIN:
            kinds &= ~REHEADED
        if not self.is_checked(kinds):
            return
        before = len(self.reporter.findings)
        self.check(moment, kinds)
        change.looked = change.looked + 1 if len(self.reporter.findings) == before else 0

    def is_checked(self, kinds: int) -> bool:
        """Whether a rule looks at moments of these kinds."""
        found = self.watched.get(kinds)
        if found is None:
            found = self.watched[kinds] = bool(self.reporter.checks.of(kinds))
        return found

    def check(self, moment: Moment, kinds: int) -> None:
        """Let the rules look at a moment."""
        self.heard = True
        self.reporter.check(moment, kinds)

    def find_scrap(self, broker: Broker, journey: Journey, leg: Leg) -> bool:
        """Whether a message is delivered that was never published to its end."""
        if leg.level != UNMATCHED or journey.published:
            return False
        scrap = broker.scraps.get(leg.envelope.key)
        if scrap is None and self.closed_world and leg.envelope.message_id:
            scrap = broker.scraps.get(b"id " + leg.envelope.message_id)
        if scrap is None or scrap.node is not leg.node:
            return False
        leg.level = EXACT
        journey.add_scrap(scrap)
        self.look_for_holes(journey)
        return True

    def look_for_missed(self, moment: Moment, publish: Leg) -> None:
        """See which messages a subscriber did not get, that others got, before this one."""
        leg = moment.leg
        self.reporter.lane, self.reporter.mark = leg.lane, leg.mark
        for journey in leg.node.recent:
            missed = journey.publish
            if missed is None or missed.lane is not publish.lane or missed is publish:
                continue
            if missed.last.frame < publish.mark.frame and is_missed(journey, missed, leg):
                other = Moment(moment.broker, journey, missed, moment.closed)
                other.publish = missed
                self.check(other, MISSED)

    def look_for_holes(self, journey: Journey) -> None:
        """Notice what is missing of the connections that a message went over."""
        for leg in (*journey.publishes, *journey.deliveries):
            party = leg.lane.anchor.holder
            if isinstance(party, Party):
                party.look_for_loss()

    def refresh(self, leg: Leg, now: Leg) -> None:
        """Look at what had become of a message when another passed, if it is not known for good."""
        delivery, party = leg.delivery, leg.lane.anchor.holder
        if not isinstance(party, Party):
            return
        party.look_for_loss()
        if delivery is None:
            return
        if leg.commitment.state in (PENDING, DISCHARGED):
            found = party.view.commitment(delivery)
            ended = found.mark
            if ended is None or not precedes(now.mark, now.lane, ended, leg.lane):
                leg.commitment = found
        if leg.lane.capture == now.lane.capture:
            party.look(leg, delivery, now.mark)

    def answer(self, party: Party, leg: Leg, delivery: Delivery, event: Event) -> None:
        """Somebody says what became of a message."""
        if event.peer == SERVER and leg.read is None and event.knew(leg.verdict.mark):
            leg.read = event.mark  # the broker answers the consumer's word
        verdict = party.view.verdict(delivery)
        if verdict.word == OPEN:
            return
        journey, broker = leg.journey, party.broker
        if verdict.word != leg.outcome:
            leg.verdict, leg.read = verdict, verdict.read or leg.read
            leg.close()
            facts.count_answer(broker, leg, journey)
            for wanted in self.wanted:
                if journey is not None:
                    wanted.look_at_answer(journey, leg)
            if leg.is_publish and verdict.word in REFUSALS and journey is not None:
                self.refuse(broker, journey)
                if verdict.missing and leg.lane.route.varies:
                    self.miss(party, leg, event)
            if journey is not None:
                self.wait(journey, leg)
                if verdict.word == ACCEPTED and not leg.is_publish:
                    party.pending.append(leg)
        provisional = verdict.word == PROVISIONAL
        if provisional:
            party.await_commit(leg)
        if delivery.settled is not None:
            if delivery in party.legs:
                del party.legs[delivery]
            if not leg.commitment.state and not provisional:
                leg.delivery = None
        if journey is not None:
            self.close(broker, journey)

    def conclude(self, party: Party, event: Event) -> None:
        """A transaction is over: the outcomes that were given in it hold, or do not."""
        broker = party.broker
        for leg in party.committed(event.mark):
            journey = leg.journey
            facts.count_commit(broker, leg, journey)
            if not leg.is_publish:
                leg.delivery = None
            if journey is None:
                continue
            for wanted in self.wanted:
                wanted.look_at_answer(journey, leg)
            self.wait(journey, leg)
            self.close(broker, journey)

    def wait(self, journey: Journey, leg: Leg) -> None:
        """Note that the broker has a message for itself: it took it, or got it back."""
        if not self.closed_world:
            return
        if leg.is_publish:
            waits = leg.outcome == ACCEPTED and journey.publish is leg and not journey.delivered
        else:
            back = leg.outcome in (RELEASED, MODIFIED) and not leg.verdict.here
            gone = leg.lost is not None and leg.lane.route.default_outcome not in (
                ACCEPTED, REJECTED,
            )  # fmt: skip
            waits = (back or gone) and not leg.lane.route.copy and journey.deliveries[-1] is leg
        if waits:
            leg.node.waiting[journey] = leg

    def refuse(self, broker: Broker, journey: Journey) -> None:
        """The broker refuses a message; it may have delivered it before."""
        if journey.deliveries:
            self.look_for_holes(journey)
        for leg in journey.deliveries[:1]:
            moment = Moment(broker, journey, leg, self.closed_world and not broker.broken)
            moment.publish = pair_of(broker, journey, leg, moment.closed)
            if moment.publish is not None:
                self.check(moment, MATCHED | REFUSED)

    def miss(self, party: Party, leg: Leg, event: Event) -> None:
        """The broker does not find where a message says that it goes."""
        said = Declaration(UNBOUND, "node", leg.envelope.open().to, event.mark)
        said.channel = leg.lane.channel
        said.connection, said.capture = party.conversation.number, party.capture
        self.heard = True
        self.declarations_of(party).take(said, party.suffix, self.reporter)

    def close(self, broker: Broker, journey: Journey) -> None:
        """See whether a journey is over."""
        if journey.published <= MAX_LEGS and journey.delivered <= MAX_LEGS and journey.is_over:
            broker.finish(journey)

    def flow(self, party: Party, event: Event) -> None:
        """A consumer asks for more, or the broker has nothing more for it."""
        if event.peer == CLIENT:
            party.grant(event)
            return
        if not self.closed_world:
            return
        drained = party.view.drained_place(event)
        if drained is None:
            return
        place, unused = drained
        lane = party.lanes.get(place)
        if lane is not None and unused > lane.unused:
            lane.unused = unused
            lane.node.empty(lane, event.mark)

    def look_for_lost(self, broker: Broker) -> None:
        """See which messages a broker has not delivered, and does not have any more."""
        for node in broker.nodes.values():
            if node.emptied is None:
                continue
            self.reporter.lane, self.reporter.mark = node.emptied
            for journey, leg in node.waiting.items():
                moment = Moment(broker, journey, leg, not broker.broken)
                moment.publish = journey.publish
                self.check(moment, DRAINED)


def newest_of(earlier: list[Leg], leg: Leg) -> Leg:
    """The newest delivery before one: to the same subscriber, where each has its own copy."""
    node = leg.node
    own = [each for each in earlier if each.lane is leg.lane]
    return own[-1] if own and (node.is_topic or is_fanned_out(node)) else earlier[-1]


class FollowingSteps(StepSink):
    """Follows all Steps, and hands them on."""

    def __init__(self, journeys: Journeys, sink: StepSink) -> None:
        self.journeys = journeys
        self.sink = sink

    def take(self, steps: list[Step]) -> None:
        """Follow the Steps of the next piece, and hand them on with what was found."""
        self.journeys.follow(steps)
        self.sink.take(steps)

    def is_due(self) -> bool:
        """Whether something was found about units that were handed over before."""
        return bool(self.journeys.late)
