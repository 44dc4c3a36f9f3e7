"""The messages of a broker whose story has no good end in view, and what is said of them first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from amqpscope.insight.journeys.whereabouts import Whereabouts
from amqpscope.insight.message_states import EXPIRED, LOST
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import ACCEPTED, PRESETTLED, REFUSALS
from amqpscope.model.broker.journey import Journey
from amqpscope.model.broker.sharing import is_fanned_out
from amqpscope.rules.broker import Passage, history

MAX_LISTED: Final = 20
"""Messages of one kind that a ledger lists; of others it has the number."""


class Entry(NamedTuple):
    """One message with all that happened to it."""

    id: str
    size: int
    published: int
    """How often it was published, or others that are equal to it."""
    doubt: str
    """Why nothing can be concluded from it; empty: something can."""
    history: list[Passage]


class Ledger(NamedTuple):
    """Messages that came to the same end."""

    kind: str
    total: int
    messages: list[Entry]
    """The first of them."""


def is_undelivered(journey: Journey) -> bool:
    """The broker took it, and no consumer in view got it."""
    return not journey.delivered and any(leg.outcome == ACCEPTED for leg in journey.publishes)


def is_unanswered(journey: Journey) -> bool:
    """The publisher wanted an answer and got none; what became of it is unknown."""
    return not journey.delivered and any(not leg.outcome for leg in journey.publishes)


def is_unconfirmed(journey: Journey) -> bool:
    """The publisher asked for no answer, and no consumer in view got it."""
    return not journey.delivered and all(leg.outcome == PRESETTLED for leg in journey.publishes)


def is_refused(journey: Journey) -> bool:
    """The broker refused it, and did not take it later."""
    outcomes = {leg.outcome for leg in journey.publishes}
    return bool(outcomes) and outcomes.issubset(REFUSALS)


def is_open(journey: Journey) -> bool:
    """A consumer got it, and nobody has accepted it."""
    words = {leg.outcome for leg in journey.deliveries}
    return bool(journey.deliveries) and not words & {ACCEPTED, PRESETTLED}


def is_repeated(journey: Journey) -> bool:
    """Consumers have accepted it from one node more often than it was published; of what each
    subscriber has a copy, one of them has."""
    taken = Counter(
        leg.lane if is_fanned_out(leg.node) else leg.node
        for leg in journey.deliveries
        if leg.outcome == ACCEPTED
    )
    return max(taken.values(), default=0) > max(journey.published, 1)


PASSED_OVER: Final = "taken by the broker, not delivered in view though later ones were"
OUTLIVED: Final = "taken by the broker, not delivered in view before their time to live was over"
UNDELIVERED: Final = "taken by the broker, not delivered in view"
LEDGERS: Final[tuple[tuple[str, Callable[[Journey], bool]], ...]] = (
    (PASSED_OVER, is_undelivered),
    (OUTLIVED, is_undelivered),
    (UNDELIVERED, is_undelivered),
    ("published without asking for an answer, not delivered in view", is_unconfirmed),
    ("published, never answered, not delivered in view", is_unanswered),
    ("refused by the broker", is_refused),
    ("delivered, not accepted in view", is_open),
    ("accepted more often than published, from one node", is_repeated),
    ("published more than once", lambda journey: journey.published > 1),
)


def ledgers(broker: Broker) -> list[Ledger]:
    """The messages that are still followed, by how their story stands."""
    journeys = list(broker.exact.values())
    kinds = kinds_of_undelivered(journeys)
    found = []
    for kind, fits in LEDGERS:
        fitting = [
            journey
            for journey in journeys
            if fits(journey)
            and (journey.publishes or journey.deliveries)
            and kinds.get(journey, kind) == kind
        ]
        if fitting:
            entries = [entry(journey) for journey in fitting[:MAX_LISTED]]
            found.append(Ledger(kind, len(fitting), entries))
    return found


def kinds_of_undelivered(journeys: list[Journey]) -> dict[Journey, str]:
    """Why no consumer in view got a message: it looks lost, as others that took the same way later
    have been delivered; its time to live was over; or it may wait."""
    whereabouts = Whereabouts()
    now = 0
    for journey in journeys:
        whereabouts.note(journey)
        now = max(now, *[leg.last.time for leg in journey.legs], 0)
    kinds = {LOST: PASSED_OVER, EXPIRED: OUTLIVED}
    return {
        journey: kinds.get(whereabouts.state(journey, now), UNDELIVERED)
        for journey in journeys
        if is_undelivered(journey)
    }


def fate(broker: Broker, listed: list[Ledger]) -> dict[str, str]:
    """What is asked first where a message is missing, and its answer."""
    totals = {ledger.kind: ledger.total for ledger in listed}
    lost, waiting = totals.get(PASSED_OVER, 0), totals.get(UNDELIVERED, 0)
    if not broker.facts["delivered"]:
        return {}
    if lost:
        [first] = [ledger.messages[0].id for ledger in listed if ledger.kind == PASSED_OVER]
        others = f" and {lost - 1:,} more" if lost > 1 else ""
        looks = "looks" if lost == 1 else "look"
        found = (
            f"message {first or 'without an id'}{others} {looks} lost: later ones were delivered"
        )
    elif broker.forgotten:
        return {}
    else:
        found = "nothing looks lost"
    if waiting:
        found += f"; {waiting:,} that the broker took may wait there"
    return {"missing": found}


def entry(journey: Journey) -> Entry:
    """One message."""
    envelope = journey.envelope
    published, doubt = journey.published, journey.doubtful
    return Entry(envelope.id_text, envelope.size, published, doubt, history(journey))
