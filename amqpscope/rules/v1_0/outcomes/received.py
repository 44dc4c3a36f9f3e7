"""The delivery state received: how far a message has come (OUT; spec 3.4.1)."""

from __future__ import annotations

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import CONTINUATION, RESUME, Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.outcomes.fields import path_of, state_of
from dissectors.v1_0.bodies import Disposition, Received
from dissectors.v1_0.values import type_of


@rule("OUT-003", "3.4.1", MUST, ERROR, on="odd-state")
def received_fields_missing(event: Event, report: Reporter) -> None:
    """The state received tells how far: a section-number and a section-offset.

    Both are mandatory, also where they are zero. An empty received says no more than nothing at
    all, and cannot be resumed from.

    Bad (sent):
        server: disposition[0] role=receiver first=0 state=received()   # <- OUT-003
        server: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (sent):
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


@rule("OUT-004", "3.4.1", MUST, ERROR, on="odd-state")
def received_sent_by_sender(event: Event, report: Reporter) -> None:
    """A sender states received only on the first transfer of a delivery that it resumes.

    There it says from where on it sends again. Anywhere else it is the receiver's word, and means
    nothing from the sender.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                state=received(section-number=0 section-offset=0) | data(b"0")   # <- OUT-004

    Good (sent more=true):
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


@rule("OUT-005", "3.4.1", IMPLIED, WARNING, on="odd-state")
def received_beyond_data_sent(event: Event, report: Reporter) -> None:
    """A receiver cannot have received more than was sent.

    A sender that resumes from there leaves out what never arrived. The end of a section may be
    stated as the start of the next; whether a section's descriptor counts is not said, so only what
    is beyond in every reading is reported.

    Bad (sent):
        server: disposition[0] role=receiver first=0
                state=received(section-number=5 section-offset=0)   # <- OUT-005
        server: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (sent):
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


@rule("OUT-006", "3.4.1", IMPLIED, INFO, on="odd-state")
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
        text = f"the receiver has received less than before: {tuple(state)} after {tuple(before)}"
        related = ((delivery.rcv_state_mark, "where it was before"),)
        report.suspect(event, text, "disposition.state", related)
        return
