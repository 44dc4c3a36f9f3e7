"""The whole catalogue, a row a rule: also what only permits, cannot be seen, or is not checked."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from amqpscope.rules.registry import RULES
from dissectors.data_files import read_text


class CatalogueRow(NamedTuple):
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
    reported: str
    """`here`, or the rules that report its breach, where it is not a rule itself."""

    @property
    def reporters(self) -> list[str]:
        """The rules that report its breach."""
        return [] if self.reported == "here" else self.reported.split()


def catalogue() -> dict[str, CatalogueRow]:
    """All rows by id, and one for each rule of a family that somebody else has registered."""
    own = table()
    others = {
        rule.id: CatalogueRow(
            rule.id, rule.name, rule.family.name, rule.id.rpartition("-")[0], rule.section,
            rule.level, rule.severity, "yes", "on" if rule.default else "off", "here",
        )
        for rule in RULES.values()
        if rule.id not in own
    }  # fmt: skip
    return own | others if others else own


@cache
def table() -> dict[str, CatalogueRow]:
    """The rows of the table by id."""
    text = read_text("amqpscope.rules", "catalogue.tsv")
    rows = (CatalogueRow(*line.split("\t")) for line in text.splitlines()[1:])
    return {row.id: row for row in rows}
