"""Delivery-counts in the flows of a link, and credit that is not stated (FLW; spec 2.6.7, 2.7.4).

The sender owns the delivery-count, and a receiver's flow repeats it. A sender may count a delivery
when it begins or when it is complete, and an aborted one or not, so its count is known as an
interval; it is judged by the kinder end.
"""

from __future__ import annotations

from amqpscope.model.knowledge import GRACE
from amqpscope.model.ledger import WRONG_COUNT
from amqpscope.model.mark import Mark
from amqpscope.model.serial import unwrap, wire
from amqpscope.model.v1_0.credit import known_count, sender_count
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import RECEIVER
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SURE, SUSPECT, WARNING, Reporter, rule
from amqpscope.rules.v1_0.flow.windows import unreadable
from dissectors.v1_0.bodies import Attach, Close, End, Flow


@rule("FLW-010", "2.7.4", MUST, ERROR, on="odd-flow sender-flow")
def sender_delivery_count_missing(
    event: Event, report: Reporter, body: Flow, link: LinkEnd
) -> None:
    """A flow from the sender of a link states its delivery-count.

    The count is the base of all credit; a receiver that hears none keeps counting from an old one,
    and after a drain the two never agree again.

    Bad (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10   # <- FLW-010

    Good (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
    """
    if body.delivery_count is not None:
        return
    if not unreadable(event) and report.once(link):
        report.sure(
            event,
            f"sender {link.label()} sends a flow without its delivery-count",
            "flow.delivery-count",
            ((link.mark, "the sender's attach"),),
        )


@rule("FLW-011", "2.6.7", MUST, ERROR, on="odd-flow sender-flow", needs="!damaged")
def sender_delivery_count_wrong(event: Event, report: Reporter, body: Flow, link: LinkEnd) -> None:
    """A sender's delivery-count is its initial value plus the deliveries that it has begun.

    To satisfy a drain it goes up to the end of the credit as well. A wrong count makes the receiver
    grant too much or nothing: the classic link that stops after its first batch. Whether a
    delivery counts from its first or its last transfer on, and an aborted one at all, is not laid
    down: either is right. To go up within the credit without a drain is unusual and only noted.

    Bad (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10   # <- FLW-011

    Bad (attaching_sender):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=5 link-credit=0   # <- FLW-011

    Good (sent settled=true more=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 | data(b"1")
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=2
                outgoing-window=100 handle=0 delivery-count=1 link-credit=9
    """
    if body.delivery_count is None:
        return
    sending = link.sending
    low, high, last = sending.count_low, sending.count_high, sending.last_mark
    if low is None or high is None or sending.count_peak is None:
        return
    if sending.miscounted:
        return
    value = sender_count(event, link, body.delivery_count)
    if low <= value <= high or not event.partner.anchored:
        # Of a receiver that was not seen, any count may be the answer to a drain.
        return
    related: tuple[tuple[Mark | None, str], ...] = ((link.mark, "the sender's attach"),)
    text = f"sender {link.label()} states delivery-count {wire(value)}"
    if value < low:
        report.sure(
            event,
            f"{text}, but it has counted to {wire(low)}{wrap_hint(value, low)}",
            "flow.delivery-count",
            (*related, (link.flow_mark, "its flow before"), (last, "its last transfer")),
        )
    else:
        judge_advance(event, report, link, value, f"{text}, {value - high} more than it has sent")


def judge_advance(event: Event, report: Reporter, link: LinkEnd, value: int, text: str) -> None:
    """A count that is higher than the deliveries: an answer to a drain, or not."""
    pair, session = link.pair, event.session
    if event.ahead or (pair is not None and pair.receiving.credit.unsure):
        return
    if pair is None:
        partner = None if session is None else session.pair
        if link.again or link.doubtful or partner is None or not partner.whole:
            return
        text = f"{text}, and no receiver is attached that could have given credit"
        report.sure(event, text, "flow.delivery-count", ((link.mark, "the sender's attach"),))
        return
    best = pair.receiving.credit.best(event.known, event.own.proved)
    related: tuple[tuple[Mark | None, str], ...] = (
        (link.mark, "the sender's attach"),
        (None if best is None else best.mark, "the most generous credit that it may have known"),
    )
    if best is None or value > best.limit:
        reach = "no credit was given" if best is None else f"credit reached to {wire(best.limit)}"
        text = f"{text}, and {reach}"
        if link.again or pair.again:
            report.suspect(event, text, "flow.delivery-count", related)
        else:
            report.sure(event, text, "flow.delivery-count", related)
    elif pair.receiving.first_drain is None and not pair.again:
        text = f"{text}, though nobody asked it to drain"
        report.suspect(event, text, "flow.delivery-count", related, severity=INFO)


