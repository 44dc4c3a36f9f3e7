"""The longest time during which a link had no credit, or a session no window."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.insight.series import Drought, LinkSeries
from amqpscope.model.constraint import STUCK
from amqpscope.protocols.stuck import Held


def droughts(link: LinkSeries, held: Held, now: int) -> Iterator[tuple[str, Drought]]:
    """When something was held the longest, and for lack of what; not what holds it now."""
    for what, series in ((link.names.credit, link.credit), ("window", link.window)):
        found = None if series is None else series.drought(now)
        if found is None or found.duration <= 0:
            continue
        if found.start + found.duration < now or held.worst.rank != STUCK:
            yield what, found
