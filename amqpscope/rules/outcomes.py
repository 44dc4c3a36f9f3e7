"""Delivery states: what they are made of, and who may state which (OUT; spec 3.4, 3.5.3).

States inside a transactional-state are looked at too. What becomes of deliveries when a link is
attached again is in `outcomes_resume`; whether a state comes at the right time in `disposition`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.delivery import Delivery
from amqpscope.model.event import CONTINUATION, RESUME, Event
from amqpscope.rules import ADVISORY, ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.damage import trusted
from amqpscope.rules.terminus import symbols, termini
from dissectors.v1_0.bodies import (
    Body,
    Disposition,
    Error,
    Modified,
    Received,
    Rejected,
    Source,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.types import COMPOSITES
from dissectors.v1_0.values import Described, Map, Symbol, Value, type_of

OUTCOME_SYMBOLS: Final = frozenset(row.symbol for row in COMPOSITES if "outcome" in row.provides)
STATE_SYMBOLS: Final = frozenset(
    row.symbol for row in COMPOSITES if "delivery-state" in row.provides
)


def state_of(event: Event) -> Value:
    """The state in a transfer or disposition that was read without faults."""
    body = event.body
    if event.damaged or event.discarded or not trusted(event):
        return None
    if isinstance(body, Transfer | Disposition):
        return body.state
    return None


def path_of(event: Event) -> str:
    """Where the state stands."""
    return "transfer.state" if isinstance(event.body, Transfer) else "disposition.state"


def plain(state: Value) -> Value:
    """A state, or the outcome that is bound to a transaction in it."""
    return state.outcome if isinstance(state, TransactionalState) else state


@rule("OUT-002", "delivery-state-type-wrong", "2.7.5", MUST, ERROR, on="odd-state")
def delivery_state_type_wrong(event: Event, report: Reporter) -> None:
    """The state of a delivery is one of the described delivery states.

    A symbol that names a state, or an error put there by itself, tells the other side nothing. An
    unknown descriptor may be an extension's state and is only noted.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=error(condition=:amqp:not-allowed)   # <- OUT-002

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true state=accepted'symbol()
    """
    state = state_of(event)
    if state is None or (isinstance(state, Body) and "delivery-state" in state.row.provides):
        return
    path = path_of(event)
    if isinstance(state, Described):
        text = f"{path} is of the unknown type {descriptor_name(state.descriptor)}"
        report.suspect(event, text, path, severity=INFO)
    else:
        called = state.row.name if isinstance(state, Body) else type_of(state)
        report.sure(event, f"{path} is of type {called}, which is no delivery state", path)


@rule("OUT-003", "received-fields-missing", "3.4.1", MUST, ERROR, on="odd-state")
def received_fields_missing(event: Event, report: Reporter) -> None:
    """The state received tells how far: a section-number and a section-offset.

    Both are mandatory, also where they are zero. An empty received says no more than nothing at
    all, and cannot be resumed from.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 state=received()   # <- OUT-003
        server: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0
                state=received(section-number=0 section-offset=0)
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    state = state_of(event)
    if not isinstance(state, Received):
        return
    for position, field in enumerate(state.row.fields):
        value = state.wire(position)
        path = f"{path_of(event)}.{field.name}"
        if position in state.wrong:
            report.sure(event, f"{path} is of type {type_of(value)}, not {field.type}", path)
            return
        if value is None:
            report.sure(event, f"{path} is missing from received", path)
            return


@rule("OUT-004", "received-sent-by-sender", "3.4.1", MUST, ERROR, on="odd-state")
def received_sent_by_sender(event: Event, report: Reporter) -> None:
    """A sender states received only on the first transfer of a delivery that it resumes.

    There it says from where on it sends again. Anywhere else it is the receiver's word, and means
    nothing from the sender.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                state=received(section-number=0 section-offset=0) | data(b"0")   # <- OUT-004

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                | data(b"0")
        server: disposition[0] role=receiver first=0
                state=received(section-number=1 section-offset=0)
        client: transfer[0] handle=0 | data(b"1")
    """
    state = state_of(event)
    body = event.body
    if not isinstance(state, Received):
        return
    if isinstance(body, Disposition):
        if body.role is False:
            report.sure(event, "a sender states received in a disposition", "disposition.state")
    elif not event.kinds & RESUME or event.kinds & CONTINUATION:
        delivery, link = event.delivery, event.link
        if delivery is None or link is None or link.attach is None or not event.own.anchored:
            return
        if delivery.resumed and event.kinds & CONTINUATION:
            text = "a sender states received on a later transfer of a resumed delivery"
        else:
            text = "a sender states received on a delivery that it does not resume"
        report.sure(event, text, "transfer.state", ((delivery.mark, "the delivery begins here"),))


