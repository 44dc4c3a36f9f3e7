"""What the state of a connection may hold: the classes that `keeping` writes and reads."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from encodings.utf_8 import IncrementalDecoder
from enum import Enum
from typing import Any, Final

from wsproto import frame_protocol

from amqpscope.capture import decrypt, handshake, tls, websocket
from amqpscope.spark.blanks import BLANKS, blank
from amqpscope.spark.unpickling import Allowed, allowed
from dissectors import errors
from dissectors.v0_9 import values as older_values
from dissectors.v1_0 import bodies, values

PLAIN: Final = (tuple, list, int, float, str, bytes, Decimal, Enum)
"""Classes below these are values: to make one does nothing else."""
OTHERS: Final = (
    blank,
    bodies.restore,
    deque,
    decrypt.Decryptor,
    errors.Malformed,
    frame_protocol.Buffer,
    frame_protocol.FrameDecoder,
    frame_protocol.MessageDecoder,
    frame_protocol.Header,
    frame_protocol.Opcode,
    frame_protocol.RsvBits,
    handshake.Handshake,
    IncrementalDecoder,
    older_values.ScaledDecimal,
    tls.Records,
    tls.Tls,
    tls.TlsStream,
    values.Described,
    websocket.WebSocket,
    websocket._Deflate,
    websocket._Direction,
)


def state_classes() -> Allowed:
    """All that a state may name, but for what `keeping` itself puts into it."""
    rebuild: Any = array("q").__reduce_ex__(5)[0]
    found: dict[tuple[str, str], Any] = dict(allowed([*BLANKS, *OTHERS, *_values()]))
    found[rebuild.__module__, rebuild.__name__] = rebuild
    return found | {("array", "array"): array}


def _values() -> Iterator[type]:
    """The classes of values in the modules that have rows or values."""
    names = {kind.__module__ for kind in BLANKS}
    names.update(module.__name__ for module in (errors, older_values, values))
    for name in sorted(names):
        for found in vars(sys.modules[name]).values():
            if isinstance(found, type) and found.__module__ == name and issubclass(found, PLAIN):
                yield found
