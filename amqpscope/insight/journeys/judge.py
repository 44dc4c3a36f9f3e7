"""Follows every message through the broker that it goes to, by the records of its connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from amqpscope.findings import Finding
from amqpscope.insight.journeys import facts
from amqpscope.insight.journeys.connections import Connections
from amqpscope.insight.journeys.declarations import Declarations
from amqpscope.insight.journeys.nodes import target_node
from amqpscope.insight.journeys.observer import Observer
from amqpscope.insight.journeys.parties import Party
from amqpscope.insight.journeys.records import Peers
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
    ACCEPTED,
    MODIFIED,
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
    Proof,
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
from amqpscope.model.broker.rereading import follow_again
from amqpscope.model.broker.sharing import is_fanned_out, is_missed, learn
from amqpscope.model.mark import Mark
from amqpscope.rules.broker import FAMILY, REREAD, Reporter, doubted
from amqpscope.rules.dispatch import RuleSet

MIN_FOR_ANSWERS: Final = 5
"""How many properties a message has at least that has a reply-to."""
RANKED: Final = DISORDERED | OUTRANKED | YIELDING
"""Ways in which a message comes after others that were published later."""
ENOUGH: Final = 8
"""Messages with the same change of their header that rules look at."""


class Judge(Connections):
    """Takes records; has, at the end, what brokers did with messages, and what is wrong with it."""

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
        self.found: list[tuple[int, Finding]] = []
        """What is held back until it is known that no octets are missing."""
        self.reread: set[Proof] = set()
        """Findings that were certain, and are not if a node is a log that is read again."""

    @property
    def is_wanted(self) -> bool:
        """Whether a rule about brokers is to be reported."""
        return self.reporter.checks.wanted

    # what connections show

    def party(self, peers: Peers, broker: Broker) -> Party:
        """What takes the records of a connection to a broker."""
        return Party(self, peers, broker)

    def introduce(self, party: Party, product: str, container: str) -> None:
        """A server says who it is."""
        if product:
            party.broker.product = product
        if container:
            self.unite(party, container)
            party.broker.meet(container)

    def take_back(self, lost: list[Leg]) -> None:
        """A broker has again what consumers had that are gone."""
        for leg in lost:
            if leg.journey is not None and not leg.is_publish:
                self.wait(leg.journey, leg)

    def declare(self, party: Party, said: Declaration) -> None:
        """A client declares or uses something, or the broker answers."""
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
            party.broker.node(said.name + party.suffix, True).found_empty(said.mark)
        self.heard = True
        declared = self.declarations_of(party)
        said.connection, said.capture = party.number, party.capture
        known = declared.earlier(said, party.suffix)
        if known is not None and self.is_holed(known.capture, known.connection):
            declared.forget(known, party.suffix)
        declared.take(said, party.suffix, self.reporter)

    def end_declared(self, party: Party) -> None:
        """What a connection had for itself goes with it."""
        declared = self.declared.get(party.broker)
        if declared is not None:
            declared.end(party.number, party.capture)

    def end_consumers(self, party: Party, channel: int) -> None:
        """What was declared on a channel has no consumers there any more, or one less."""
        declared = self.declared.get(party.broker)
        if declared is not None and declared.consumers:
            declared.end_consumers(party.number, party.capture, channel)

    def declarations_of(self, party: Party) -> Declarations:
        """What was declared at the broker of a connection."""
        found = self.declared.get(party.broker)
        if found is None:
            found = self.declared[party.broker] = Declarations()
        return found

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
        found = [(capture, self.reread_or_not(capture, each)) for capture, each in found]
        return [(capture, doubted(each) if broken else each) for capture, each in found]

    def reread_or_not(self, capture: int, found: Finding) -> Finding:
        """A finding as it is, or with the doubt that its node may be a log that is read again."""
        if (found.rule, capture, found.connection, found.frame) not in self.reread:
            return found
        return doubted(replace(found, message=found.message + REREAD))

    def notes(self) -> list[str]:
        """What could not be followed, and makes what was found less than all."""
        return [
            f"{broker.forgotten:,} messages at {broker.name} were followed no further:"
            " too many others were under way"
            for broker in dict.fromkeys(self.brokers.values())
            if broker.forgotten and broker.facts["delivered"]
        ]

    # messages

    def publish(self, party: Party, leg: Leg) -> None:
        """A client hands a message to the broker."""
        broker = party.broker
        journey = leg.journey = broker.publish(leg.envelope)
        journey.add_publish(leg)
        if journey.published <= MAX_LEGS:
            broker.held += len(leg.envelope.octets)
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

    def deliver(self, party: Party, leg: Leg, first: int) -> None:
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
        cause = leg.cause = party.cause(leg.lane, first)
        if cause is not None and party.pending:
            # What came before the frame that it answers was read before that.
            party.prove(cause.end, leg.mark)
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
        if earlier is not None or leg.lane.rereading is not None:
            run = moment.rereading = follow_again(leg, earlier)
            if run is not None and run.is_likely:
                self.reread.update(run.proofs)
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
        party = leg.lane.anchor.holder
        if isinstance(party, Party):
            party.look_for_loss()
        if leg.transaction is not None:
            found = leg.transaction.commitment
            ended = found.mark
            if ended is None or not precedes(now.mark, now.lane, ended, leg.lane):
                leg.commitment = found
        if leg.latest is not None and leg.lane.capture == now.lane.capture:
            leg.hear(leg.latest, now.mark)

    def answer(self, party: Party, leg: Leg, verdict: Verdict, settled: bool, mark: Mark) -> None:
        """Somebody says what became of a message."""
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
                    self.miss(party, leg, mark)
            if journey is not None:
                self.wait(journey, leg)
                if verdict.word == ACCEPTED and not leg.is_publish:
                    party.pending.append(leg)
        if verdict.word == PROVISIONAL:
            party.await_commit(leg)
        if settled and leg.awaited:
            leg.awaited = False
            del party.legs[leg.mark.frame]
        if journey is not None:
            self.close(broker, journey)

    def conclude(self, party: Party, concluded: list[Leg]) -> None:
        """A transaction is over: these outcomes that were given in it hold."""
        broker = party.broker
        for leg in concluded:
            journey = leg.journey
            facts.count_commit(broker, leg, journey)
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

    def miss(self, party: Party, leg: Leg, mark: Mark) -> None:
        """The broker does not find where a message says that it goes."""
        said = Declaration(UNBOUND, "node", leg.envelope.open().to, mark)
        said.channel = leg.lane.channel
        said.connection, said.capture = party.number, party.capture
        self.heard = True
        self.declarations_of(party).take(said, party.suffix, self.reporter)

    def close(self, broker: Broker, journey: Journey) -> None:
        """See whether a journey is over."""
        if journey.published <= MAX_LEGS and journey.delivered <= MAX_LEGS and journey.is_over:
            broker.finish(journey)

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
