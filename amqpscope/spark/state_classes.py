"""What the state of a connection may hold: the classes that `state_codec` writes and reads.

The model's classes do nothing but remember (they are the core, which is plain Python), and those of
wsproto's frames work on octets alone; so all of them may be there. Of other modules it is those
that are listed here.
"""

from __future__ import annotations

import pkgutil
import sys
from array import array
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from encodings.utf_8 import IncrementalDecoder
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from wsproto import frame_protocol

from amqpscope import model
from amqpscope.capture import decrypt, handshake, tls, websocket
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.spark.state_templates import BLANKS, blank
from amqpscope.spark.unpickling import Allowed, allowed_names
from dissectors import errors, values, wire

PLAIN: Final = (tuple, list, int, float, str, bytes, Decimal, Enum)
"""Classes below these are values: to make one does nothing else."""
OTHERS: Final = (
    blank,
    deque,
    decrypt.Decryptor,
    errors.Malformed,
    handshake.Handshake,
    IncrementalDecoder,
    tls.Records,
    tls.Tls,
    tls.TlsStream,
    values.Described,
    websocket.WebSocket,
    websocket._Deflate,
    websocket._Direction,
)


def state_classes() -> Allowed:
    """All that a state may name, but for what `state_codec` itself puts into it."""
    rebuild: Any = array("q").__reduce_ex__(5)[0]
    families = (thing for protocol in PROTOCOLS for thing in protocol.state_classes())
    things = [*BLANKS, *OTHERS, *families, *_values(), *_of_model(), *_classes_of(frame_protocol)]
    found: dict[tuple[str, str], Any] = dict(allowed_names(things))
    found[rebuild.__module__, rebuild.__name__] = rebuild
    return found | {("array", "array"): array}


def interpreted_classes() -> list[type]:
    """The classes of families that are plain Python and build on compiled ones."""
    things = [thing for protocol in PROTOCOLS for thing in protocol.state_classes()]
    return [
        thing
        for thing in things
        if isinstance(thing, type) and hasattr(thing, "__mypyc_attrs__") and thing not in BLANKS
    ]


def _values() -> Iterator[type]:
    """The classes of values in the modules that have rows or values."""
    names = {kind.__module__ for kind in BLANKS}
    names.update(module.__name__ for module in (errors, values, wire))
    for name in sorted(names):
        yield from (found for found in _classes_of(sys.modules[name]) if issubclass(found, PLAIN))


def _of_model() -> Iterator[type]:
    """All classes of the model."""
    for module in pkgutil.walk_packages(model.__path__, f"{model.__name__}."):
        yield from _classes_of(import_module(module.name))


def _classes_of(module: ModuleType) -> Iterator[type]:
    """The classes that a module defines."""
    for found in vars(module).values():
        if isinstance(found, type) and found.__module__ == module.__name__:
            yield found
