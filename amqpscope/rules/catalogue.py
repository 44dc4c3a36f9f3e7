"""The whole catalogue: also rules that only permit, cannot be seen, or are not yet checked."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from amqpscope.rules.all import load

CHECKED: Final = "checked"
PERMITTED: Final = "permitted"
NOT_OBSERVABLE: Final = "not observable"
ELSEWHERE: Final = "told by another"
"""An umbrella, a hint or a part of the model: its breach is reported under another rule."""
NOT_YET: Final = "not yet checked"
STATUSES: Final = (CHECKED, PERMITTED, NOT_OBSERVABLE, ELSEWHERE, NOT_YET)


class Entry(NamedTuple):
    """One row of the catalogue."""

    id: str
    name: str
    protocol: str
    group: str
    section: str
    level: str
    severity: str
    observable: str
    default: str
    told: str

    @property
    def status(self) -> str:
        """Whether it is checked, and if not, why."""
        if self.id in load():
            return CHECKED
        if self.level == "MAY":
            return PERMITTED
        if self.observable == "no":
            return NOT_OBSERVABLE
        return ELSEWHERE if self.told == "elsewhere" else NOT_YET


@cache
def catalogue() -> dict[str, Entry]:
    """All rows by id."""
    text = files("amqpscope.rules").joinpath("catalogue.tsv").read_text(encoding="utf-8")
    rows = (Entry(*line.split("\t")) for line in text.splitlines()[1:])
    return {row.id: row for row in rows}


def coverage() -> dict[tuple[str, str], dict[str, int]]:
    """By protocol and group: how many rules have which status."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in catalogue().values():
        group = counts.setdefault((row.protocol, row.group), dict.fromkeys(STATUSES, 0))
        group[row.status] += 1
    return counts
