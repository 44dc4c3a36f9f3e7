"""Which rows of the catalogue are checked, and why the others are not."""

from __future__ import annotations

from typing import Final

from amqpscope.rules.all import load
from amqpscope.rules.catalogue import CatalogueRow, catalogue

CHECKED: Final = "checked"
PERMITTED: Final = "permitted"
NOT_OBSERVABLE: Final = "not observable"
ELSEWHERE: Final = "reported by another"
"""An umbrella, a hint or a part of the model: its breach is reported under another rule."""
NOT_YET: Final = "not yet checked"
STATUSES: Final = (CHECKED, PERMITTED, NOT_OBSERVABLE, ELSEWHERE, NOT_YET)


def status(entry: CatalogueRow) -> str:
    """Whether a row is checked, and if not, why."""
    if entry.id in load():
        return CHECKED
    if entry.level == "MAY":
        return PERMITTED
    if entry.observable == "no":
        return NOT_OBSERVABLE
    return NOT_YET if entry.reported == "here" else ELSEWHERE


def coverage() -> dict[tuple[str, str], dict[str, int]]:
    """By protocol and group: how many rules have which status."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in catalogue().values():
        group = counts.setdefault((row.protocol, row.group), dict.fromkeys(STATUSES, 0))
        group[status(row)] += 1
    return counts