def judged(event: Event, delivery: Delivery) -> bool:
    """Whether all of a delivery was seen that its receiver can speak of."""
    return (
        delivery.whole
        and not delivery.resumed
        and delivery.link.attach is not None
        and not event.ahead
    )


@rule("OUT-005", "received-beyond-data-sent", "3.4.1", IMPLIED, WARNING, on="odd-state")
def received_beyond_data_sent(event: Event, report: Reporter) -> None:
    """A receiver cannot have received more than was sent.

    A sender that resumes from there leaves out what never arrived. The end of a section may be
    told as the start of the next; whether a section's descriptor counts is not said, so only what
    is beyond in every reading is told.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0
                state=received(section-number=5 section-offset=0)   # <- OUT-005
        server: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0
                state=received(section-number=1 section-offset=0)
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    state, body = state_of(event), event.body
    if not isinstance(state, Received) or not isinstance(body, Disposition) or not body.role:
        return
    number, offset = state.section_number, state.section_offset
    if number is None or offset is None or state.wrong or len(event.covered) != 1:
        return
    delivery = event.covered[0]
    if not judged(event, delivery):
        return
    # No section is shorter than its descriptor and one constructor.
    most = delivery.sections if delivery.sections >= 0 else delivery.size // 3 + 1
    if number > most or offset > delivery.size or (number == most and offset > 0):
        text = (
            f"the receiver has received section {number} up to octet {offset},"
            f" {delivery.size} octets were sent"
        )
        report.sure(event, text, "disposition.state", ((delivery.mark, "the delivery"),))


@rule("OUT-006", "received-goes-back", "3.4.1", IMPLIED, INFO, on="odd-state")
def received_goes_back(event: Event, report: Reporter) -> None:
    """What a receiver has received does not become less while the link is attached.

    A smaller number than before means that it lost data, or counts wrongly.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties() data(b"0123456789")
        server: disposition[0] role=receiver first=0
                state=received(section-number=1 section-offset=8)
        server: disposition[0] role=receiver first=0
                state=received(section-number=1 section-offset=2)   # <- OUT-006
        server: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties() data(b"0123456789")
        server: disposition[0] role=receiver first=0
                state=received(section-number=0 section-offset=2)
        server: disposition[0] role=receiver first=0
                state=received(section-number=1 section-offset=0)
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    state, body = state_of(event), event.body
    if not isinstance(state, Received) or not isinstance(body, Disposition) or not body.role:
        return
    for delivery in event.covered:
        before = delivery.rcv_state
        if not isinstance(before, Received) or None in state or None in before:
            continue
        if state.wrong or before.wrong or tuple(state) >= tuple(before):
            continue
        if state[0] == before[0] - 1 and before[1] == 0:
            continue
        text = f"the receiver goes back from {tuple(before)} to {tuple(state)}"
        related = ((delivery.rcv_state_mark, "where it was before"),)
        report.suspect(event, text, "disposition.state", related)
        return


@rule("OUT-008", "outcome-extra-fields", "3.4.2", IMPLIED, WARNING, on="odd-state")
def outcome_extra_fields(event: Event, report: Reporter) -> None:
    """A delivery state has no more items than it is defined with: accepted and released have none.

    What stands there is not read by anybody. Items that are null are only noted.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=accepted(+["ok"])   # <- OUT-008

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true state=accepted'c0()
    """
    state = plain(state_of(event))
    if not isinstance(state, Body) or "delivery-state" not in state.row.provides:
        return
    surplus = state[len(state.row.fields) :]
    if surplus:
        text = f"{state.row.name} has {len(state)} items, {len(state.row.fields)} are defined"
        idle = all(item is None for item in surplus)
        report.sure(event, text, path_of(event), severity=INFO if idle else "")


@rule("OUT-009", "rejected-error-type-wrong", "3.4.3", MUST, ERROR, on="odd-state")
def rejected_error_type_wrong(event: Event, report: Reporter) -> None:
    """The error in rejected is the composite `error`, or null.

    A text put there by itself has made servers detach the link instead of noting the reason.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error="too large")   # <- OUT-009

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:failed description="too large"))
    """
    state = plain(state_of(event))
    if isinstance(state, Rejected) and 0 in state.wrong:
        path = f"{path_of(event)}.error"
        report.sure(event, f"{path} is of type {type_of(state.wrong[0])}, not error", path)


@rule("OUT-010", "rejected-without-error", "3.4.3", ADVISORY, INFO, on="odd-state")
def rejected_without_error(event: Event, report: Reporter) -> None:
    """A rejection that says why can be acted upon.

    Without an error the sender learns only that the message was not wanted.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true state=rejected()   # <- OUT-010

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:not-allowed description="no"))
    """
    state = plain(state_of(event))
    if isinstance(state, Rejected) and state.error is None and not state.wrong:
        path = f"{path_of(event)}.error"
        report.sure(event, "rejected without an error that says why", path)


