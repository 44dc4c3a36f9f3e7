"""What must not be shown unless it is asked for: SASL responses and the tokens put to `$cbs`."""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from dissectors.v1_0.framing import SASL_FRAME, Unit

SECRET_FIELDS: Final = {
    ("sasl-init", "initial-response"),
    ("sasl-response", "response"),
}
CBS_NODE: Final = "$cbs"
"""The node that takes tokens (claims-based security)."""
PUT_TOKEN: Final = b"put-token"
"""The operation that such a request names."""
MASK: Final = "********"


def secret_field(composite: str, field: str) -> bool:
    """Whether this field of a composite holds a credential."""
    return (composite, field) in SECRET_FIELDS


def secret_unit(unit: Unit) -> bool:
    """Whether a SASL frame is not what it should be, so that a credential may stand anywhere."""
    if unit.type != SASL_FRAME or unit.header is not None:
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
    return node == CBS_NODE or (not node and PUT_TOKEN in step.frame.raw)
