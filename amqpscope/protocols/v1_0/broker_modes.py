"""The modes that clients of 1.0 ask a broker for, and those that it gives them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.stream.types import CLIENT
from dissectors.v1_0.bodies import Attach, Source, Target
from dissectors.v1_0.tables import choice

MIXED: Final = 2
FIRST: Final = 0
"""The settle modes of a link that states none (2.7.3)."""


def modes(event: Event) -> list[str]:
    """What a broker's attach makes of the client's, mode by mode: `rcv-settle-mode second ->
    first`."""
    given, link = event.unit.body, event.link
    if event.peer == CLIENT or not isinstance(given, Attach) or link is None or link.pair is None:
        return []
    asked = link.pair.attach
    if asked is None:
        return []
    found = [
        settle_mode("snd-settle-mode", "sender", asked.snd_settle_mode, given.snd_settle_mode),
        settle_mode("rcv-settle-mode", "receiver", asked.rcv_settle_mode, given.rcv_settle_mode),
    ]
    wanted, got = asked.source, given.source
    if isinstance(wanted, Source) and wanted.distribution_mode is not None:
        mode = got.distribution_mode if isinstance(got, Source) else None
        found.append(f"distribution-mode {wanted.distribution_mode} -> {mode or 'not stated'}")
    for terminus, answer in ((wanted, got), (asked.target, given.target)):
        if isinstance(terminus, Source | Target) and terminus.dynamic:
            made = isinstance(answer, Source | Target) and isinstance(answer.address, str)
            found.append(f"dynamic node -> {'made' if made else 'not made'}")
    return found


@lru_cache(maxsize=64)
def settle_mode(field: str, owner: str, asked: int | None, given: int | None) -> str:
    """One of the two settle modes; what is not stated has the spec's default."""
    default = MIXED if owner == "sender" else FIRST
    before, after = (
        choice(f"{owner}-settle-mode", default if value is None else value) or "of no known value"
        for value in (asked, given)
    )
    return f"{field} {before} -> {after}"
