"""What of a link, an outcome or an error of AMQP 1.0 tells whether it is the one recorded."""

from __future__ import annotations

from amqpscope.protocols.v1_0.replay_script import address_of
from dissectors.v1_0.bodies import (
    Attach,
    Coordinator,
    Declared,
    Error,
    Rejected,
    Source,
    Target,
    TransactionalState,
)
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.values import Value


def error_text(body: object) -> dict[str, str]:
    """The condition of an error, if there is one."""
    error = getattr(body, "error", None)
    return {"error": str(error.condition)} if isinstance(error, Error) else {}


def flag(body: object, name: str) -> str:
    """A boolean field that is false where it is absent."""
    return "true" if getattr(body, name, None) else "false"


def state_text(state: Value) -> str:
    """A delivery state as far as it is compared: without what names a transaction."""
    if isinstance(state, TransactionalState):
        return f"transactional-state({state_text(state.outcome)})"
    if isinstance(state, Declared):
        return "declared"
    if isinstance(state, Rejected):
        return f"rejected({''.join(error_text(state).values())})"
    return "absent" if state is None else text_value(state)


def link_terms(attach: Attach) -> dict[str, str]:
    """What tells of a link that a peer asks for."""
    told = {"address": address_of(attach)}
    for name in ("snd-settle-mode", "rcv-settle-mode"):
        told[name] = str(attach.part_named(name) or 0)
    if attach.snd_settle_mode is None:
        told["snd-settle-mode"] = "2"
    terminus = attach.source if attach.role else attach.target
    if isinstance(terminus, Source):
        for name in ("durable", "expiry-policy", "distribution-mode", "filter", "capabilities"):
            told[f"source.{name}"] = text_value(terminus.part_named(name))
    elif isinstance(terminus, Target):
        for name in ("durable", "expiry-policy", "capabilities"):
            told[f"target.{name}"] = text_value(terminus.part_named(name))
    return told


def answer_terms(attach: Attach) -> dict[str, str]:
    """What tells of the answer to an attach: whether the link was refused."""
    terminus = attach.target if attach.role else attach.source
    refused = not isinstance(terminus, Source | Target | Coordinator)
    return {"refused": str(refused).lower()}
