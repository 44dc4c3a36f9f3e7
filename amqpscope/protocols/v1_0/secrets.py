"""Which units of a conversation hold a secret that is not in a field of its own.

What a secret is, `dissectors.secrets` says; here it is asked of an event, which knows its link.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from dissectors.masking import LOOK_BACK
from dissectors.secret_signs import suspicious_octets
from dissectors.secrets import MAX_KNOWN, PUT_TOKEN, names_cbs, secret_node
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
    if unit.type != SASL_FRAME or unit.header is not None:
        return False
    body = unit.body
    return body is None or len(unit.faults) > 0 or len(body) > len(body.row.fields)


def secret_message(event: Event) -> bool:
    """Whether the message on this transfer carries a token."""
    link = event.link
    if link is None:
        return False
    terms = [end.terms for end in (link, link.pair) if end is not None]
    if any(token_node(each.address) for each in terms):
        return True
    start = first_octets(event)
    if PUT_TOKEN in start:
        return True
    # A message on a link to nowhere says itself where it goes; so does one whose attach is unknown.
    if link.node() and not any(each.anonymous for each in terms):
        return False
    unknown = event.transfers > 1 and event.message is None and not event.earlier
    return unknown or names_cbs(start)


def first_octets(event: Event) -> bytes:
    """The start of a message, as far as this transfer: its operation and address stand there."""
    if event.message is not None:
        return event.message[:REQUEST]
    frame = event.frame
    own = frame.raw[frame.unit.payload :]
    made = b""
    for place, part in enumerate(event.earlier):
        if len(made) >= REQUEST or place + 1 >= event.transfers:
            break
        made += part
    return made[:REQUEST] + own[:REQUEST]


def earlier_octets(event: Event) -> bytes:
    """The octets of a message just before this transfer's, as far as they are kept."""
    if event.transfers < 2:
        return b""
    frame = event.frame
    if event.message is not None:
        end = len(event.message) - (len(frame.raw) - frame.unit.payload)
        return event.message[max(end - LOOK_BACK, 0) : end]
    made = b""
    for part in reversed(event.earlier[: event.transfers - 1]):
        if len(made) >= LOOK_BACK:
            break
        made = part + made
    return made[-LOOK_BACK:]
