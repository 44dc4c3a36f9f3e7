"""What must not be shown unless it is asked for: SASL responses and the tokens put to `$cbs`.

Which fields and nodes these are is said in `dissectors.v1_0.names`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from dissectors.v0_9.framing import OlderUnit
from dissectors.v1_0.framing import SASL_FRAME, Unit
from dissectors.v1_0.names import PUT_TOKEN, is_secret_field, is_secret_node

MASK: Final = "********"
MAX_NODES: Final = 4096
_nodes: Final[dict[str, bool]] = {}
"""Whether nodes are secret, for it is asked with every message."""


def secret_field(composite: str, field: str) -> bool:
    """Whether this field of a composite holds a credential."""
    return is_secret_field(composite, field)


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
    node = link.node()
    # Of a link whose attach was not seen the address is not known, but the request tells.
    if not node:
        return PUT_TOKEN in step.frame.raw
    known = _nodes.get(node)
    if known is None:
        known = is_secret_node(node)
        if len(_nodes) < MAX_NODES:
            _nodes[node] = known
    return known
