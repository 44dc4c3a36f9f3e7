"""Steps as entries of a ladder: transfers joined to their dispositions; see `ladder_older` too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Conversation, Step
from amqpscope.report.ladder import OPEN, SETTLED, SHOWN, Entry, Note, channel_word
from amqpscope.report.ladder_older import older_entry, steady
from amqpscope.report.summary import printable, state
from amqpscope.statistics import endpoint
from dissectors.v1_0.bodies import Attach, Body, Detach, Disposition, End, Error, Flow, Transfer

if TYPE_CHECKING:
    from amqpscope.findings import Finding
    from amqpscope.model.older.event import OlderEvent

STEADY: Final = frozenset(("transfer", "disposition", "flow", "empty"))
"""What traffic consists of once links are attached."""
SET_UP: Final = frozenset(("begin", "attach", "detach", "end"))
"""What comes in numbers only where there are many sessions or links."""
MANY: Final = 12
"""How many of these are drawn, and of findings that are alike."""


def entry(step: Step) -> Entry:
    """One unit; its label is the summary, which is made for those that are drawn."""
    if step.older is not None:
        return older(step, step.older)
    frame = step.frame
    unit = frame.unit
    name = unit.name if unit.body is not None or unit.other is None else "unknown"
    body = unit.body
    joined: tuple[int, ...] = ()
    outcome = ""
    if isinstance(body, Disposition):
        joined = tuple(each.mark.frame for each in step.covered if each.mark.frame < frame.number)
        outcome = outcome_word(body)
    where = place(step)
    return Entry(
        frame.number,
        frame.time,
        step.conversation.number,
        frame.sender,
        name,
        where,
        "",
        alike(step, name),
        joined,
        outcome,
        tuple(map(note, step.findings)),
        frame.lost_before,
        MANY if name in SET_UP or step.findings else SHOWN,
    )


def older(step: Step, event: OlderEvent) -> Entry:
    """One unit of the older protocols."""
    found = older_entry(event, step.conversation.number)
    if not step.findings:
        return found._replace(usual=SHOWN if steady(event) else MANY)
    notes = tuple(map(note, step.findings))
    return found._replace(alike=broken(step.findings), usual=MANY, notes=notes)


def broken(findings: list[Finding]) -> str:
    """The word that frames share which break the same rules."""
    return " ".join(sorted({f"{found.rule} {found.peer}" for found in findings}))


def note(finding: Finding) -> Note:
    """A finding, as far as a ladder shows it."""
    return Note(
        finding.severity,
        finding.rule,
        finding.name,
        finding.peer,
        printable(finding.message),
        finding.certainty == "sure",
    )


def place(step: Step) -> str:
    """The address of the link, or its name, or its handle; the channel where there is no link."""
    link = step.link
    if step.covered:
        links = {delivery.link for delivery in step.covered}
        link = links.pop() if len(links) == 1 else None
    if link is None:
        unit = step.frame.unit
        return channel_word(unit.channel if unit.header is None else 0, 0)
    return printable(link.node() or link.name) or f"handle {link.handle}"


def outcome_word(body: Disposition) -> str:
    """What a disposition says of its deliveries, in a word or two."""
    named = isinstance(body.state, Body)
    word = body.state.row.name if isinstance(body.state, Body) else printable(state(body.state))
    if body.settled:
        return word or SETTLED
    return f"{word}{OPEN}" if named else OPEN


def alike(step: Step, name: str) -> str:
    """The word that frames share which say nothing new once some of them were seen."""
    unit = step.frame.unit
    body = unit.body
    if step.findings:
        return broken(step.findings)
    if unit.faults or step.frame.missing or (body is None and name != "empty"):
        return ""
    if name in SET_UP:
        return f"{name} {step.frame.sender} {summary_of_end(body)}"
    if name not in STEADY:
        return ""
    told = [name, str(step.frame.sender), str(unit.channel)]
    if step.link is not None:
        told.append(f"{step.link.name} {step.link.handle}")
    if isinstance(body, Transfer):
        told += [word for word in ("settled", "resume", "aborted", "more") if getattr(body, word)]
        told.append("" if step.transfers <= 1 else "part")
        told.append(body.state.row.name if isinstance(body.state, Body) else "")
    elif isinstance(body, Flow):
        told += [word for word in ("drain", "echo") if getattr(body, word)]
        told.append("no credit" if body.link_credit == 0 else "")
        told.append("no window" if body.incoming_window == 0 else "")
    elif isinstance(body, Disposition):
        told.append(outcome_word(body))
        told.append("" if step.covered else "of nothing")
    return " ".join(told)


def summary_of_end(body: Body | None) -> str:
    """What makes one attach, detach, begin or end unlike another: its role, or its error."""
    if isinstance(body, Attach):
        return "receiver" if body.role else "sender"
    error = body.error if isinstance(body, Detach | End) else None
    return str(error.condition) if isinstance(error, Error) else ""


def endpoints(conversation: Conversation) -> tuple[str, str]:
    """The addresses of client and server."""
    tcp = conversation.connection
    return endpoint(tcp.client), endpoint(tcp.server)
