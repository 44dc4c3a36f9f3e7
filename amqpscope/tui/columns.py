"""The columns of the frame list: which, in which order, how wide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:  # the filter language takes a while to load, and the usual columns do not need it
    from amqpscope.filter.field import Field

SUMMARY: Final = "summary"
OWN: Final = {
    # the columns that the list makes itself: their titles
    "frame": "frame",
    "time": "time",
    "connection": "con",
    "from": "",
    "channel": "ch",
    "link": "link",
    "name": "name",
    SUMMARY: "summary",
}
USUAL_WIDTH: Final = 12
"""Of any other field."""
WIDEST: Final = 200
EXPECTED: Final = "field[:width] ..., in order; any filter field; empty: the usual columns"
_WORD: Final = re.compile(r"\S+")
_WIDTH: Final = re.compile(r"(.+?):(\d+)")


class Column(NamedTuple):
    """A column of the frame list."""

    name: str
    """A field, or `summary`."""
    width: int = 0
    """0: as wide as suits it."""
    field: Field | None = None
    """What its values come from; None: the list makes them itself."""

    def __str__(self) -> str:
        return f"{self.name}:{self.width}" if self.width else self.name


USUAL: Final = tuple(Column(name) for name in OWN)


def parse_columns(text: str) -> tuple[Column, ...]:
    """Columns as the user writes them: `frame time delivery.id:8 summary`.

    Raises `FilterError`, which says where.
    """
    if not text.strip():
        return USUAL
    from amqpscope.filter.errors import FilterError

    found: list[Column] = []
    for word in _WORD.finditer(text):
        sized = _WIDTH.fullmatch(word[0])
        name, width = (sized[1], int(sized[2][:4])) if sized else (word[0], 0)
        if sized and not 0 < width <= WIDEST:
            place = word.start() + sized.start(2)
            raise FilterError(text, place, len(sized[2]), f"expected a width of 1 to {WIDEST}")
        found.append(Column(name, width, field_named(name, text, word.start())))
    return tuple(found)


def field_named(name: str, text: str, place: int) -> Field | None:
    """The field of a column; None: the list makes it itself."""
    if name in OWN:
        return None
    from amqpscope.filter.errors import FilterError
    from amqpscope.filter.field import compile_field

    try:
        return compile_field(name)
    except FilterError as error:
        raise FilterError(text, place + error.position, error.length, error.message) from None


def columns_text(columns: tuple[Column, ...]) -> str:
    """Columns as the user would write them."""
    return " ".join(map(str, columns))
