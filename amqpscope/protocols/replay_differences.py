"""Where a live peer leaves the script, in words, and what else a user should know of a replay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from amqpscope.protocols.replay_acts import Choices
from amqpscope.stream.framer import Frame
from dissectors.masking import masked_octets
from dissectors.secrets import MASK, cleaned, secret_key

NAMED: Final = re.compile(r'("?[\w.-]+"?)=(b?"(?:[^"\\]|\\.)*"?)')
"""A name and its text or octets, as notation has them."""
MOST_NOTES: Final = 100
MOST_NAMED: Final = 5
"""Frames that one line names."""
MOST_DIVERGENCES: Final = 1000
"""Divergences that are kept; the others are counted."""


class FieldDifference(NamedTuple):
    """A field that is not as it was recorded."""

    name: str
    expected: str
    seen: str


class Divergence(NamedTuple):
    """Where the live peer leaves the script."""

    kind: str
    """`changed`, `missing` (recorded only), `extra` (live only) or `stuck`."""
    frame: int
    """The recorded frame, or the one before which something else came; 0 where there is none."""
    where: str
    """`transfer on link 'orders'`."""
    expected: str
    """The recorded frame in notation; empty for none."""
    seen: str
    fields: tuple[FieldDifference, ...] = ()


class Differences:
    """Collects what is not as it was recorded."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.divergences: list[Divergence] = []
        self.uncounted = 0
        """Divergences that were too many to keep."""
        self.notes: list[str] = []
        """What else the user should know, one line each."""

    def note_left_out(self, frames: Sequence[Frame]) -> None:
        """Say which frames of the recording are not played, as they break the protocol."""
        if not frames or self.choices.exact:
            return
        first = ", ".join(f"{frame.number} ({frame.unit.name})" for frame in frames[:MOST_NAMED])
        more = f" and {len(frames) - MOST_NAMED} more" if len(frames) > MOST_NAMED else ""
        verb = "is" if len(frames) == 1 else "are"
        self.notes.append(
            f"frame{'s' * (len(frames) > 1)} {first}{more} {verb} not legal and left out"
        )

    def add_note(self, line: str) -> None:
        """Keep a line for the user, as long as there are not too many."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(line)

    def was_in_flight(self, kind: str) -> bool:
        """Whether a difference only shows what was on its way when we were done."""
        return False

    def diverge(
        self,
        kind: str,
        frame: Frame | None,
        where: str,
        seen: str = "",
        fields: Sequence[FieldDifference] = (),
    ) -> None:
        """Note where the live peer leaves the script."""
        if self.was_in_flight(kind):
            return
        if len(self.divergences) >= MOST_DIVERGENCES:
            self.uncounted += 1
            return
        number, expected = (0, "") if frame is None else self.recorded(frame)
        if kind == "extra":
            number = self.next_frame()
        made = Divergence(kind, number, where, expected, seen, tuple(fields))
        if not self.divergences or self.divergences[-1] != made:
            self.divergences.append(made)

    def next_frame(self) -> int:
        """The number of the first recorded frame that has not come yet; 0 where all have."""
        return 0

    def recorded(self, frame: Frame) -> tuple[int, str]:
        """The number of a recorded frame, and what it says."""
        return frame.number, self.show(frame.raw)

    def show(self, raw: bytes) -> str:
        """A frame in notation, for people's eyes."""
        raise NotImplementedError

    def without_secrets(self, raw: bytes) -> bytes:
        """A frame without the secrets in it, unless they are asked for."""
        return raw if self.choices.show_secrets else masked_octets(raw)

    def mask_notation(self, text: str) -> str:
        """A frame in notation without values whose name says that they are secret."""
        return text if self.choices.show_secrets else NAMED.sub(cover_named, text)

    def differences(self, expected: dict[str, str], seen: dict[str, str]) -> list[FieldDifference]:
        """The fields that differ, but for those that are not to be compared."""
        return [
            FieldDifference(name, *self.pair(name, expected.get(name), seen.get(name)))
            for name in {**expected, **seen}
            if expected.get(name) != seen.get(name) and name not in self.choices.ignore
        ]

    def pair(self, name: str, expected: str | None, seen: str | None) -> tuple[str, str]:
        """Two values of a field as they may be shown."""
        if self.choices.show_secrets:
            return contrast(expected, seen)
        if secret_key(name.rpartition(".")[2]):
            return MASK, f"another {MASK}"
        one, other = contrast(expected, seen)
        return cleaned(self.mask_notation(one)), cleaned(self.mask_notation(other))


def cover_named(found: re.Match[str]) -> str:
    """A value in notation, covered if its name says that it is secret."""
    return f"{found[1]}={MASK}" if secret_key(found[1].strip('"')) else found[0]


def contrast(expected: str | None, seen: str | None, limit: int = 70) -> tuple[str, str]:
    """Two texts as far as a line has room for them, from shortly before they differ."""
    if expected is None or seen is None:
        return excerpt(expected, limit), excerpt(seen, limit)
    same = next(
        (at for at, (a, b) in enumerate(zip(expected, seen, strict=False)) if a != b),
        min(len(expected), len(seen)),
    )
    start = max(0, same - limit // 2)
    lead = "..." if start else ""
    return lead + excerpt(expected[start:], limit), lead + excerpt(seen[start:], limit)


def excerpt(text: str | None, limit: int) -> str:
    """A text as far as a line has room for it."""
    if text is None:
        return "absent"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
