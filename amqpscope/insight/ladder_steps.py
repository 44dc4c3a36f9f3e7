"""Steps as entries of a ladder: what carries a message joined to what answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.ladder import FAULT, Entry, Note
from amqpscope.protocols.voice import MANY
from amqpscope.protocols.words import endpoint, printable

if TYPE_CHECKING:
    from amqpscope.findings import Finding


def entry(step: Step) -> Entry:
    """One unit; its label is the summary, which is made for those that are drawn."""
    frame, event, voice = step.frame, step.event, step.talk.voice
    joined = [each.mark.frame for each in event.covers if each.mark.frame < frame.number]
    return Entry(
        frame.number,
        frame.time,
        step.conversation.number,
        frame.sender,
        voice.name(event),
        voice.rung(event),
        "",
        rules_label(step.findings) if step.findings else "" if step.faults else voice.alike(event),
        tuple(joined),
        voice.answer(event),
        (*map(fault_note, step.faults), *map(note, step.findings)),
        frame.lost_before,
        MANY if step.findings else voice.fold_after(event),
        voice.rung_colour(event),
    )


def rules_label(findings: list[Finding]) -> str:
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


def fault_note(acted: tuple[str, str]) -> Note:
    """A fault of a proxy, where it acted."""
    return Note("info", FAULT, printable(acted[0]), "", printable(acted[1]))


def fault_words(faults: list[tuple[str, str]]) -> str:
    """Faults behind the last frame of a connection, on one line."""
    return "; ".join(fault_note(acted).words for acted in faults)


def endpoints(conversation: Conversation) -> tuple[str, str]:
    """The addresses of client and server."""
    tcp = conversation.connection
    return endpoint(tcp.client), endpoint(tcp.server)