def wrap_hint(value: int, expected: int) -> str:
    """Whether a counter failed where it passes 2**32."""
    if wire(expected) < expected and wire(value) != value - (1 << 32):
        return " (the counter went wrong where it passes 2**32)"
    return ""


@rule(
    "FLW-012", "2.7.4", MUST, WARNING, on="odd-flow receiver-flow | attach | end | close | finished"
)
def receiver_delivery_count_too_early(event: Event, report: Reporter) -> None:
    """A receiver that has not seen the sender's attach leaves delivery-count null.

    It cannot know the count yet. qpid-proton sends 0 all the same when it pipelines credit, and
    nothing breaks while senders start at 0; where the sender starts elsewhere it is an error, since
    credit then counts from the wrong place. Only a link's first attachment is judged, and what does
    no harm is reported once for all links of a peer. Where the sender never attaches it is reported
    at the end; a count other than 0, which nobody can have had then, is an error.

    Bad (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10   # <- FLW-012
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=5

    Bad (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=5 link-credit=10   # <- FLW-012
        client: end[0]
        server: end[0]

    Good (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=5

    Good (session):
        client: GAP
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                target=target()
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=5 link-credit=10
        @9s client: end[0]
        server: end[0]
    """
    body, link = event.body, event.link
    if isinstance(body, Attach):
        receiver = waiting_receiver(event, body)
        guess = None if receiver is None else guess_of(receiver)
        if receiver is not None and guess is not None:
            count, mark = guess
            report_too_early(event, report, receiver, count, mark, body.initial_delivery_count)
        return
    if not isinstance(body, Flow):
        for receiver in never_answered(event):
            guess = receiver.receiving.guessed_count
            if guess is not None:
                report_too_early(event, report, receiver, *guess, None)
        return
    if link is None or link.pair is None or link.again:
        return
    said, pair = body.delivery_count, link.pair
    if said is None or link.receiving.guessed_count is not None:
        return
    if event.ahead or event.damaged or event.knew(pair.mark):
        return
    report_too_early(event, report, link, said, event.mark, pair.sending.initial_count)


def guess_of(receiver: LinkEnd) -> tuple[int, Mark] | None:
    """A count that a receiver stated and that it cannot have had from a sender's attach."""
    return None if receiver.again or receiver.doubtful else receiver.receiving.guessed_count


def never_answered(event: Event) -> list[LinkEnd]:
    """Receivers with such a count whose sender has not attached when it says its last word.

    Only that word shows that nothing of it is missing.
    """
    found: list[LinkEnd] = []
    if not event.own.anchored or not event.partner.anchored or event.ahead:
        return found
    for session in event.partner.channels.values():
        add_unanswered(event, session, found)
    for session in event.partner.ended.values():
        add_unanswered(event, session, found)
    return found


def add_unanswered(event: Event, session: SessionEnd, found: list[LinkEnd]) -> None:
    """Add the receivers of a session with such a count whose sender has not attached."""
    pair = session.pair
    if not session.unpaired or pair is None or not pair.whole:
        return
    if isinstance(event.body, End) and pair is not event.session:
        return
    found += [link for link in session.unpaired if link.role and guess_of(link)]


def waiting_receiver(event: Event, body: Attach) -> LinkEnd | None:
    """The receiver's end that a sender's attach answers."""
    session = event.session
    if body.role is not False or session is None or session.pair is None or event.damaged:
        return None
    for link in session.pair.unpaired:
        if link.role is RECEIVER and link.name == body.name:
            return link
    return None


def report_too_early(
    event: Event, report: Reporter, link: LinkEnd, count: int, mark: Mark, initial: int | None
) -> None:
    """Report a count that was sent too early, at the flow that had it."""
    wrong = initial is not None and initial != count
    if initial is None and isinstance(event.body, (End, Close)):
        wrong = count != 0
    owner = link.session.owner
    if not report.once(owner) and not wrong:
        return
    harm = ""
    if wrong:
        harm = "; it never came" if initial is None else f"; the sender starts at {initial}"
    report.sure(
        event,
        f"receiver {link.label()} states delivery-count {count} before it can know the sender's"
        f" attach{harm}",
        "flow.delivery-count",
        ((link.mark, "the receiver's attach"), (event.mark if event.mark is not mark else None,
          "the sender's attach")),
        severity=ERROR if wrong else "",
        peer=owner.peer,
        mark=mark,
        about=link,
    )  # fmt: skip


