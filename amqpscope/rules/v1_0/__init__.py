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
from amqpscope.model.v1_0.event import KIND, WRONG, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules import registry, reporter
from amqpscope.rules.consequences import EARLIER, consequence
from amqpscope.rules.registry import ADVISORY, IMPLIED, MUST, SHOULD, Check, Family, Getter
from amqpscope.rules.reporter import INCOMPLETE, Related
from amqpscope.rules.v1_0 import parameters
from amqpscope.rules.v1_0.consequences import cause_of, touched_by
from amqpscope.rules.v1_0.termini._terminus import termini_of
from dissectors.v1_0.bodies import Attach

__all__ = [
    "ADVISORY", "ERROR", "FAMILY", "IMPLIED", "INFO", "MUST", "SEVERITIES", "SHOULD", "SURE",
    "SUSPECT", "WARNING", "Check", "Related", "Reporter", "rule",
]  # fmt: skip

FAMILY: Final = "amqp-1.0"
STATELESS: Final = ("TYP", "ENC", "MSG")
"""Groups whose rules look at one frame or message, so that nothing lost before it matters."""


def link_pair(event: Event) -> LinkEnd | None:
    """The partner's end of the link."""
    return None if event.link is None else event.link.pair


def session_pair(event: Event) -> SessionEnd | None:
    """The partner's end of the session."""
    return None if event.session is None else event.session.pair


FACTS: Final = (
    "client",           # the client sent it
    "server",
    "ahead",            # its sender knows of frames that have not passed here yet
    "damaged",          # it was not read to its end, or has faults
    "wrong",            # its body is not what its row says
    "discarded",        # its receiver drops it, after an error of its own
    "anchored",         # the start of its sender's octets was seen
    "partner-anchored", # ... of its partner's
    "closed",           # its sender has sent a close before
    "trusted",          # it was seen whole, and a frame does begin where it was taken to
)  # fmt: skip


def facts_of(event: shared.Event) -> int:
    """The FACTS that hold of an event, as bits."""
    found = cast(Event, event)
    own, partner = found.own, found.partner
    facts = 1 << found.peer
    if found.ahead:
        facts |= 1 << 2
    if found.damaged:
        facts |= 1 << 3
    if found.kinds & WRONG:
        facts |= 1 << 4
    if found.discarded:
        facts |= 1 << 5
    if own.anchored:
        facts |= 1 << 6
    if partner.anchored:
        facts |= 1 << 7
    if own.close is not None:
        facts |= 1 << 8
    if found.trusted:
        facts |= 1 << 9
    return facts


PARAMETERS: Final[dict[str, Callable[[Event], object]]] = {
    "body":         lambda event: event.body,
    "session":      lambda event: event.session,
    "session_pair": session_pair,
    "link":         lambda event: event.link,
    "pair":         link_pair,
    "delivery":     lambda event: event.delivery,
    "message":      lambda event: event.parts,
    "sasl":         lambda event: event.connection.sasl,
    "attach":       parameters.attach_of,
    "error":        parameters.error_in,
    "properties":   parameters.properties_of,
    "state":        parameters.state_of,
    "control":      parameters.control_message,
    "parts":        parameters.parts_of,
    "termini":      termini_of,
}  # fmt: skip
OF_1_0: Final = Family(FAMILY, KIND, cast(dict[str, Getter], PARAMETERS), FACTS, facts_of)


def rule(
    id: str, section: str, level: str, severity: str, *, on: str, needs: str = "",
    default: bool = True,
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of 1.0."""
    return registry.register(OF_1_0, id, section, level, severity, on, needs, default, "")


class Reporter(reporter.Reporter):
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
            if cause is None and not self.trial:
                place, since = touched_by(found, fault)
                connection.breaches.touch(place, fault, since)
            elif cause is not None:
                fault.sure = False
                message += consequence(cause)
                related = (*related, (cause.mark, EARLIER))
        if not self.trial:
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
