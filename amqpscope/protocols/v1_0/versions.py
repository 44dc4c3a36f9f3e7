"""The headers of 1.0, and of what is recognised by its header alone."""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.versions import NUMBERS
from dissectors.versions import AMQP_0_10, VERSION_OF
from dissectors.wire import Header

NAME: Final = "amqp-1.0"
HEADER_ONLY: Final = {AMQP_0_10.octets: AMQP_0_10.protocol}
"""What has frames that nobody here reads, by the four octets after "AMQP"."""


def is_foreign(header: Header) -> bool:
    """Whether a header asks for frames of another family."""
    version = bytes((header.id, header.major, header.minor, header.revision))
    return version in VERSION_OF and version[1:] != NUMBERS
