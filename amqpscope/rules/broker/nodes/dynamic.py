"""Nodes that a broker makes for a link, and names itself (BRK-001, 002, 037; paper 2.1, 2.3.13).

They are looked at where a link is attached or detached, and not with a message; others may use and
delete nodes unseen, so that nothing here is ever certain.
"""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.broker.declaration import Declaration
from amqpscope.rules.broker import ADVISORY, INFO, SHOULD, Reporter, rule
from amqpscope.stream.types import SERVER

Names = tuple[Declaration, Declaration]
"""What was said of a node before, and what is said now."""
NUMBER: Final = re.compile(r"\d+")
HARD: Final = 20
"""Characters beside a counter that make a name hard to guess nevertheless."""


@rule("BRK-001", "2.1", ADVISORY, INFO, on="named")
def address_meaning_differs(names: Names, report: Reporter) -> None:
    """The address of a node that a broker has made is that of this node for every link.

    Bad (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-7f3a91c25d0e4b68" dynamic=true) target=target()
                  initial-delivery-count=0
        B.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="tmp-7f3a91c25d0e4b68") initial-delivery-count=0
        B.server: attach[0] name="s" handle=0 role=receiver source=source() target=null
        B.server: detach[0] handle=0 closed=true
                  error=error(condition=:amqp:not-found)   # <- BRK-001

    Good (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-7f3a91c25d0e4b68" dynamic=true) target=target()
                  initial-delivery-count=0
        A.client: detach[0] handle=0 closed=true
        A.server: detach[0] handle=0 closed=true
        B.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="tmp-7f3a91c25d0e4b68") initial-delivery-count=0
        B.server: attach[0] name="s" handle=0 role=receiver source=source() target=null
        B.server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found)
    """
    known, said = names
    where = f"which it has made for connection {known.connection}"
    text = f"the broker does not find {said.name!r}, {where}"
    report.claim("BRK-001", said, known, text, "detach.error.condition", SERVER)


@rule("BRK-002", "2.1", SHOULD, INFO, on="named")
def generated_name_guessable(names: Names, report: Reporter) -> None:
    """The names that a broker chooses cannot be guessed from others.

    Bad (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-17" dynamic=true) target=target()
                  initial-delivery-count=0
        B.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        B.server: attach[0] name="r" handle=0 role=sender target=target()
                  source=source(address="tmp-18" dynamic=true)
                  initial-delivery-count=0   # <- BRK-002

    Good (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-7f3a91c25d0e4b68" dynamic=true) target=target()
                  initial-delivery-count=0
        B.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        B.server: attach[0] name="r" handle=0 role=sender target=target()
                  source=source(address="tmp-c09d6e3f81b25a47" dynamic=true)
                  initial-delivery-count=0
    """
    known, said = names
    text = f"the broker calls a node {said.name!r} after one that it called {known.name!r}"
    report.claim("BRK-002", said, known, text, "attach.source.address", SERVER)


@rule("BRK-037", "2.3.13", SHOULD, INFO, on="named")
def dynamic_node_alive_after_close(names: Names, report: Reporter) -> None:
    """A node that a broker made for a link is gone when it answers the detach that closes it.

    Bad (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-7f3a91c25d0e4b68" dynamic=true) target=target()
                  initial-delivery-count=0
        A.client: detach[0] handle=0 closed=true
        A.server: detach[0] handle=0 closed=true
        @1s B.client: attach[0] name="s" handle=0 role=sender source=source()
                      target=target(address="tmp-7f3a91c25d0e4b68") initial-delivery-count=0
        B.server: attach[0] name="s" handle=0 role=receiver source=source()
                  target=target(address="tmp-7f3a91c25d0e4b68")   # <- BRK-037

    Good (named):
        A.client: attach[0] name="r" handle=0 role=receiver source=source(dynamic=true)
                  target=target()
        A.server: attach[0] name="r" handle=0 role=sender
                  source=source(address="tmp-7f3a91c25d0e4b68" dynamic=true) target=target()
                  initial-delivery-count=0
        B.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="tmp-7f3a91c25d0e4b68") initial-delivery-count=0
        B.server: attach[0] name="s" handle=0 role=receiver source=source()
                  target=target(address="tmp-7f3a91c25d0e4b68")
    """
    known, said = names
    asked = said.asked
    if asked is not None and said.capture == known.capture and asked.frame > known.mark.frame:
        text = f"a link is attached to {said.name!r}, which the broker made for a link that is"
        report.claim("BRK-037", said, known, f"{text} closed", "", SERVER)


def is_next(before: str, after: str) -> bool:
    """Whether two names differ by a counter alone, and the rest is easy to guess."""
    if NUMBER.sub("#", before) != NUMBER.sub("#", after) or before == after:
        return False
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
    steps = [int(b) - int(a) for a, b in pairs if a != b]
    return len(steps) == 1 and steps[0] == 1 and len(NUMBER.sub("", after)) < HARD
