"""How a finding says that it may follow from an earlier violation of the partner's."""

from __future__ import annotations

from typing import Final

from amqpscope.model.fault import Fault
from amqpscope.stream.types import PEERS

EARLIER: Final = "the violation that it may follow from"


def consequence(cause: Fault) -> str:
    """What is added to the message of a finding that may follow from a violation."""
    guilty = PEERS[cause.peer]
    return f"; may follow from the {guilty}'s {cause.rule} in frame {cause.mark.frame}"