@rule("FLW-013", "2.7.4", MUST, WARNING, on="odd-flow receiver-flow")
def receiver_delivery_count_missing(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """A receiver's flow repeats the sender's delivery-count once it has seen its attach.

    Without it credit counts from the initial count: the sender gets less with every message, and
    after as many as the credit it stops for good. Before the first message it does no harm:
    RabbitMQ 3 leaves it out of the one flow that follows its attach. Attaches of one name may
    cross, so a receiver that seems to answer the sender's attach is only suspected to have it. It
    is reported once for all links of a peer.

    Bad (receiving):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=20   # <- FLW-013

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        client~1: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10
    """
    if body.delivery_count is not None:
        return
    if pair.attach is None or unreadable(event):
        return
    if report.has_reported("FLW-013", event.own, SURE):
        return
    text = f"receiver {link.label()} sends a flow without delivery-count"
    related = ((pair.mark, "the sender's attach"), (link.flow_mark, "the receiver's flow before"))
    if link.receiving.last_count is not None or event.surely_knew(pair.mark):
        text = f"{text}, though it had the sender's attach"
        report.once(event.own, SURE)
        report.sure(event, text, "flow.delivery-count", related)
    elif report.has_reported("FLW-013", event.own):
        return
    elif link.replied and pair.mark.end <= link.known_then:
        text = f"{text}, though its own attach answers the sender's"
        report.once(event.own, SUSPECT)
        report.suspect(event, text, "flow.delivery-count", related)
    elif event.knew(pair.mark) and event.since(pair.mark) > GRACE:
        text = f"{text} {event.since(pair.mark) / 1e9:.1f} s after the sender's attach"
        report.once(event.own, SUSPECT)
        report.suspect(event, text, "flow.delivery-count", related)


@rule("FLW-014", "2.6.7", IMPLIED, ERROR, on="odd-flow receiver-flow", needs="!damaged !ahead")
def receiver_delivery_count_leads(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """A receiver's delivery-count is never ahead of the sender's, nor does it go back.

    It is a copy of the sender's. One that runs ahead grants credit that the sender counts as more
    than was meant, one that falls behind starves it. A step back is excused as far as the sender
    itself stated a lower count, or aborted deliveries that it need not count.

    Bad (received settled=true):
        client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=2 link-credit=10   # <- FLW-014

    Good (received server.initial-delivery-count=4294967295 delivery-count=4294967295 settled=true):
        client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
    """
    if body.delivery_count is None:
        return
    if pair.sending.miscounted or report.has_reported(WRONG_COUNT, link):
        return
    peak = pair.sending.count_peak
    if peak is None or pair.sending.count_high is None or not event.knew(pair.mark):
        return
    if not (pair.session.whole and link.session.whole):
        return
    value = unwrap(body.delivery_count, peak)
    reached = known_count(event, pair.sending, peak)
    if value > reached:
        text = f"is ahead of the sender's, which was {wire(reached)} at most"
        evidence: tuple[Mark | None, str] = (pair.sending.last_mark, "the sender's last transfer")
    else:
        floor, evidence = lowest_count(event, link, pair)
        if floor is None or value >= floor:
            return
        text = f"falls below {wire(floor)}"
    report.once(link, topic=WRONG_COUNT)
    text = f"receiver {link.label()} states delivery-count {wire(value)}, which {text}"
    related = (evidence, (pair.mark, "the sender's attach"))
    if link.again or pair.again:
        report.suspect(event, text, "flow.delivery-count", related)
    else:
        report.sure(event, text, "flow.delivery-count", related)


def lowest_count(
    event: Event, link: LinkEnd, pair: LinkEnd
) -> tuple[int | None, tuple[Mark | None, str]]:
    """The lowest count that a receiver may still state, with what shows it."""
    before = link.receiving.last_count
    floor: int | None = None
    why: tuple[Mark | None, str] = (pair.mark, "the sender's attach")
    if event.surely_knew(pair.mark):
        floor = pair.sending.initial_count
    if before is not None and (floor is None or before - pair.sending.aborts > floor):
        floor, why = before - pair.sending.aborts, (link.flow_mark, "the receiver's flow before")
    for said, end in pair.sending.stated_counts:
        if floor is not None and end <= event.known and said < floor:
            floor, why = said, (pair.flow_mark, "the sender's last flow")
    return floor, why


@rule("FLW-015", "2.7.4", IMPLIED, INFO, on="odd-flow receiver-flow")
def link_credit_missing(event: Event, report: Reporter, body: Flow, link: LinkEnd) -> None:
    """A receiver's flow for a link says how much credit there is.

    What a null link-credit means is not laid down: some senders keep the credit that they have,
    others take it for none. Here the old credit is kept.

    Bad (receiving):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0   # <- FLW-015

    Good (receiving):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0
    """
    if body.link_credit is not None:
        return
    if unreadable(event):
        return
    if not report.once(link):
        return
    report.suspect(
        event,
        f"receiver {link.label()} sends a flow without link-credit, which leaves open how much the"
        " sender may send",
        "flow.link-credit",
        ((link.flow_mark, "its flow before"),),
    )
