"""The rules of AMQP 0-8, 0-9 and 0-9-1 (A09).

    from amqpscope.rules.v0_9 import ERROR, MUST, Reporter, rule

    @rule("A09-FRM-14", "4.2.6.1", MUST, ERROR,
          on="wrong-channel content-header | wrong-channel content-body")
    def content_frame_on_channel_zero(event: Event, report: Reporter) -> None:
        '''The header and the bodies of a content are not on channel 0.
        ...'''

Damaged methods are not shown to a rule that names methods, unless `malformed` is among its words.
Several methods in one alternative of `on` mean any of them: `on="odd-settle basic.ack basic.nack"`.
`dialects` names the versions that a rule is of, by the start of their names; without it, it is of
all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

from amqpscope.findings import ERROR, INFO, SURE, SUSPECT, WARNING
from amqpscope.model import event as shared
from amqpscope.model.fault import Fault
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import ENTANGLED, KIND, Event
from amqpscope.rules import registry, reporter
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.registry import ADVISORY, IMPLIED, MUST, SHOULD, Check, Family, Getter, Given
from amqpscope.rules.reporter import INCOMPLETE, Related
from amqpscope.rules.v0_9.consequences import STATELESS, cause_of, touched_by

__all__ = [
    "ADVISORY", "ERROR", "FAMILY", "IMPLIED", "INFO", "MUST", "SHOULD", "SURE",
    "SUSPECT", "WARNING", "Check", "Related", "Reporter", "parameter", "rule",
]  # fmt: skip

Find = TypeVar("Find", bound=Callable[[Event], object])

FAMILY: Final = "amqp-0-9-1"
ANY_DIALECT: Final = ("A09-FRM-08", "A09-FRM-12", "A09-FRM-14", "A09-FRM-15", "A09-FRM-16")
"""Rules that are the same whatever dialect is used."""


FACTS: Final = (
    "client",           # the client sent it
    "server",
    "ahead",            # its sender knows of octets that have not passed here
    "faulty",           # it has faults
    "trusted",          # it was seen whole, and a frame does begin where it was taken to
    "intact",           # it is trusted, and has no faults
    "anchored",         # the start of its sender's octets was seen
    "partner-anchored", # the start of its partner's octets was seen
    "closed",           # its sender has sent connection.close before
    "over",             # a peer has sent connection.close, or the partner has ended its direction
    "started",          # the server's connection.start was seen
    "rabbit",           # the server is RabbitMQ, or behaves as it does
    "skips",            # requests that were asked before what it answers have no answer
    "entangled",        # it is of a content that was interrupted, or may be
    "sure",             # all that passed on its channel was seen
    "whole",            # all that its sender sent on its channel was seen
    "closing",          # one of the peers has closed its channel
    "clear",            # it is trusted, its channel is sure, and nobody has closed that
    "counted",          # all deliveries of its channel, and their acknowledgements, were seen
)  # fmt: skip


def facts_of(event: shared.Event) -> int:
    """The FACTS that hold of an event, as bits."""
    found = cast(Event, event)
    own, partner, connection = found.own, found.partner, found.connection
    facts = 1 << found.peer
    if found.ahead:
        facts |= 1 << 2
    if found.unit.faults:
        facts |= 1 << 3
    if found.trusted:
        facts |= 1 << 4 if found.unit.faults else 3 << 4
    if own.anchored:
        facts |= 1 << 6
    if partner.anchored:
        facts |= 1 << 7
    if own.close is not None:
        facts |= 3 << 8
    elif partner.close is not None or partner.finished:
        facts |= 1 << 9
    if connection.start is not None:
        facts |= 1 << 10
    if connection.rabbit:
        facts |= 1 << 11
    if found.skipped:
        facts |= 1 << 12
    if found.kinds & ENTANGLED:
        facts |= 1 << 13
    return facts if found.channel is None else facts | facts_of_channel(found, found.channel)


def facts_of_channel(event: Event, channel: Channel) -> int:
    """The FACTS that hold of an event because of its channel, as bits."""
    facts = 0
    if channel.sure:
        facts |= 1 << 14
    if channel.whole[event.peer]:
        facts |= 1 << 15
    if channel.closing:
        facts |= 1 << 16
    elif channel.sure and event.trusted:
        facts |= 1 << 17
    if not channel.deliveries.unsure:
        facts |= 1 << 18
    return facts


PARAMETERS: Final[dict[str, Callable[[Event], object]]] = {
    "method":   lambda event: event.unit.method,
    "envelope": lambda event: event.unit.envelope,
    "header":   lambda event: event.unit.content,
    "channel":  lambda event: event.channel,
    "request":  lambda event: event.request,
    "content":  lambda event: event.content,
    "consumer": lambda event: event.consumer,
    "delivery": lambda event: event.delivery,
    "publish":  lambda event: event.publish,
    "tangle":   lambda event: event.tangle,
    "tune":     lambda event: event.connection.tune,
    "tune_ok":  lambda event: event.connection.tune_ok,
}  # fmt: skip
"""What an event may belong to; rules that share something else add it by `parameter`."""
OF_0_9: Final = Family(FAMILY, KIND, cast(dict[str, Getter], PARAMETERS), FACTS, facts_of)


def parameter(name: str) -> Callable[[Find], Find]:
    """Make a function what finds a parameter of rules: they do not run where it finds None."""

    def add(find: Find) -> Find:
        if name in OF_0_9.parameters:
            raise ValueError(f"two parameters are called {name!r}")
        OF_0_9.parameters[name] = Given(cast(Getter, find))
        return find

    return add


def rule(
    id: str, section: str, level: str, severity: str, *, on: str, needs: str = "",
    default: bool = True, dialects: str = "",
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of 0-9."""
    return registry.register(OF_0_9, id, section, level, severity, on, needs, default, dialects)


class Reporter(reporter.Reporter):
    """Takes what rules report about events of 0-9; `about` is the number of a channel."""

    def sure_if(
        self, proven: bool, event: Event, message: str, path: str = "", related: Related = ()
    ) -> None:
        """Report what the octets prove under a condition, and what is a suspicion without it."""
        self.add(event, SURE if proven else SUSPECT, message, path, related, "", -1, None, None)

    def add(
        self, event: shared.Event, certainty: str, message: str, path: str, related: Related,
        severity: str, peer: int, mark: Mark | None, about: object,
    ) -> None:  # fmt: skip
        """Take a finding; shortly after octets were lost, nothing that rests on state is sure."""
        found = cast(Event, event)
        connection = found.connection
        id = self.running.id
        stateless = id.startswith(STATELESS)
        if found.ahead and not stateless:
            return  # The sender knows what did not pass here: it may be right.
        if found.time < connection.shaken_until and not stateless:
            certainty = SUSPECT
            message += INCOMPLETE
        if not connection.announced and not id.startswith(ANY_DIALECT):
            certainty = SUSPECT
        channel = about if isinstance(about, int) else None
        if channel is None and found.unit.header is None:
            channel = found.unit.channel
        fault = Fault(
            id,
            certainty == SURE,
            found.peer if peer < 0 else peer,
            found.mark if mark is None else mark,
        )
        if self.proves(certainty, severity):
            cause = cause_of(found, fault, channel)
            if cause is None and not self.trial:
                place, since = touched_by(found, fault, channel)
                connection.breaches.touch(place, fault, since)
            elif cause is not None:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        if not self.trial:
            connection.blame(fault)
        self.write(
            sure=fault.sure, peer=fault.peer, mark=fault.mark, severity=severity, message=message,
            path=path, channel=channel, link="", related=related,
        )  # fmt: skip