@rule("OUT-011", "error-fields-malformed", "2.8.14", MUST, ERROR, on="odd-state")
def error_fields_malformed(event: Event, report: Reporter) -> None:
    """An error has a condition, which is a symbol; its description is a string, its info a map.

    The condition is what programs decide by. A string of the same letters is not found in their
    tables, and an error without one is as good as none. The keys of info are symbols.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition="amqp:not-allowed"))   # <- OUT-011

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:com.example:full info={:limit=uint 5}))
    """
    state = plain(state_of(event))
    error = state.error if isinstance(state, Rejected) else None
    if not isinstance(error, Error):
        return
    where = f"{path_of(event)}.error"
    for position, value in error.wrong.items():
        field = error.row.fields[position]
        path = f"{where}.{field.name}"
        report.sure(event, f"{path} is of type {type_of(value)}, not {field.type}", path)
        return
    if error.condition is None:
        path = f"{where}.condition"
        report.sure(event, "the error of a rejection has no condition", path)
    elif isinstance(error.info, Map):
        tell_key(event, report, error.info, f"{where}.info")


def tell_key(event: Event, report: Reporter, fields: Map, path: str) -> None:
    """Report the first key that is not a symbol."""
    for key, _ in fields:
        if not isinstance(key, Symbol):
            text = f"{path} has the key {key!r} of type {type_of(key)}, not symbol"
            report.sure(event, text, path)
            return


@rule("OUT-012", "modified-fields-malformed", "3.4.5", MUST, ERROR, on="odd-state")
def modified_fields_malformed(event: Event, report: Reporter) -> None:
    """modified holds two booleans and a map of annotations, whose keys are symbols.

    Keys that are strings end up in the message as keys that nobody looks for, or make the
    broker end the session. Unlike in a message, numbers are no keys here either.

    Bad (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true
                message-annotations={"x-opt-why"="busy"})   # <- OUT-012

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true message-annotations={:x-opt-why="busy"})
    """
    state = plain(state_of(event))
    if not isinstance(state, Modified):
        return
    for position, value in state.wrong.items():
        field = state.row.fields[position]
        path = f"{path_of(event)}.{field.name}"
        report.sure(event, f"{path} is of type {type_of(value)}, not {field.type}", path)
        return
    if isinstance(state.message_annotations, Map):
        tell_key(event, report, state.message_annotations, f"{path_of(event)}.message-annotations")


@rule("OUT-013", "modified-annotation-key-reserved", "3.4.5", IMPLIED, INFO, on="odd-state")
def modified_annotation_key_reserved(event: Event, report: Reporter) -> None:
    """Annotations that modified puts into a message follow the message's rule for names: x-.

    Other names are kept for the standard (MSG-021), and the next receiver may refuse the message.

    Bad (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(message-annotations={:reason="busy"})   # <- OUT-013

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(message-annotations={:x-opt-reason="busy"})
    """
    state = plain(state_of(event))
    if not isinstance(state, Modified) or not isinstance(state.message_annotations, Map):
        return
    for key, _ in state.message_annotations:
        if isinstance(key, Symbol) and not key.startswith("x-"):
            path = f"{path_of(event)}.message-annotations"
            report.suspect(event, f"the annotation key {key} is reserved for the standard", path)
            return


@rule("OUT-014", "rejected-by-source-itself", "3.4.3", SHOULD, WARNING, on="odd-state")
def rejected_by_source_itself(event: Event, report: Reporter) -> None:
    """It is the receiver that rejects a message, not the source by itself.

    rejected says that the message is invalid, which only its receiver can find. A source that takes
    a message back releases or modifies it. Azure Service Bus rejects when a lock has run out, which
    is only noted. Judged where all that the receiver has said was seen.

    Bad (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        server: disposition[0] role=sender first=0
                state=rejected(error=error(condition=:expired))   # <- OUT-014
        client: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:expired))

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                target=target() rcv-settle-mode=second
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                rcv-settle-mode=second initial-delivery-count=0
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0
                state=rejected(error=error(condition=:failed description="bad"))
        server: disposition[0] role=sender first=0 settled=true
                state=rejected(error=error(condition=:failed description="bad"))
    """
    state, body = state_of(event), event.body
    if not isinstance(state, Rejected) or event.ahead:
        return
    if isinstance(body, Transfer):
        concerned = [] if event.delivery is None or event.kinds & RESUME else [event.delivery]
    elif isinstance(body, Disposition) and body.role is False:
        concerned = event.covered
    else:
        return
    session = event.session
    if session is None or session.assumed or not event.own.anchored or not event.partner.anchored:
        return
    for delivery in concerned:
        source = None if delivery.link.attach is None else delivery.link.attach.source
        if delivery.snd_settled is not None or not isinstance(source, Source):
            continue
        if delivery.snd_terminal is not None:
            continue  # An outcome that is changed, or said again, has rules of its own.
        if isinstance(source.default_outcome, Rejected) or delivery.resumed:
            continue
        said = (plain(delivery.rcv_state), delivery.rcv_terminal)
        if isinstance(said[0], Rejected) or isinstance(said[1], Rejected):
            continue
        text = "the sender rejects a delivery that its receiver has not rejected"
        related = ((delivery.mark, "the delivery"),)
        report.sure(event, text, path_of(event), related, severity=INFO if vendor(state) else "")
        return


