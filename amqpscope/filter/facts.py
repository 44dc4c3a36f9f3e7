"""What a frame says of itself and of where it belongs: one function for each fact.

The rows that name them are in `own`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from amqpscope.filter.getters import OUTCOMES
from amqpscope.filter.view import View, bodies, one_or_all, part
from amqpscope.stream import CLIENT, SERVER
from dissectors.v1_0.values import Value

Read: TypeAlias = Callable[[View], Value]


def number(view: View) -> Value:
    """The frame's number."""
    return view.step.frame.number


def size(view: View) -> Value:
    """Octets of the frame, those that the capture lacks included."""
    return len(view.step.frame.raw) + view.step.frame.missing


def missing(view: View) -> Value:
    """Octets of the frame that the capture lacks."""
    return view.step.frame.missing or None


def lost_before(view: View) -> Value:
    """Frames of this peer may be missing before this one."""
    return view.step.frame.lost_before


def seconds(view: View) -> Value:
    """Time since the first frame."""
    return (view.step.frame.time - view.start) / 1e9


def performative(view: View) -> Value:
    """The performative's name."""
    return None if view.body is None else view.body.row.name


def protocol_header(view: View) -> Value:
    """A protocol header as text: `AMQP 1.0.0`."""
    return None if view.unit.header is None else str(view.unit.header)


def message(view: View) -> Value:
    """True on the frame that completes a message."""
    return None if view.step.message is None else True


def message_size(view: View) -> Value:
    """Octets of the message that the frame completes."""
    return None if view.step.message is None else len(view.step.message)


def faults(view: View) -> Value:
    """What is malformed, as text."""
    return one_or_all([str(found) for found in view.unit.faults])


def frame_type(view: View) -> Value:
    """The frame's type octet."""
    return view.unit.type if view.unit.doff else None


def channel(view: View) -> Value:
    """The channel, where the frame has one."""
    unit = view.unit
    if view.step.older is not None:
        return None if unit.header is not None else unit.channel
    return unit.channel if unit.doff and unit.type == 0 else None


def payload(view: View) -> Value:
    """Octets behind the performative of a transfer, or of a body frame."""
    older = view.step.older
    if older is not None:
        return older.unit.size if older.unit.label == "content-body" else None
    body = view.body
    if body is None or body.row.name != "transfer":
        return None
    return len(view.step.frame.raw) - view.unit.payload + view.step.frame.missing


def link_address(view: View) -> Value:
    """The node at the far end; in 0-x the queue or exchange."""
    older = view.step.older
    if older is not None:
        return older.address or None
    link = view.step.link
    return None if link is None else link.node() or None


def delivery_id(view: View) -> Value:
    """The transfer's delivery, or all deliveries of a disposition; in 0-x their tags."""
    older = view.step.older
    if older is not None:
        if older.delivery is not None:
            return older.delivery.tag
        return one_or_all([each.tag for each in older.covered])
    body = view.body
    if body is None or body.row.name != "disposition":
        delivery = view.step.delivery
        return None if delivery is None else delivery.delivery_id
    first, last = part(body, "first"), part(body, "last")
    if not isinstance(first, int):
        return None
    if not isinstance(last, int):
        return first
    if first <= last:
        return range(first, last + 1)
    if first < 1 << 32 and last >= 0:  # 2.8.10: ids are serial numbers, so they wrap
        return [range(first, 1 << 32), range(last + 1)]
    return [first, last]


def error(view: View) -> Value:
    """Errors anywhere in the frame."""
    found: list[Value] = []
    bodies(view.body, frozenset(("error",)), found)
    return one_or_all(found)


def outcome(view: View) -> Value:
    """The frame's delivery state when that is an outcome, also inside a transaction."""
    if view.body is None:
        return None
    found: list[Value] = []
    bodies(part(view.body, "state"), OUTCOMES, found)
    return one_or_all(found)


def finding_part(found: object, name: str) -> Value:
    """One attribute of a finding; a finding that is plain text is its rule's id."""
    if isinstance(found, str):
        return found if name == "rule" else None
    return getattr(found, name, None)


def finding(name: str) -> Read:
    """One attribute of all findings."""

    def read(view: View) -> Value:
        findings: Sequence[object] = view.step.findings
        if not findings:
            return None
        return one_or_all([finding_part(found, name) for found in findings])

    return read


def fault(name: str) -> Read:
    """One attribute of all that is malformed."""
    return lambda view: one_or_all([getattr(found, name) for found in view.unit.faults])


def header(name: str) -> Read:
    """One octet of a protocol header."""
    return lambda view: getattr(view.unit.header, name, None)


def link(name: str) -> Read:
    """One attribute of the link that the frame belongs to."""
    return lambda view: getattr(view.step.link, name, None)


def delivery(name: str) -> Read:
    """One attribute of the delivery that a transfer belongs to."""
    return lambda view: getattr(view.step.delivery, name, None)


def so_far(name: str) -> Read:
    """How far a delivery is with this transfer."""
    return lambda view: None if view.step.delivery is None else getattr(view.step, name)


def end_of(peer: int, index: int) -> Read:
    """Address or port of one peer."""

    def read(view: View) -> Value:
        connection = view.step.conversation.connection
        return (connection.client, connection.server)[peer][index]

    return read


def either_end(index: int) -> Read:
    """Address or port of both peers."""
    client, server = end_of(CLIENT, index), end_of(SERVER, index)
    return lambda view: [client(view), server(view)]
