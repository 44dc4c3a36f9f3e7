"""Which outcomes a source takes, and who may state them (OUT; spec 3.4.3, 3.5.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import RESUME, Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.outcomes.fields import path_of, plain, state_of
from amqpscope.rules.v1_0.termini._terminus import Termini, symbols
from dissectors.v1_0.bodies import Body, Disposition, Error, Rejected, Source, Transfer
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.tables import COMPOSITES
from dissectors.v1_0.values import Described, Value, type_of

OUTCOME_SYMBOLS: Final = frozenset(row.symbol for row in COMPOSITES if "outcome" in row.provides)
STATE_SYMBOLS: Final = frozenset(
    row.symbol for row in COMPOSITES if "delivery-state" in row.provides
)


@rule("OUT-014", "3.4.3", SHOULD, WARNING, on="odd-state")
def rejected_by_source_itself(event: Event, report: Reporter) -> None:
    """It is the receiver that rejects a message, not the source by itself.

    rejected says that the message is invalid, which only its receiver can find. A source that takes
    a message back releases or modifies it. Azure Service Bus rejects when a lock has run out, which
    is only noted. Judged where all that the receiver has said was seen.

    Bad (received):
        server: disposition[0] role=sender first=0
                state=rejected(error=error(condition=:expired))   # <- OUT-014
        client: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:expired))

    Good (received rcv-settle-mode=second):
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


@rule("OUT-017", "3.5.3", IMPLIED, WARNING, on="receiver-disposition odd-state")
def outcome_not_offered(event: Event, report: Reporter) -> None:
    """A receiver chooses among the outcomes that the sender's source lists.

    The sender has said what it can do with a message; brokers answer other outcomes with an error
    or treat them as something else. An empty list says nothing. RabbitMQ 3 does not list modified,
    and clients send it all the same.

    Bad (received
            server.source=source(address="q" outcomes=[:amqp:accepted:list :amqp:rejected:list])):
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true)   # <- OUT-017

    Good (received):
        client: disposition[0] role=receiver first=0 settled=true state=released()
    """
    state = plain(state_of(event))
    if not isinstance(state, Body) or "outcome" not in state.row.provides:
        return
    symbol = state.row.symbol
    for delivery in event.covered:
        link = delivery.link
        if not link.terms.outcomes or link.terms.coordinator or symbol in link.terms.outcomes:
            continue
        if delivery.snd_settled is not None or not event.knew(link.mark):
            continue
        if settled_as(delivery.snd_terminal, symbol):
            continue
        listed = ", ".join(link.terms.outcomes)
        text = f"{state.row.name} is none of the outcomes of link {link.label()}: {listed}"
        report.sure(event, text, path_of(event), ((link.mark, "the sender's attach"),))
        return


def settled_as(state: Value, symbol: str) -> bool:
    """The sender has stated this outcome itself, so that the receiver only follows."""
    return isinstance(state, Body) and state.row.symbol == symbol


@rule("OUT-018", "3.5.3", MUST, ERROR, on="attach")
def outcomes_list_malformed(event: Event, report: Reporter, termini: Termini) -> None:
    """The outcomes of a source are symbols of outcomes.

    received and transactional-state are delivery states, but no outcomes. A symbol that we do not
    know may be an extension's. A list in the place of an array is reported by SRC-031.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q"
                outcomes=[:amqp:accepted:list :amqp:received:list])   # <- OUT-018

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list :amqp:rejected:list
                :amqp:released:list :amqp:modified:list])
    """
    path = "attach.source.outcomes"
    for terminus in termini:
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
                report.sure(event, f"{path} lists {name}, which is not an outcome", path)
            else:
                text = f"{path} lists the unknown outcome {name}"
                own = not name.startswith("amqp:")
                report.suspect(event, text, path, severity=INFO if own else WARNING)
            break


@rule("OUT-020", "3.5.3", MUST, ERROR, on="attach")
def default_outcome_not_an_outcome(event: Event, report: Reporter, termini: Termini) -> None:
    """The default-outcome of a source is an outcome as it would be in a disposition.

    It decides what becomes of messages whose receiver vanishes. A symbol that names one, or a
    state that is no outcome, decides nothing. An unknown descriptor may be an extension's.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(address="q" default-outcome=:amqp:released:list)   # <- OUT-020

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" default-outcome=modified(delivery-failed=true))
    """
    path = "attach.source.default-outcome"
    for terminus in termini:
        position, value = terminus.field("default-outcome")
        if position < 0 or value is None or terminus.repeated(position):
            continue
        if isinstance(value, Described):
            text = f"{path} is of the unknown type {descriptor_name(value.descriptor)}"
            report.suspect(event, text, path, severity=INFO)
        elif not isinstance(value, Body) or "outcome" not in value.row.provides:
            called = value.row.name if isinstance(value, Body) else type_of(value)
            report.sure(event, f"{path} is of type {called}, which is not an outcome", path)
