"""How connections ended, whatever protocol they use, and which finding explains it.

The facts are those of `model.ending`. What explains an ending was found against the partner of who
brought it about: a provable error, or a silence beyond what was agreed. Nothing explains what was
closed in order, since nobody is to blame for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from amqpscope.analysis import Conversation
from amqpscope.findings import Finding
from amqpscope.model.ending import Ending
from amqpscope.protocols.ending_words import short_words
from amqpscope.protocols.words import printable
from amqpscope.stream.types import PEERS

NAMED: Final = frozenset(("ERR-022",))
"""Rules that name the cause of an error, at the frame with the error."""
SILENT: Final = frozenset(("A09-CON-19", "CON-016"))
"""Rules about a peer that was silent for longer than agreed."""
MIXED_UP: Final = frozenset(("TLS-009", "TLS-010"))
"""Rules about TLS that one peer uses and the other does not."""
UNANNOUNCED: Final = frozenset((
    "A09-CON-28", "CON-008", "CON-018", "FRM-014", "SAS-025", "VER-009", "VER-014",
))  # fmt: skip
"""Rules about TCP that was ended before the protocol was: they say what is wrong with the ending
itself."""

UNFINISHED: Final = {"capture": "open at the end", "idle": "not followed to its end"}
"""The state of connections that have not ended when nothing more is read of them."""

NEAR: Final = 60_000_000_000
"""Nanoseconds after an error for which it may be why its partner ended something."""
EXPLAINING: Final = NAMED | SILENT | MIXED_UP | UNANNOUNCED
"""Rules whose findings may explain an ending, however grave they are."""


class Explained(NamedTuple):
    """What was found about an ending."""

    finding: Finding
    cause: bool
    """It is why the peer ended it; else it is about the way in which the peer did so."""


def talk_ending(talk: Conversation) -> Ending | None:
    """How a connection ended; None while it goes on, or where the capture ends first."""
    return talk.current.ending()


def talk_over_at(talk: Conversation) -> int:
    """When a connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
    return talk.current.over_at()


def talk_open(talk: Conversation) -> bool:
    """Both peers have opened the connection, as far as the capture shows."""
    return talk.current.is_open


def standing_words(talk: Conversation, reason: str) -> str:
    """How a connection ended, or how far it is; `reason` is how a direction ended, if one did."""
    ending = talk_ending(talk)
    if ending is not None:
        return short_words(ending)
    if reason in UNFINISHED:
        return UNFINISHED[reason]
    return "open" if talk_open(talk) else "opening"


def may_explain(finding: Finding) -> bool:
    """Whether a finding can explain an ending at all; the others need not be kept for it."""
    return proven(finding) or finding.rule in EXPLAINING


def proven(finding: Finding) -> bool:
    """It is an error beyond doubt."""
    return finding.severity == "error" and finding.certainty == "sure"


def explain_ending(ending: Ending, findings: Iterable[Finding]) -> Explained | None:
    """What explains an ending, of the findings of its connection; None: nothing is known."""
    if ending.orderly or ending.peer < 0:
        return None
    last = ending.after if ending.by_tcp else ending.frame
    guilty = PEERS[1 - ending.peer]
    known = [*findings]
    cause: Finding | None = None
    manner: Finding | None = None
    for finding in known:
        if finding.rule in NAMED and ending.frame and finding.frame == ending.frame:
            return Explained(cause_named_by(finding, known), True)
        if finding.rule in UNANNOUNCED:
            if ending.by_tcp and finding.peer != guilty:
                manner = finding
        elif (
            finding.peer == guilty
            and is_cause(finding, ending, last)
            and (cause is None or is_nearer(finding, cause))
        ):
            cause = finding
    if cause is not None:
        return Explained(cause, True)
    return None if manner is None else Explained(manner, False)


def cause_named_by(finding: Finding, known: Iterable[Finding]) -> Finding:
    """The cause that a finding about an error names, which says more; itself if that is unknown."""
    named = (one for one in known if f"{one.rule} in frame {one.frame}" in finding.message)
    return next(named, finding)


def is_nearer(finding: Finding, cause: Finding) -> bool:
    """Whether a finding is a likelier cause than one that was found before it.

    Of those in one frame that is the first of the catalogue, which goes from form to contents.
    """
    return (-finding.frame, finding.rule) < (-cause.frame, cause.rule)


def is_cause(finding: Finding, ending: Ending, last: int) -> bool:
    """Whether a finding against the partner may be why a peer ended something."""
    if finding.rule in SILENT:
        # A silence that was broken long before the end is forgiven.
        return finding.frame >= last if ending.by_tcp else finding.frame <= last
    if finding.rule in MIXED_UP:
        return True
    near = ending.mark.time - finding.time <= NEAR
    return proven(finding) and finding.frame <= last and near


def explained_words(found: Explained) -> str:
    """What explains an ending."""
    finding = found.finding
    if not found.cause or finding.rule in NAMED:
        return f"see {finding.rule} in frame {finding.frame}: {printable(finding.message)}"
    return f"probable cause: {finding.rule} in frame {finding.frame}: {printable(finding.message)}"
