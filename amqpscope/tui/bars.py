"""What the lines at the top and the bottom say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from amqpscope.protocols.words import escaped, printable, size
from amqpscope.stream.types import PEERS
from amqpscope.tui.screens import screens
from amqpscope.tui.widgets.framelist import SIGNS

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope

Words = list[tuple[str, str]]
"""Texts with the names of their styles."""
GRAVE = ("error", "warning")
MUCH = 1 << 16
"""Octets of a growing file that may wait to be read for the screen to count as live."""
NAMED = 20
"""Columns beside the screens for what was found and for the name of the capture."""
COUNTED = 12
"""Columns for what was found alone."""
RIGHT = 16
"""Columns that are left to the place in the capture."""


def top(scope: Scope) -> tuple[Words, Words]:
    """The screens at the left; at the right what was found, and in which capture."""
    store = scope.store
    counts = [*((SIGNS[each], store.counts[each], each) for each in GRAVE),
              (SIGNS["refusal"], len(store.refusals), "warning")]  # fmt: skip
    found = [(f" {sign} {count:,}", style) for sign, count, style in counts if count]
    tabs = tab_words(scope)
    room = scope.size.width - sum(len(text) for text, _ in (*tabs, *found)) - 4
    name = Path(store.source.path).name if store.source.path != "-" else "standard input"
    name += f" {scope.place}" if scope.place else ""
    # The end of a name says more than its beginning.
    if len(name) > room:
        name = name.partition(".pcap")[0]
    shown = escaped(name) if len(name) <= room else "…" + escaped(name)[1 - max(room, 2) :]
    return tabs, [*found, (f"  {shown} ", "strong")] if room > 4 else found


def tab_words(scope: Scope) -> Words:
    """The screens; where there is little room, only the one in sight by its name."""
    entries, width = screens(), scope.size.width
    needed = sum(len(entry.title) + 4 for entry in entries)
    after = " " if needed <= width - NAMED else ""
    narrow = needed - len(entries) > width - COUNTED
    words = []
    for entry in entries:
        here = entry == scope.entry
        text = f" {entry.key} {entry.title}{after}" if here or not narrow else f" {entry.key} "
        words.append((text, "here" if here else ""))
    return words


ELSEWHERE: Final = (
    ("stuck", "5: what is stuck"),
    ("stats", "6: what was slow"),
    ("messages", "7: where messages are"),
)
"""Screens that answer what most people ask, as far as there is room to say so."""


def left_words(scope: Scope) -> Words:
    """A message, else the filter, else what is wrong, else a hint."""
    store = scope.store
    if scope.message:
        return [(f" {scope.message}", "error" if scope.message.startswith("✗") else "strong")]
    words = looking_words(scope)
    if words:
        return words
    if store.error:
        return [(f" ✗ {store.error}", "error")]
    if scope.said is not None:
        # A user who follows sees each frame for a moment only.
        words, said = [] if scope.following else frame_words(scope), scope.said()
        return words or [(f" {said}", "error" if said.startswith("✗") else "")]
    problem = store.status.get("problem")
    notes = store.status.get("notes") or []
    if problem or notes:
        return [(f" ! {problem or notes[0]}", "warning")]
    if store.done and not store.count:
        return [(f" {store.no_amqp}", "warning")]
    note = scope.marks.notes.get(scope.frame)
    if note:
        return [(f" » {note}", "strong")]
    return frame_words(scope) or hints(scope)


def looking_words(scope: Scope) -> Words:
    """The filter and the search, and what they have found."""
    filtering, searching = scope.looking.filtering, scope.looking.searching
    words: Words = []
    if filtering is not None:
        words.append((f" filter: {filtering.text} ", "strong"))
        words.append((f" {len(filtering.matches):,} of {filtering.seen:,} ", "muted"))
    if searching is not None:
        words.append((f" search: {searching.text} ", "strong"))
        words.append((f" {len(searching.matches):,} found ", "muted"))
    return words


def frame_words(scope: Scope) -> Words:
    """What is wrong with the selected frame, or what it refuses."""
    store, number = scope.store, scope.frame
    if number in store.refusals:
        sender = store.record(number).sender
        refused = store.refusals.words(number)
        text = f" {SIGNS['refusal']} the {PEERS[sender]}: {refused.full}"
        meaning = f". {refused.meaning}" if refused.meaning else ""
        fits = len(text) + len(meaning) + RIGHT < scope.size.width
        return [(text + (meaning if fits else ""), "warning")]
    for severity in GRAVE:
        for finding in store.findings_at(number):
            if finding.severity == severity:
                text = f" {finding.rule} the {finding.peer}: {printable(finding.message)}"
                return [(text, severity)]
    return []


def hints(scope: Scope) -> Words:
    """Where to go next."""
    store = scope.store
    if scope.entry.name == "messages":
        return [(" f: only its frames, L: its ladder, o: another order", "muted")]
    refused, wrong = len(store.refusals), sum(store.counts[each] for each in GRAVE)
    words = []
    if refused:
        words.append("r: what was refused" + (f" ({refused:,})" if refused > 1 else ""))
    if wrong:
        words.append(f"n: next of {wrong:,} errors and warnings" if wrong > 1 else
                     "n: what breaks a rule")  # fmt: skip
    words += [hint for name, hint in ELSEWHERE if name != scope.entry.name]
    while len(words) > 1 and len(", ".join(words)) + RIGHT > scope.size.width:
        words.pop()
    return [(f" {', '.join(words)}", "muted")] if store.count else []


def right(scope: Scope) -> Words:
    """Where we are, and how far reading is."""
    store = scope.store
    words: Words = []
    if scope.paused:
        words.append((" PAUSED", "warning"))
    elif scope.following:
        words.append((" following", "strong"))
    if store.source.follow and not store.done:
        behind = store.behind
        words.append((f" {size(behind)} behind" if behind > MUCH else " live", "muted"))
    elif not store.done:
        percent = f"{store.progress:.0%}" if store.status.get("size") else "..."
        words.append((f" reading {percent}", "muted"))
    gaps = store.status.get("gaps")
    if gaps:
        words.append((f" {gaps} gaps", "warning"))
    words.append((f" {scope.frame:,}/{store.count:,} ", ""))
    return words