def vendor(state: Rejected) -> bool:
    """A rejection of Azure Service Bus, such as com.microsoft:message-lock-lost."""
    error = state.error
    condition = error.condition if isinstance(error, Error) else None
    return condition is not None and condition.startswith("com.microsoft:")


@rule(
    "OUT-017", "outcome-not-offered", "3.5.3", IMPLIED, WARNING, on="receiver-disposition odd-state"
)
def outcome_not_offered(event: Event, report: Reporter) -> None:
    """A receiver chooses among the outcomes that the sender's source lists.

    The sender has said what it can do with a message; brokers answer other outcomes with an error
    or treat them as something else. An empty list says nothing. RabbitMQ 3 does not list modified,
    and clients send it all the same.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list :amqp:rejected:list])
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true)   # <- OUT-017

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list]
                default-outcome=released())
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true state=released()
    """
    state = plain(state_of(event))
    if not isinstance(state, Body) or "outcome" not in state.row.provides:
        return
    symbol = state.row.symbol
    for delivery in event.covered:
        link = delivery.link
        if not link.outcomes or link.coordinator or symbol in link.outcomes:
            continue
        if delivery.snd_settled is not None or not event.knew(link.mark):
            continue
        if settled_as(delivery.snd_terminal, symbol):
            continue
        listed = ", ".join(link.outcomes)
        text = f"{state.row.name} is none of the outcomes of link {link.label()}: {listed}"
        report.sure(event, text, path_of(event), ((link.mark, "the sender's attach"),))
        return


def settled_as(state: Value, symbol: str) -> bool:
    """The sender has stated this outcome itself, so that the receiver only follows."""
    return isinstance(state, Body) and state.row.symbol == symbol


@rule("OUT-018", "outcomes-list-malformed", "3.5.3", MUST, ERROR, on="attach")
def outcomes_list_malformed(event: Event, report: Reporter) -> None:
    """The outcomes of a source are symbols of outcomes.

    received and transactional-state are delivery states, but no outcomes. A symbol that we do not
    know may be an extension's. A list in the place of an array is told by SRC-031.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q"
                outcomes=[:amqp:accepted:list :amqp:received:list])   # <- OUT-018

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" outcomes=:amqp:accepted:list)
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list :amqp:rejected:list
                :amqp:released:list :amqp:modified:list])
    """
    path = "attach.source.outcomes"
    for terminus in termini(event):
        position, listed = terminus.field("outcomes")
        if position < 0 or terminus.repeated(position):
            continue
        wrong = terminus.body.wrong.get(position)
        if wrong is not None:
            if not isinstance(wrong, list):
                text = f"{path} is of type {type_of(wrong)}, not symbols"
                report.sure(event, text, path)
            continue
        for name in symbols(listed):
            if name in OUTCOME_SYMBOLS:
                continue
            if name in STATE_SYMBOLS:
                report.sure(event, f"{path} lists {name}, which is no outcome", path)
            else:
                text = f"{path} lists the unknown outcome {name}"
                own = not name.startswith("amqp:")
                report.suspect(event, text, path, severity=INFO if own else WARNING)
            break


@rule("OUT-020", "default-outcome-not-an-outcome", "3.5.3", MUST, ERROR, on="attach")
def default_outcome_not_an_outcome(event: Event, report: Reporter) -> None:
    """The default-outcome of a source is an outcome as it would be in a disposition.

    It decides what becomes of messages whose receiver vanishes. A symbol that names one, or a
    state that is no outcome, decides nothing. An unknown descriptor may be an extension's.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" default-outcome=:amqp:released:list)   # <- OUT-020

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" default-outcome=modified(delivery-failed=true))
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" default-outcome=modified(delivery-failed=true))
    """
    path = "attach.source.default-outcome"
    for terminus in termini(event):
        position, value = terminus.field("default-outcome")
        if position < 0 or value is None or terminus.repeated(position):
            continue
        if isinstance(value, Described):
            text = f"{path} is of the unknown type {descriptor_name(value.descriptor)}"
            report.suspect(event, text, path, severity=INFO)
        elif not isinstance(value, Body) or "outcome" not in value.row.provides:
            called = value.row.name if isinstance(value, Body) else type_of(value)
            report.sure(event, f"{path} is of type {called}, which is no outcome", path)
