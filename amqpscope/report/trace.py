"""One message's life as a ladder: those who publish on the left, the broker, those who consume."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.words import printable, seconds
from amqpscope.report.broker import passage_object
from amqpscope.report.columns import columns, cut
from amqpscope.rules.broker import history

if TYPE_CHECKING:
    from amqpscope.model.broker.journey import Journey, Leg
    from amqpscope.model.mark import Mark

SIDE: Final = 41
"""Columns on each side of the broker, where there is room."""
LETTERS: Final = 26
HEAD: Final = 28
"""Columns in front of them: when, and in which frame."""


class TraceText:
    """Draws journeys as text."""

    def __init__(self, *, plain: bool = False, width: int = 0) -> None:
        self.side = min(SIDE, (width - HEAD - 1) // 2) if width > HEAD + 40 else SIDE
        self.line, self.right, self.left = ("-", ">", "<") if plain else ("─", "▶", "◀")
        self.bar = "|" if plain else "│"
        self.more = "~" if plain else "…"

    def lines(self, journeys: Sequence[Journey], captures: Sequence[str]) -> Iterator[str]:
        """One ladder a journey."""
        for number, capture in enumerate(captures if len(captures) > 1 else ()):
            yield f"{letter(number)}: {printable(capture)}"
        for journey in journeys:
            yield self.title(journey)
            yield from self.ladder(journey, len(captures) > 1)
            if journey.doubtful:
                yield f"  {journey.doubtful}: nothing is concluded from it"
            yield ""

    def title(self, journey: Journey) -> str:
        """Which message it is."""
        envelope = journey.envelope
        name = f"message {printable(envelope.id_text)}" if envelope.message_id else "a message"
        return f"{name}, {envelope.size:,} octets, {envelope.family}"

    def ladder(self, journey: Journey, several: bool) -> Iterator[str]:
        """The frames of a journey, in the order of time; with `several` captures, of which one."""
        rows = sorted(self.rows(journey), key=lambda row: row[0])
        start = rows[0][0][0] if rows else 0
        yield f"{'':{HEAD}}{'publisher':{self.side - 3}}broker{'consumer':>{self.side - 3}}"
        for (time, capture, frame), connection, text in rows:
            after = f"+{seconds(time - start)}" if time > start else "0"
            where = f"{letter(capture)} " if several else ""
            yield f"{after:>10} {f'{where}frame {frame}':>16} {self.place_arrow(connection, text)}"

    def place_arrow(self, connection: int, row: tuple[bool, bool, str]) -> str:
        """An arrow on its side of the broker."""
        publishes, to_broker, text = row
        room = self.side - len(str(connection)) - 7
        text = cut(printable(text), room, self.more)
        fill = self.line * (room - columns(text))
        if to_broker is publishes:
            arrow = f"{self.line}{self.line} {text} {fill}{self.right}"
        else:
            arrow = f"{self.left}{fill} {text} {self.line}{self.line}"
        if publishes:
            return f"{connection} {arrow} {self.bar}"
        return f"{'':{self.side}}{self.bar} {arrow} {connection}"

    def rows(
        self, journey: Journey
    ) -> Iterator[tuple[tuple[int, int, int], int, tuple[bool, bool, str]]]:
        """When, on which connection, on which side of the broker and in which direction; what."""
        for leg in (*journey.publishes, *journey.deliveries):
            publishes = leg.is_publish
            again = "redelivered from" if leg.redelivered else "delivered from"
            text = f"{'published to' if publishes else again} {leg.node.name}"
            yield moment(leg, leg.mark), leg.lane.connection, (publishes, publishes, text)
            mark = leg.verdict.mark
            if mark is not None and mark.frame and mark.frame != leg.mark.frame:
                text = leg.outcome + (" (failed)" if leg.verdict.failed else "")
                yield moment(leg, mark), leg.lane.connection, (publishes, not publishes, text)
            elif leg.lost is not None and leg.lost.frame and not leg.outcome:
                text = "ended without an outcome"
                yield moment(leg, leg.lost), leg.lane.connection, (publishes, not publishes, text)


def letter(capture: int) -> str:
    """What a capture is called in a ladder of several: A, B, ... Z, 27, 28."""
    return chr(ord("A") + capture) if capture < LETTERS else str(capture + 1)


def moment(leg: Leg, mark: Mark) -> tuple[int, int, int]:
    """When a frame passed, in which capture, and its number."""
    return mark.time, leg.lane.capture, mark.frame


def trace_json(journeys: Sequence[Journey], captures: Sequence[str]) -> str:
    """The journeys as JSON."""
    document: dict[str, Any] = {
        "version": 1,
        "captures": list(captures),
        "messages": [
            {
                "id": journey.envelope.id_text or None,
                "size": journey.envelope.size,
                "protocol": journey.envelope.family,
                "published": journey.published,
                "delivered": journey.delivered,
                "doubt": journey.doubtful or None,
                "history": [passage_object(each, captures) for each in history(journey)],
            }
            for journey in journeys
        ],
    }
    return json.dumps(document, indent=1) + "\n"
