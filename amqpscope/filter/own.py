"""The names that are ours and not the protocol's: one row each."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.filter import facts, older
from amqpscope.filter.getters import OUTCOMES
from amqpscope.filter.shapes import BINARY, BOOLEAN, NUMBER, TEXT, Shape, composite, one_of
from amqpscope.stream import CLIENT, PEERS, SERVER
from dissectors.errors import Damage
from dissectors.v1_0.framing import PROTOCOL_IDS
from dissectors.v1_0.types import COMPOSITES, RESTRICTED_TYPE

KINDS: Final = ("header", "amqp", "sasl", "empty", "unknown", "malformed", *older.KINDS)
PERFORMATIVES: Final = tuple(
    row for row in COMPOSITES if "frame" in row.provides or "sasl-frame" in row.provides
)
_KIND: Final = one_of(*KINDS)
_PERFORMATIVE: Final = one_of(*(row.name for row in PERFORMATIVES))
_NAME: Final = one_of(*(row.name for row in PERFORMATIVES), *KINDS, *older.methods())
_PEER: Final = one_of(*PEERS)
_ROLE: Final = Shape(BOOLEAN.holds, RESTRICTED_TYPE["role"].choices)
_ID: Final = Shape(NUMBER.holds, tuple((name, code) for code, name in PROTOCOL_IDS.items()))
_OUTCOME: Final = composite(*sorted(OUTCOMES))
_ERROR: Final = composite("error")
_DAMAGE: Final = one_of(*(kind.value for kind in Damage))
_SEVERITY: Final = one_of("error", "warning", "info")
_CERTAINTY: Final = one_of("sure", "suspect")


class Fact(NamedTuple):
    """One field of our own."""

    name: str
    summary: str
    shape: Shape
    read: facts.Read


FACTS: Final = (
    Fact("frame", "number of the frame in the capture, from 1", NUMBER, facts.number),
    Fact("frame.number", "the same", NUMBER, facts.number),
    Fact("frame.size", "octets of the frame", NUMBER, facts.size),
    Fact("frame.missing", "octets that the capture lacks", NUMBER, facts.missing),
    Fact("frame.lost-before", "frames may be lost before it", BOOLEAN, facts.lost_before),
    Fact("frame.type", "its type octet", NUMBER, facts.frame_type),
    Fact("frame.doff", "its data offset", NUMBER, lambda v: v.unit.doff or None),
    Fact("packet", "number of the packet that completed it", NUMBER, lambda v: v.step.frame.packet),
    Fact("time", "seconds since the first frame", NUMBER, facts.seconds),
    Fact("connection", "its number, from 1", NUMBER, lambda v: v.step.conversation.number),
    Fact("from", "client or server", _PEER, lambda v: PEERS[v.step.frame.sender]),
    Fact("ip", "address of either peer", TEXT, facts.either_end(0)),
    Fact("port", "TCP port of either peer", NUMBER, facts.either_end(1)),
    Fact("client.ip", "address of the client", TEXT, facts.end_of(CLIENT, 0)),
    Fact("client.port", "TCP port of the client", NUMBER, facts.end_of(CLIENT, 1)),
    Fact("server.ip", "address of the server", TEXT, facts.end_of(SERVER, 0)),
    Fact("server.port", "TCP port of the server", NUMBER, facts.end_of(SERVER, 1)),
    Fact("protocol", "amqp-1.0, amqp-0-9-1, ...", TEXT, lambda v: v.step.conversation.protocol),
    Fact("kind", "header, amqp, sasl, empty, method, ...", _KIND, lambda v: v.unit.kind),
    Fact("name", "performative or method, else kind", _NAME, lambda v: v.unit.name),
    Fact("performative", "its name", _PERFORMATIVE, facts.performative),
    Fact("channel", "channel of an AMQP frame", NUMBER, facts.channel),
    Fact("payload", "octets of message in a transfer or body", NUMBER, facts.payload),
    Fact("protocol-header", "it as text: AMQP 1.0.0", TEXT, facts.protocol_header),
    Fact("protocol-header.id", "AMQP, TLS or SASL", _ID, facts.header("id")),
    Fact("protocol-header.major", "version", NUMBER, facts.header("major")),
    Fact("protocol-header.minor", "version", NUMBER, facts.header("minor")),
    Fact("protocol-header.revision", "version", NUMBER, facts.header("revision")),
    Fact("link", "name of the frame's link", TEXT, facts.link("name")),
    Fact("link.name", "the same", TEXT, facts.link("name")),
    Fact("link.address", "where it goes to or comes from", TEXT, facts.link_address),
    Fact("link.handle", "the sending peer's handle of it", NUMBER, facts.link("handle")),
    Fact("link.role", "the sending peer's role on it", _ROLE, facts.link("role")),
    Fact("delivery", "id of a transfer's, or of all of a disposition", NUMBER, facts.delivery_id),
    Fact("delivery.id", "the same", NUMBER, facts.delivery_id),
    Fact("delivery.tag", "its tag, on every transfer of it", BINARY, facts.delivery("tag")),
    Fact("delivery.size", "octets of message so far", NUMBER, facts.so_far("octets")),
    Fact("delivery.transfers", "transfers so far", NUMBER, facts.so_far("transfers")),
    Fact("outcome", "the state if it is one, also in a transaction", _OUTCOME, facts.outcome),
    Fact("error", "errors anywhere in the frame", _ERROR, facts.error),
    Fact("message", "the frame completes a message", BOOLEAN, facts.message),
    Fact("message.size", "octets of the message", NUMBER, facts.message_size),
    Fact("fault", "what is malformed", TEXT, facts.faults),
    Fact("fault.kind", "kind of damage", _DAMAGE, facts.fault("kind")),
    Fact("fault.path", "damaged field", TEXT, facts.fault("path")),
    Fact("finding", "ids of the rules that were broken", TEXT, facts.finding("rule")),
    Fact("finding.rule", "the same", TEXT, facts.finding("rule")),
    Fact("finding.name", "names of these rules", TEXT, facts.finding("name")),
    Fact("finding.severity", "error, warning or info", _SEVERITY, facts.finding("severity")),
    Fact("finding.certainty", "sure or suspect", _CERTAINTY, facts.finding("certainty")),
    Fact("finding.peer", "client or server, who is at fault", _PEER, facts.finding("peer")),
    Fact("finding.message", "what it says", TEXT, facts.finding("message")),
    Fact("finding.path", "field that it is about", TEXT, facts.finding("path")),
)
