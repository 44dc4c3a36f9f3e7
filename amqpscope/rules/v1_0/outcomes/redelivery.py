"""Messages that come again: those that should not, and those that differ (OUT, TXN; spec 3.4, 4.4).

A message is known again by its bare octets, from the properties to the footer: what is before them
may change on the way. Short messages are kept while they are unsettled, others are not judged. The
application may have sent the very same once more, so what rests on that is a suspicion.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import HEADER, PROPERTIES
from amqpscope.model.v1_0.redelivery import bare
from amqpscope.model.v1_0.transaction import txn_id
from amqpscope.rules.v1_0 import IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.transactions.controller import call
from dissectors.v1_0.bodies import Body, Received, TransactionalState, Transfer
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.values import Value

DELIVERY_COUNT: Final = 4
"""The position of delivery-count in the header of a message."""


def singular(message: bytes) -> bool:
    """A message with an id of its own, or one that says that it was tried before."""
    sections, _ = walk(message)
    for section in sections:
        if section.code == PROPERTIES or section.code == HEADER:
            value, faults = read_section(message, section)
            place = 0 if section.code == PROPERTIES else DELIVERY_COUNT
            body = value if isinstance(value, Body) and not faults else ()
            if len(body) > place and body[place]:
                return True
    return False


@rule("OUT-028", "3.4.5", MUST, WARNING, on="watched")
def undeliverable_here_redelivered(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A message that a receiver has modified as undeliverable-here does not come to it again.

    The receiver cannot do anything with it; to send it again makes a loop. Another link may get it,
    and so may the same receiver when it has detached and attached anew.

    Bad (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(message-id="m") data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true undeliverable-here=true)
        server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | header(delivery-count=1) properties(message-id="m") data(b"0")   # <- OUT-028

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(message-id="m") data(b"0")
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true)
        server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | header(delivery-count=1) properties(message-id="m") data(b"0")
    """
    if link.sending.watch is None or event.message is None:
        return
    unwanted = link.sending.watch.unwanted
    mark = unwanted.get(bare(event.message)) if unwanted else None
    if mark is not None and event.knew(mark) and singular(event.message):
        report.suspect(
            event,
            f"link {link.label()} gets a message again that its receiver has modified as"
            " undeliverable here",
            "transfer",
            ((mark, "the outcome"),),
        )


@rule("OUT-051", "3.4.6", IMPLIED, WARNING, on="resume", needs="!damaged")
def resumed_bytes_differ(event: Event, report: Reporter, body: Transfer, link: LinkEnd) -> None:
    """A delivery that is resumed from its beginning has the octets that it had before.

    The receiver puts together what it has with what it gets: other octets make another message, or
    none. Judged for a link that comes back on its session, where the sender starts over.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0
                | data(b"seven")
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} initial-delivery-count=1
        server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
                unsettled={b"7"=received(section-number=0 section-offset=0)}
        server: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=1 link-credit=10
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"7" message-format=0 resume=true
                | data(b"eight")   # <- OUT-051

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0
                | data(b"seven")
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} initial-delivery-count=1
        server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
                unsettled={b"7"=received(section-number=0 section-offset=0)}
        server: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=1 link-credit=10
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"7" message-format=0 resume=true
                | data(b"seven")
    """
    payload = event.payload
    if link.sending.watch is None:
        return
    old = None if body.delivery_tag is None else link.sending.watch.before.get(body.delivery_tag)
    if old is None or not old.whole or not from_start(body.state) or not event.own.anchored:
        return
    first = old.content or b"".join(old.parts)
    size = min(len(first), len(payload))
    if first[:size] == payload[:size]:
        return
    place = next(n for n in range(size) if first[n] != payload[n])
    message = event.message
    same = message is not None and old.complete and bare(message) == bare(first) != b""
    what = ", before the bare message, which is the same" if same else ""
    report.sure(
        event,
        f"the resumed delivery on link {link.label()} differs from what was sent first, from octet"
        f" {place} on{what}",
        "transfer",
        ((old.mark, "the delivery"),),
    )


def from_start(state: Value) -> bool:
    """Whether a sender that resumes begins at the first octet."""
    if isinstance(state, Received):
        return not state.wrong and state.section_number == 0 and state.section_offset == 0
    return state is None


@rule("TXN-049", "4.4.2", IMPLIED, WARNING, on="watched")
def rolled_back_retirement_redelivered(event: Event, report: Reporter, link: LinkEnd) -> None:
    """After a rollback the controller still holds what it has not settled, and decides anew.

    A message that was retired under the transaction without settling it is not sent to anybody
    until the controller has given it another outcome. A source may take a message back at any time,
    hence a suspicion.

    Bad (granting link-credit=10):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(message-id="m") data(b"0")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        server: transfer[0] handle=2 delivery-id=1 delivery-tag=b"2" message-format=0
                | properties(message-id="m") data(b"0")   # <- TXN-049

    Good (granting link-credit=10):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                | properties(message-id="m") data(b"0")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: disposition[0] role=receiver first=0 settled=true state=released()
        server: transfer[0] handle=2 delivery-id=1 delivery-tag=b"2" message-format=0
                | properties(message-id="m") data(b"0")
    """
    if link.sending.watch is None or event.message is None:
        return
    held = link.sending.watch.held
    delivery = held.get(bare(event.message)) if held else None
    if delivery is None or delivery.settled is not None or not singular(event.message):
        return
    state = delivery.rcv_state
    if isinstance(state, TransactionalState):
        report.suspect(
            event,
            f"delivery {delivery.delivery_id} was retired under transaction"
            f" {call(txn_id(state.txn_id) or b'')}, which was rolled back; link"
            f" {link.label()} gets its message again before it was given another outcome",
            "transfer",
            ((delivery.mark, "the delivery"), (delivery.rcv_state_mark, "its retirement")),
        )
