"""What two captures do differently, as one JSON document.

Members may be added; those that are there keep their meaning:

    version      1
    equal        whether there is no difference
    a, b         path, frames
    copies       whether both are of one recording, so that nothing is a matter of time
    pairs        the connections that were compared with each other, as [of A, of B]
    differences  kind (changed, missing: only in A, extra: only in B, outcome, finding), path, and
                 a and b: connection, frame, packet, time, peer, name, text, value; or null
    latencies    address, a and b (median seconds until a delivery was settled), connections
    notes        lines about what is a matter of time

`frame` is null where a difference is about a whole connection.
"""

from __future__ import annotations

import json
from typing import Any

from amqpscope.insight.diff.differences import Diff, Difference, Side
from amqpscope.stream.types import PEERS
from dissectors.secrets import clean_name


def diff_json(diff: Diff) -> str:
    """The document."""
    return json.dumps(diff_object(diff), indent=1, ensure_ascii=True) + "\n"


def diff_object(diff: Diff) -> dict[str, Any]:
    """The document as an object."""
    return {
        "version": 1,
        "equal": diff.equal,
        "a": {"path": diff.a, "frames": diff.frames[0]},
        "b": {"path": diff.b, "frames": diff.frames[1]},
        "copies": diff.copies,
        "pairs": [list(pair) for pair in diff.pairs],
        "differences": [_difference(each) for each in diff.differences],
        "latencies": [
            {
                "address": clean_name(each.address),
                "a": each.a / 1e9,
                "b": each.b / 1e9,
                "connections": list(each.connections),
            }
            for each in diff.latencies
        ],
        "notes": diff.notes,
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {"kind": found.kind, "path": found.path, "a": _side(found.a), "b": _side(found.b)}


def _side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "connection": side.connection,
        "frame": side.frame or None,
        "packet": side.packet,
        "time": side.time / 1e9,
        "peer": PEERS[side.sender],
        "name": side.name,
        "text": side.text,
        "value": side.value,
    }
