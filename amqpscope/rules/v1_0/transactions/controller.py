"""What the controller says to a coordinator: declare and discharge (TXN; spec 4.1 to 4.3, 4.5).

All of this module is about what the controller's own frames show.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.transaction import (
    ControlMessage,
    capabilities,
    coordinator_link,
    half_sent,
    txn_id,
)
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import control_message
from amqpscope.rules.v1_0.topics import CONTROL_LINK
from amqpscope.rules.wording import a
from dissectors.v1_0.bodies import Declare, Discharge, TransactionalState, Transfer
from dissectors.v1_0.message import AMQP_VALUE
from dissectors.v1_0.tables import SECTIONS
from dissectors.v1_0.values import Described, type_of

DISTRIBUTED: Final = "amqp:distributed-transactions"
LOCAL: Final = "amqp:local-transactions"


def call(id: bytes) -> str:
    """A transaction by its id, readable if that is."""
    if not id:
        return "with an empty id"
    text = id.decode("ascii", "replace")
    return f'"{text}"' if text.isprintable() and text.isascii() and text else f"0x{id.hex()}"


@rule("TXN-003", "4.1", MUST, ERROR, on="transfer coordinator", needs="!discarded")
def transactional_work_on_control_link(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd
) -> None:
    """A control link carries no transactional work.

    Declare and discharge create and end transactions; they are not part of one, so their transfers
    have no transactional state.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                state=transactional-state(txn-id=b"t")
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-003

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    if isinstance(body.state, TransactionalState) and coordinator_link(link):
        report.sure(
            event,
            f"a transfer on control link {link.label()} is itself bound to a transaction",
            "transfer.state",
            ((link.mark, "the attach to the coordinator"),),
        )


@rule("TXN-004", "4.2", IMPLIED, WARNING, on="message coordinator")
def control_message_unknown_body(event: Event, report: Reporter, control: ControlMessage) -> None:
    """A message to a coordinator is a declare or a discharge.

    A described type that the standard does not know may be an extension that both peers share, so
    it only arouses suspicion; any other value is an error.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value("commit")   # <- TXN-004

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare'symbol())
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    if control.bodies != [AMQP_VALUE]:
        return
    if isinstance(control.value, (Declare, Discharge)):
        return
    if isinstance(control.value, Described):
        report.suspect(event, "a control message holds an unknown described type", "amqp-value")
    else:
        name = type_of(control.value)
        text = f"a control message holds {a(name)}, not declare or discharge"
        report.sure(event, text, "amqp-value", severity=ERROR)


@rule("TXN-005", "4.2", IMPLIED, WARNING, on="message coordinator")
def control_message_not_single_value(
    event: Event, report: Reporter, control: ControlMessage
) -> None:
    """The body of a message to a coordinator is one amqp-value section.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"declare")   # <- TXN-005

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | header(durable=true) properties(subject="begin") amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    if not control.bodies or control.bodies == [AMQP_VALUE]:
        return
    names = ", ".join(SECTIONS[code] for code in control.bodies[:4])
    text = f"the body of a control message is {names}, not one amqp-value"
    report.sure(event, text, "message", severity=ERROR)


@rule("TXN-007", "4.2", MUST, ERROR, on="message coordinator")
def declare_sent_settled(event: Event, report: Reporter) -> None:
    """A declare is never sent settled.

    Its outcome carries the id of the new transaction: who settles ahead never learns it. Brokers
    detach the link with amqp:illegal-state.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value(declare())   # <- TXN-007

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=false
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    found = control_message(event)
    if found is not None and isinstance(found.value, Declare) and settled(event):
        report.sure(event, "a declare is sent settled", "transfer.settled")


def settled(event: Event) -> bool:
    """Whether any transfer of the delivery that ends here was settled."""
    body, delivery = event.body, event.delivery
    if delivery is None or not isinstance(body, Transfer):
        return False
    return bool(body.settled) or delivery.snd_settled is not None


@rule("TXN-008", "4.3", MUST, ERROR, on="message coordinator")
def discharge_sent_settled(event: Event, report: Reporter) -> None:
    """A discharge is never sent settled.

    Its outcome says whether the transaction was committed; a controller that does not wait for it
    does not know.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-008

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: disposition[0] role=sender first=1 settled=true
    """
    found = control_message(event)
    if found is not None and isinstance(found.value, Discharge) and settled(event):
        report.sure(event, "a discharge is sent settled", "transfer.settled")


@rule("TXN-021", "4.5.7", IMPLIED, INFO, on="message coordinator")
def local_transactions_not_offered(event: Event, report: Reporter) -> None:
    """A controller declares local transactions where the coordinator offers them.

    Many coordinators list nothing at all and serve them all the same: that is no sign of anything.

    Bad (sending client.target=coordinator()
            server.target=coordinator(capabilities=[:amqp:distributed-transactions])):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())   # <- TXN-021

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    found, link = control_message(event), event.link
    if found is None or link is None or link.pair is None or not isinstance(found.value, Declare):
        return
    offered = capabilities(link)
    if found.value.global_id is not None or offered is None or LOCAL in offered:
        return
    if report.once(link, topic=CONTROL_LINK):
        report.suspect(
            event,
            f"a local transaction is declared; the coordinator offers {', '.join(offered)}",
            "declare.global-id",
            ((link.pair.mark, "the coordinator's capabilities"),),
        )


