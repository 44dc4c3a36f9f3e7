"""The rules of AMQP 1.0.

from amqpscope.rules.v1_0 import ERROR, MUST, Reporter, rule
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from amqpscope.findings import ERROR, INFO, SEVERITIES, SURE, SUSPECT, WARNING
from amqpscope.model import event as shared
from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import Fault
from amqpscope.model.v1_0.event import KIND, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules import registry
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.registry import ADVISORY, IMPLIED, INCOMPLETE, MUST, SHOULD, Check, Related
from amqpscope.rules.v1_0.consequences import cause_of, touched_by
from dissectors.v1_0.bodies import Attach

__all__ = [
    "ADVISORY", "ERROR", "FAMILY", "IMPLIED", "INFO", "MUST", "SEVERITIES", "SHOULD", "SURE",
    "SUSPECT", "WARNING", "Check", "Related", "Reporter", "rule",
]  # fmt: skip

FAMILY: Final = "amqp-1.0"
STATELESS: Final = ("TYP", "ENC", "MSG")
"""Groups whose rules look at one frame or message, so that nothing lost before it matters."""


def rule(
    id: str, name: str, section: str, level: str, severity: str, *, on: str, default: bool = True
) -> Callable[[Check], Check]:
    """Make a function a rule of 1.0."""
    return registry.register(FAMILY, KIND, id, name, section, level, severity, on, default, "")


class Reporter(registry.Reporter):
    """Takes what rules report about events of 1.0; `about` is a link or session."""

    def add(
        self, event: shared.Event, certainty: str, message: str, path: str, related: Related,
        severity: str, peer: int, mark: Mark | None, about: object,
    ) -> None:  # fmt: skip
        """Take a finding; shortly after octets were lost, nothing that rests on state is sure."""
        found = cast(Event, event)
        connection = found.connection
        id = self.running.id
        if found.time < connection.shaken_until and not id.startswith(STATELESS):
            certainty = SUSPECT
            message += INCOMPLETE
        unit = found.frame.unit
        channel = None if unit.header is not None else unit.channel
        session, link = found.session, found.link
        if isinstance(about, LinkEnd):
            session, link, channel = about.session, about, about.session.channel
        elif isinstance(about, SessionEnd):
            session, link, channel = about, None, about.channel
        fault = Fault(
            id,
            certainty == SURE,
            found.peer if peer < 0 else peer,
            found.mark if mark is None else mark,
        )
        fault.session, fault.link = session, link
        fault.path, fault.severity = path, severity or self.running.severity
        if self.proves(certainty, severity):
            cause = cause_of(found, fault)
            if cause is None:
                place, since = touched_by(found, fault)
                connection.breaches.touch(place, fault, since)
            else:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        connection.blame(fault)
        name = "" if link is None else link.name
        if about is None and mark is None:
            name = link_name(found) or name
        self.write(
            sure=fault.sure, peer=fault.peer, mark=fault.mark, severity=severity, message=message,
            path=path, channel=channel, link=name, related=related,
        )  # fmt: skip


def link_name(event: Event) -> str:
    """The link that an attach makes, or that all deliveries of a disposition are of."""
    body = event.body
    if isinstance(body, Attach):
        return body.name or ""
    names = {delivery.link.name for delivery in event.covered}
    return names.pop() if len(names) == 1 else ""
