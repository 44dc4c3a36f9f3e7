"""Which units of a conversation hold a secret that is not in a field of its own.

What a secret is, `dissectors.secrets` says; here it is asked of a Step, which knows its link.
"""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from dissectors.masking import LOOK_BACK
from dissectors.secret_signs import suspicious_octets
from dissectors.secrets import MAX_KNOWN, PUT_TOKEN, names_cbs, secret_node
from dissectors.v0_9.framing import OlderUnit
from dissectors.v1_0.framing import SASL_FRAME, Unit

REQUEST: Final = 4096
"""Octets at the start of a message in which its operation and its address are looked for."""
_nodes: Final[dict[str, bool]] = {}
"""Whether nodes take tokens: it is asked with every message, and this module is compiled."""


def token_node(address: str) -> bool:
    """Whether what is sent to an address is a token."""
    known = _nodes.get(address)
    if known is None:
        known = secret_node(address)
        if len(_nodes) < MAX_KNOWN:
            _nodes[address] = known
    return known


def may_hide(octets: bytes) -> bool:
    """Whether values in octets of 1.0 may have secrets: right when it says no.

    A secret under a key is in a map, and a map has one of two constructors.
    """
    return b"\xc1" in octets or b"\xd1" in octets or suspicious_octets(octets)


def secret_unit(unit: Unit) -> bool:
    """Whether a SASL frame is not what it should be, so that a credential may stand anywhere."""
    if unit.type != SASL_FRAME or unit.header is not None or isinstance(unit, OlderUnit):
        return False
    body = unit.body
    return body is None or len(unit.faults) > 0 or len(body) > len(body.row.fields)


def secret_message(step: Step) -> bool:
    """Whether the message on this transfer carries a token."""
    link = step.link
    if link is None:
        return False
    if token_node(link.address) or (link.pair is not None and token_node(link.pair.address)):
        return True
    start = first_octets(step)
    if PUT_TOKEN in start:
        return True
    # A message on a link to nowhere says itself where it goes; so does one whose attach is unknown.
    if not (link.nameless or (link.pair is not None and link.pair.nameless) or not link.node()):
        return False
    unknown = step.transfers > 1 and step.message is None and not step.earlier
    return unknown or names_cbs(start)


def first_octets(step: Step) -> bytes:
    """The start of a message, as far as this transfer: its operation and address stand there."""
    if step.message is not None:
        return step.message[:REQUEST]
    frame = step.frame
    own = frame.raw[frame.unit.payload :]
    made = b""
    for place, part in enumerate(step.earlier):
        if len(made) >= REQUEST or place + 1 >= step.transfers:
            break
        made += part
    return made[:REQUEST] + own[:REQUEST]


def earlier_octets(step: Step) -> bytes:
    """The octets of a message just before this transfer's, as far as they are kept."""
    if step.transfers < 2:
        return b""
    frame = step.frame
    if step.message is not None:
        end = len(step.message) - (len(frame.raw) - frame.unit.payload)
        return step.message[max(end - LOOK_BACK, 0) : end]
    made = b""
    for part in reversed(step.earlier[: step.transfers - 1]):
        if len(made) >= LOOK_BACK:
            break
        made = part + made
    return made[-LOOK_BACK:]
