"""The rules of AMQP 0-8, 0-9 and 0-9-1 (A09).

    from amqpscope.rules.v0_9 import ERROR, MUST, Reporter, rule

    @rule("A09-FRM-14", "4.2.6.1", MUST, ERROR,
          on="wrong-channel content-header | wrong-channel content-body")
    def content_frame_on_channel_zero(event: Event, report: Reporter) -> None:
        '''The header and the bodies of a content are not on channel 0.
        ...'''

Damaged methods are not shown to a rule that names methods, unless `malformed` is among its words.
`dialects` names the versions that a rule is of, by the start of their names; without it, it is of
all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from amqpscope.findings import ERROR, INFO, SURE, SUSPECT, WARNING
from amqpscope.model import event as shared
from amqpscope.model.fault import Fault
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.event import KIND, Event
from amqpscope.rules import registry
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.registry import (
    ADVISORY,
    IMPLIED,
    INCOMPLETE,
    MUST,
    SHOULD,
    Check,
    Family,
    Getter,
    Related,
)  # fmt: skip
from amqpscope.rules.v0_9.consequences import STATELESS, cause_of, touched_by

__all__ = [
    "ADVISORY", "ERROR", "FAMILY", "IMPLIED", "INFO", "MUST", "SHOULD", "SURE", "SUSPECT",
    "WARNING", "Check", "Related", "Reporter", "rule",
]  # fmt: skip

FAMILY: Final = "amqp-0-9-1"
ANY_DIALECT: Final = ("A09-FRM-08", "A09-FRM-12", "A09-FRM-14", "A09-FRM-15", "A09-FRM-16")
"""Rules that are the same whatever dialect is used."""


FACTS: Final = (
    "client",    # the client sent it
    "server",
    "ahead",     # its sender knows of octets that have not passed here
    "faulty",    # it has faults
    "trusted",   # it was seen whole, and a frame does begin where it was taken to
    "sure",      # all that passed on its channel was seen
    "anchored",  # the start of its sender's octets was seen
    "closed",    # its sender has sent connection.close before
)  # fmt: skip


def facts_of(event: shared.Event) -> int:
    """The FACTS that hold of an event, as bits."""
    found = cast(Event, event)
    own, channel = found.own, found.channel
    facts = 1 << found.peer
    if found.ahead:
        facts |= 1 << 2
    if found.unit.faults:
        facts |= 1 << 3
    if found.trusted:
        facts |= 1 << 4
    if channel is not None and channel.sure:
        facts |= 1 << 5
    if own.anchored:
        facts |= 1 << 6
    if own.close is not None:
        facts |= 1 << 7
    return facts


PARAMETERS: Final[dict[str, Callable[[Event], object]]] = {
    "method":   lambda event: event.unit.method,
    "header":   lambda event: event.unit.content,
    "channel":  lambda event: event.channel,
    "request":  lambda event: event.request,
    "content":  lambda event: event.content,
    "consumer": lambda event: event.consumer,
    "delivery": lambda event: event.delivery,
    "publish":  lambda event: event.publish,
    "tangle":   lambda event: event.tangle,
}  # fmt: skip
OF_0_9: Final = Family(FAMILY, KIND, cast(dict[str, Getter], PARAMETERS), FACTS, facts_of)


def rule(
    id: str, section: str, level: str, severity: str, *, on: str, needs: str = "",
    default: bool = True, dialects: str = "",
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of 0-9."""
    return registry.register(OF_0_9, id, section, level, severity, on, needs, default, dialects)


class Reporter(registry.Reporter):
    """Takes what rules report about events of 0-9; `about` is the number of a channel."""

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
            if cause is None:
                place, since = touched_by(found, fault, channel)
                connection.breaches.touch(place, fault, since)
            else:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        connection.blame(fault)
        self.write(
            sure=fault.sure, peer=fault.peer, mark=fault.mark, severity=severity, message=message,
            path=path, channel=channel, link="", related=related,
        )  # fmt: skip
