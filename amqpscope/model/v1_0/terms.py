"""The terms of a link, as one peer's attach states them (spec 2.7.3, 3.5.3, 3.5.4)."""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.bodies import Attach, Body, Coordinator, Source, Target
from dissectors.v1_0.values import Array, Symbol

SENDER: Final = False
RECEIVER: Final = True

UNSETTLED: Final = 0
SETTLED: Final = 1
MIXED: Final = 2
FIRST: Final = 0
SECOND: Final = 1

OUTLIVING: Final = ("connection-close", "never")
"""Expiry policies that keep a terminus when its session ends."""


class Terms:
    """Termini, settle modes, limits and outcomes; the defaults where the attach was not seen."""

    def __init__(self, attach: Attach | None) -> None:
        self.clear = attach is not None
        """The attach was read to its end and without faults: what is null in it is null."""
        self.address = "" if attach is None else address_of(attach)
        target = None if attach is None else attach.target
        self.coordinator = isinstance(target, Coordinator)
        self.anonymous = isinstance(target, Target) and target.address is None
        """Its target has no address: a sender's messages say where they go."""
        self.no_terminus = False
        """It was attached without a terminus of its own: as an answer, that is a refusal."""
        self.snd_settle_mode = MIXED if attach is None else mode_of(attach.snd_settle_mode, MIXED)
        """As this peer announced it; in force if it is the sender."""
        self.rcv_settle_mode = FIRST if attach is None else mode_of(attach.rcv_settle_mode, FIRST)
        """As this peer announced it; in force if it is the receiver."""
        self.max_message_size = 0 if attach is None else attach.max_message_size or 0
        """What this end takes; 0: anything."""
        self.outcomes = outcomes_of(attach)
        """The outcomes that its source lists; none of them: it says nothing."""
        self.lists_unsettled = attach is not None and bool(
            attach.unsettled or attach.incomplete_unsettled
        )
        """Its attach lists unsettled deliveries, or says that it does not list all."""


def mode_of(mode: int | None, default: int) -> int:
    """A settle mode as it was announced, or its default; 0 is a mode too."""
    return default if mode is None else mode


def address_of(attach: Attach) -> str:
    """The node at the broker's end: a sender's target or a receiver's source."""
    for terminus in (
        (attach.source, attach.target) if attach.role else (attach.target, attach.source)
    ):
        if isinstance(terminus, Coordinator):
            return "$coordinator"
        if isinstance(terminus, (Source, Target)) and isinstance(terminus.address, str):
            return terminus.address
    return ""


def outlives_session(attach: Attach) -> bool:
    """Whether the terminus of the end that attaches is kept when its session ends (3.5.6)."""
    terminus = attach.target if attach.role else attach.source
    if not isinstance(terminus, (Source, Target)):
        return False
    return terminus.expiry_policy in OUTLIVING or bool(terminus.timeout)


def outcomes_of(attach: Attach | None) -> tuple[str, ...]:
    """The outcomes that a source lists, with the one that it takes by default, by their symbols."""
    source = None if attach is None else attach.source
    if not isinstance(source, Source):
        return ()
    listed = source.outcomes
    names: tuple[str, ...] = ()
    if isinstance(listed, Symbol):
        names = (str(listed),)
    elif isinstance(listed, Array):
        names = tuple(str(name) for name in listed)
    default = source.default_outcome
    if names and isinstance(default, Body) and default.row.symbol not in names:
        return (*names, default.row.symbol)
    return names
