"""The longest time during which a link had no credit, or a session no window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from amqpscope.insight.series import LinkSeries, Series
from amqpscope.model.constraint import STUCK
from amqpscope.protocols.stuck import Held


class Drought(NamedTuple):
    """The longest time during which a number was 0."""

    start: int
    duration: int


def droughts(link: LinkSeries, held: Held, now: int) -> Iterator[tuple[str, Drought]]:
    """When something was held the longest, and for lack of what; not what holds it now."""
    for what, series in ((link.names.credit, link.credit), ("window", link.window)):
        found = None if series is None else drought(series, now)
        if found is None or found.duration <= 0:
            continue
        if found.start + found.duration < now or held.worst.rank != STUCK:
            yield what, found


def drought(series: Series, now: int) -> Drought | None:
    """The longest time during which a number was 0, after it was more."""
    best: Drought | None = None
    since = 0
    risen = False
    for point in series.points():
        # What is not known any more is no drought.
        if since and (point.high > 0 or not point.events):
            if best is None or point.time - since > best.duration:
                best = Drought(since, point.time - since)
            since = 0
        risen = risen or (point.events > 0 and point.high > 0)
        if risen and point.last is not None and point.last <= 0 and not since:
            since = point.at
    if since and (best is None or now - since > best.duration):
        best = Drought(since, now - since)
    return best
