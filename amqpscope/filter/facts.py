"""What is known of a frame beside what the protocol says: one row each.

What depends on the protocol is asked of the family's voice, which may have rows of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from amqpscope.filter.view import View
from amqpscope.insight.message_states import KNOWN_AT_ONCE
from amqpscope.model.transactions import STEPS
from amqpscope.protocols import names
from amqpscope.protocols.names import Fact, Getter, Rests, one_or_all
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.protocols.shapes import BINARY, BOOLEAN, DURATION, NUMBER, TEXT, Shape, one_of
from amqpscope.stream.types import CLIENT, PEERS, SERVER
from dissectors.errors import Damage
from dissectors.values import Value
from dissectors.wire import PROTOCOL_IDS

if TYPE_CHECKING:
    from amqpscope.insight.messages import Message

Read: TypeAlias = Callable[[View], Value]

_KIND: Final = one_of(*dict.fromkeys(kind for each in PROTOCOLS for kind in each.voice.kinds))
_NAME: Final = one_of(
    *dict.fromkeys(name for each in PROTOCOLS for name in each.voice.frame_names())
)
_PEER: Final = one_of(*PEERS)
_ID: Final = Shape(NUMBER.holds, tuple((name, code) for code, name in PROTOCOL_IDS.items()))
_DAMAGE: Final = one_of(*(kind.value for kind in Damage))
_SEVERITY: Final = one_of("error", "warning", "info")
_STATE: Final = one_of(*KNOWN_AT_ONCE)
_TRANSACTION: Final = one_of(*STEPS)
_CERTAINTY: Final = one_of("sure", "suspect")


class Own(Getter):
    """A fact about the frame that is no field of the protocol."""

    def __init__(self, read: Read, rests_on: Rests) -> None:
        self.read = read
        self.rests_on = rests_on

    def get(self, view: names.FrameView) -> Value:
        """The value that the function finds in a frame."""
        return self.read(cast(View, view))


class OfMessages(Getter):
    """A fact about the messages that a frame carries or settles, which have to be followed."""

    def __init__(self, read: Callable[[Message], Value]) -> None:
        self.read = read

    def get(self, view: names.FrameView) -> Value:
        """Ask the function about each of them."""
        return one_or_all([self.read(message) for message in cast(View, view).messages])


def of_messages(name: str, summary: str, shape: Shape, read: Callable[[Message], Value]) -> Fact:
    """A row that reads from messages."""
    return Fact(name, summary, shape, OfMessages(read))


def id_of(message: Message) -> Value:
    """The message-id, if there is one."""
    return message.id or None


def state_of(message: Message) -> Value:
    """Where the message is by then."""
    return message.state


def deliveries_of(message: Message) -> Value:
    """Deliveries of the message so far."""
    return message.delivered


def latency_of(message: Message) -> Value:
    """Seconds from the publish to the newest delivery."""
    return None if message.latency is None else message.latency / 1e9


def settle_of(message: Message) -> Value:
    """Seconds from the newest delivery that is settled until it was."""
    return None if message.settle is None else message.settle / 1e9


def frames_of(message: Message) -> Value:
    """The frames of a message so far."""
    return [each.frame for each in message.passages] + [each.last for each in message.passages]


# fmt: off
RESTS_ON: Final = {
    Rests.PLACE: ("connection", "from", "name", "channel", "ip", "port", "client.ip", "client.port",
                  "server.ip", "server.port"),
    Rests.LINK:  ("link", "link.name", "link.address", "link.handle"),
    Rests.FRAME: ("frame.size", "frame.type", "frame.doff", "payload", "kind"),
}
# fmt: on
"""Facts of which it is known that they do not rest on the whole state."""


def fact(name: str, summary: str, shape: Shape, read: Read) -> Fact:
    """A row that reads from a Step."""
    rests_on = next((key for key, names in RESTS_ON.items() if name in names), Rests.STATE)
    return Fact(name, summary, shape, Own(read, rests_on))


def ask_family(name: str) -> Read:
    """What the frame's family says of it."""
    return lambda view: view.voice.fact(view.event, name)


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


def gap(view: View) -> Value:
    """Seconds since the frame before it on its connection."""
    return None if view.step.gap < 0 else view.step.gap / 1e9


def round_trip(view: View) -> Value:
    """Seconds since the partner's frame that it answers."""
    asked = view.event.answers
    return None if asked is None else (view.step.frame.time - asked.time) / 1e9


def settle_times(view: View) -> Value:
    """Seconds since the deliveries began that it settles."""
    time = view.step.frame.time
    return one_or_all([max(time - each.mark.time, 0) / 1e9 for each in view.event.settles])


def protocol_header(view: View) -> Value:
    """A protocol header as text: `AMQP 1.0.0`."""
    return None if view.unit.header is None else str(view.unit.header)


def message(view: View) -> Value:
    """True on the frame that completes a message."""
    return None if view.event.message is None else True


def message_size(view: View) -> Value:
    """Octets of the message that the frame completes."""
    message = view.event.message
    return None if message is None else len(message)


def faults(view: View) -> Value:
    """What is malformed, as text."""
    return one_or_all([str(found) for found in view.unit.faults])


def finding_part(found: object, name: str) -> Value:
    """One attribute of a finding; a finding that is plain text is its rule's id."""
    if isinstance(found, str):
        return found if name == "rule" else None
    return getattr(found, name, None)