@rule("TXN-022", "4.5.2", MUST, ERROR, on="message coordinator")
def global_id_without_capability(event: Event, report: Reporter) -> None:
    """A declare names a global transaction only to a coordinator that offers distributed ones.

    To a coordinator that lists no capabilities at all it is only suspicious.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare(global-id=b"g"))   # <- TXN-022

    Good (sending client.target=coordinator()
            server.target=coordinator(capabilities=:amqp:distributed-transactions)):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare(global-id=b"g"))
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    found, link = control_message(event), event.link
    if found is None or link is None or link.pair is None or not isinstance(found.value, Declare):
        return
    if found.value.global_id is None or link.pair.attach is None:
        return
    offered = capabilities(link)
    evidence = ((link.pair.mark, "the coordinator's capabilities"),)
    if offered is None:
        text = "a declare has a global-id; the coordinator lists no capabilities"
        report.suspect(event, text, "declare.global-id", evidence)
    elif DISTRIBUTED not in offered:
        text = f"a declare has a global-id; the coordinator offers {', '.join(offered)}"
        report.sure(event, text, "declare.global-id", evidence)


@rule("TXN-026", "4.4.1", MUST, ERROR, on="message coordinator")
def discharge_with_partial_posting(event: Event, report: Reporter, control: ControlMessage) -> None:
    """A controller does not discharge a transaction while a message under it is half sent.

    The resource cannot commit half a message; it ends the control link and rolls back.

    Bad (transaction):
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-026

    Good (transaction):
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        client: transfer[0] handle=1 more=false state=transactional-state(txn-id=b"t") | data(b"2")
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
    """
    if not isinstance(control.value, Discharge):
        return
    id = txn_id(control.value.txn_id)
    transaction = None if id is None else event.connection.transactions.known.get(id)
    if id is None or transaction is None or not event.own.anchored:
        return
    open_one = half_sent(transaction.postings)
    if open_one is not None:
        report.sure(
            event,
            f"transaction {call(id)} is discharged while delivery {open_one.delivery_id} on"
            f" {open_one.link.label()} is half sent under it",
            "discharge.txn-id",
            ((open_one.mark, "the delivery's first transfer"), (transaction.declared, "declared")),
        )


@rule("TXN-042", "4.5.3", MUST, ERROR, on="message coordinator")
def discharge_malformed(event: Event, report: Reporter, control: ControlMessage) -> None:
    """A discharge names its transaction, and its fail flag is a boolean or absent.

    What an absent flag means is not written down; everyone reads it as commit.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(fail=true))   # <- TXN-042

    Good (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t"))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    if not isinstance(control.value, Discharge):
        return
    id = control.value.wire(0)
    if id is None:
        report.sure(event, "a discharge has no txn-id", "discharge.txn-id")
    elif type(id) is not bytes:
        text = f"the txn-id of a discharge is of type {type_of(id)}, not binary"
        report.suspect(event, text, "discharge.txn-id")
    if 1 in control.value.wrong:
        kind = type_of(control.value.wrong[1])
        report.sure(event, f"the fail flag of a discharge is of type {kind}", "discharge.fail")


@rule("TXN-043", "4.5.3", IMPLIED, WARNING, on="message coordinator")
def discharge_repeated(event: Event, report: Reporter, control: ControlMessage) -> None:
    """A transaction is discharged once.

    Its id means nothing after that, or belongs to another. A second discharge while the first is
    not answered, or was refused, is only pointed out; after an accepted one see TXN-017.

    Bad (discharging):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-043

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=2 settled=true state=declared(txn-id=b"t")
        client: transfer[0] handle=0 delivery-id=3 delivery-tag=b"3" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=3 settled=true state=accepted()
    """
    if not isinstance(control.value, Discharge):
        return
    id = txn_id(control.value.txn_id)
    transaction = None if id is None else event.connection.transactions.known.get(id)
    if id is None or transaction is None or transaction.discharge is None:
        return
    text = f"transaction {call(id)} is discharged a second time"
    evidence = ((transaction.discharge, "the first discharge"), (transaction.answer, "its answer"))
    if not transaction.accepted:
        report.suspect(event, text, "discharge.txn-id", evidence, severity=INFO)
