"""Violations of 0-9 and what follows from them: see `rules.consequences`.

Channels have one number for both peers, so a violation touches the channel that it is on, or the
whole connection when it is on none that is open.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.fault import EVERYTHING, NOTHING, Fault
from amqpscope.model.v0_9.event import MALFORMED, UNOPENED, Event

STATELESS: Final = (
    "A09-TBL", "A09-FRM-07", "A09-FRM-08", "A09-FRM-1", "A09-FRM-2", "A09-FRM-49", "A09-FRM-50",
    "A09-CON-31", "A09-EXC-08", "A09-EXC-09", "A09-EXC-16", "A09-QUE-14", "A09-QUE-20",
    "A09-BAS-39", "A09-BAS-40",
)  # fmt: skip
"""Groups whose rules look at one frame, so that nothing lost before it matters."""

OWN: Final = (
    *STATELESS,
    "A09-FRM-01", "A09-FRM-3", "A09-FRM-4",   # its frames and contents, each in its direction
    "A09-CON-05", "A09-CON-11", "A09-CON-26", # its own limits, its own close
    "A09-CHN-10", "A09-CHN-40",
    "A09-BAS-08", "A09-BAS-14", "A09-TX-01", "A09-TX-02", "A09-MSG-05", "A09-MSG-07",
)  # fmt: skip
"""Rules that the frames of the accused prove alone, by the start of their ids."""

HARMLESS: Final = (
    "A09-TBL-03", "A09-TBL-11", "A09-CHN-40", "A09-QUE", "A09-EXC", "A09-FRM-45", "A09-MSG-05",
    "A09-FRM-15", "A09-FRM-16",
)  # fmt: skip
"""Rules whose violation the partner may mind, but whose frame changes nothing in a wrong way."""

ON_CONNECTION: Final = ("A09-CON", "A09-FRM")
"""Rules that compare with what was agreed for the connection, not with a channel's state."""


def touched_by(event: Event, fault: Fault, channel: int | None) -> tuple[int, int]:
    """What a proven violation has touched, and since which frame that is there."""
    sound = not event.kinds & MALFORMED
    if fault.rule.startswith(HARMLESS) and sound:
        return NOTHING, 0
    if not channel or event.kinds & UNOPENED or not sound:
        return EVERYTHING, 0
    return channel, opening_frame(event, channel)


def opening_frame(event: Event, channel: int) -> int:
    """The frame that opened a channel; 0 where it is not open."""
    here = event.connection.channels.get(channel)
    return 0 if here is None else here.mark.frame


def cause_of(event: Event, fault: Fault, channel: int | None) -> Fault | None:
    """The partner's violation that may have led to this one; None when nothing was touched."""
    touched = event.connection.breaches.touched[1 - fault.peer]
    if not touched or fault.rule.startswith(OWN):
        return None
    found = touched.get(EVERYTHING)
    if found is not None or not channel or fault.rule.startswith(ON_CONNECTION):
        return found
    found = touched.get(channel)
    if found is not None and found.mark.frame < opening_frame(event, channel):
        return None  # That was before the channel was opened anew.
    return found
