"""The rules of AMQP 0-8, 0-9 and 0-9-1 (A09).

    from amqpscope.rules.v0_9 import ERROR, MUST, Reporter, rule

    @rule("A09-FRM-14", "content-frame-on-channel-zero", "4.2.6.1", MUST, ERROR,
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
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.event import KIND, Event
from amqpscope.model.v1_0.connection import Fault
from amqpscope.rules import registry
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.registry import ADVISORY, IMPLIED, INCOMPLETE, MUST, SHOULD, Check, Related
from amqpscope.rules.v0_9.consequences import STATELESS, cause_of, touched_by

__all__ = [
    "ADVISORY", "ERROR", "FAMILY", "IMPLIED", "INFO", "MUST", "SHOULD", "SURE", "SUSPECT",
    "WARNING", "Check", "Related", "Reporter", "rule",
]  # fmt: skip

FAMILY: Final = "amqp-0-9-1"
ANY_DIALECT: Final = ("A09-FRM-08", "A09-FRM-12", "A09-FRM-14", "A09-FRM-15", "A09-FRM-16")
"""Rules that are the same whatever dialect is used."""


def rule(
    id: str, name: str, section: str, level: str, severity: str, *, on: str, default: bool = True,
    dialects: str = "",
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of 0-9."""
    return registry.register(
        FAMILY, KIND, id, name, section, level, severity, on, default, dialects
    )


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