def finding(name: str) -> Read:
    """One attribute of all findings."""

    def read(view: View) -> Value:
        findings: Sequence[object] = view.findings
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


FACTS: Final = (
    fact("frame", "number of the frame in the capture, from 1", NUMBER, number),
    fact("frame.number", "the same", NUMBER, number),
    fact("frame.size", "octets of the frame", NUMBER, size),
    fact("frame.missing", "octets that the capture lacks", NUMBER, missing),
    fact("frame.lost-before", "frames may be lost before it", BOOLEAN, lost_before),
    fact("frame.type", "its type octet", NUMBER, ask_family("frame.type")),
    fact("frame.doff", "its data offset", NUMBER, ask_family("frame.doff")),
    fact("packet", "number of the packet that completed it", NUMBER, lambda v: v.step.frame.packet),
    fact("time", "seconds since the first frame", NUMBER, seconds),
    fact("time.gap", "since the frame before it on its connection", DURATION, gap),
    fact("time.answer", "since the request that it answers", DURATION, round_trip),
    fact("time.settle", "since the deliveries began that it settles", DURATION, settle_times),
    fact("connection", "its number, from 1", NUMBER, lambda v: v.step.conversation.number),
    fact("from", "client or server", _PEER, lambda v: PEERS[v.step.frame.sender]),
    fact("ip", "address of either peer", TEXT, either_end(0)),
    fact("port", "TCP port of either peer", NUMBER, either_end(1)),
    fact("client.ip", "address of the client", TEXT, end_of(CLIENT, 0)),
    fact("client.port", "TCP port of the client", NUMBER, end_of(CLIENT, 1)),
    fact("server.ip", "address of the server", TEXT, end_of(SERVER, 0)),
    fact("server.port", "TCP port of the server", NUMBER, end_of(SERVER, 1)),
    fact("protocol", f"{PROTOCOLS[0].name}, ...", TEXT, lambda v: v.step.conversation.protocol),
    fact("kind", "header, amqp, sasl, empty, method, ...", _KIND, lambda v: v.unit.kind),
    fact("name", "performative or method, else kind", _NAME, lambda v: v.unit.name),
    fact("channel", "channel of an AMQP frame", NUMBER, ask_family("channel")),
    fact("payload", "octets of message in a transfer or body", NUMBER, ask_family("payload")),
    fact("protocol-header", "it as text: AMQP 1.0.0", TEXT, protocol_header),
    fact("protocol-header.id", "AMQP, TLS or SASL", _ID, header("id")),
    fact("protocol-header.major", "version", NUMBER, header("major")),
    fact("protocol-header.minor", "version", NUMBER, header("minor")),
    fact("protocol-header.revision", "version", NUMBER, header("revision")),
    fact("link", "name of the frame's link", TEXT, ask_family("link.name")),
    fact("link.name", "the same", TEXT, ask_family("link.name")),
    fact("link.address", "where it goes to or comes from", TEXT, ask_family("link.address")),
    fact("link.handle", "the sending peer's handle of it", NUMBER, ask_family("link.handle")),
    fact(
        "delivery",
        "id of a transfer's, or of all of a disposition",
        NUMBER,
        ask_family("delivery.id"),
    ),
    fact("delivery.id", "the same", NUMBER, ask_family("delivery.id")),
    fact("delivery.tag", "its tag, on every transfer of it", BINARY, ask_family("delivery.tag")),
    fact("delivery.size", "octets of message so far", NUMBER, ask_family("delivery.size")),
    fact("delivery.transfers", "transfers so far", NUMBER, ask_family("delivery.transfers")),
    fact("message", "the frame completes a message", BOOLEAN, message),
    fact("message.size", "octets of the message", NUMBER, message_size),
    of_messages("message.id", "id of what it carries or settles", TEXT, id_of),
    of_messages("message.frame", "frames of this message so far", NUMBER, frames_of),
    of_messages("message.state", "where it is by then", _STATE, state_of),
    of_messages("message.deliveries", "deliveries of it so far", NUMBER, deliveries_of),
    of_messages("message.latency", "from publish to delivery", DURATION, latency_of),
    of_messages("message.settle", "from delivery until settled", DURATION, settle_of),
    fact(
        "transaction",
        "declare, commit, rollback, committed, ...",
        _TRANSACTION,
        lambda v: v.event.transacts or None,
    ),
    fact("fault", "what is malformed", TEXT, faults),
    fact("fault.kind", "kind of damage", _DAMAGE, fault("kind")),
    fact("fault.path", "damaged field", TEXT, fault("path")),
    fact("finding", "ids of the rules that were broken", TEXT, finding("rule")),
    fact("finding.rule", "the same", TEXT, finding("rule")),
    fact("finding.name", "names of these rules", TEXT, finding("name")),
    fact("finding.severity", "error, warning or info", _SEVERITY, finding("severity")),
    fact("finding.certainty", "sure or suspect", _CERTAINTY, finding("certainty")),
    fact("finding.peer", "client or server, who is at fault", _PEER, finding("peer")),
    fact("finding.message", "what it says", TEXT, finding("message")),
    fact("finding.path", "field that it is about", TEXT, finding("path")),
    *(row for each in PROTOCOLS for row in each.voice.facts()),
)
