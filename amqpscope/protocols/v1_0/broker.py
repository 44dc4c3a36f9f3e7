"""What a broker does with messages of 1.0, in the words of `model.broker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.broker import envelope as words
from amqpscope.model.broker.declaration import GONE, MADE, UNBOUND, USED, Declaration
from amqpscope.model.broker.envelope import (
    DEFAULT_PRIORITY,
    MAX_OCTETS,
    NO_COMMITMENT,
    NO_VERDICT,
    Commitment,
    Content,
    Envelope,
    Route,
    Verdict,
    key_of,
)
from amqpscope.model.delivery import Delivery as AnyDelivery
from amqpscope.model.mark import Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Place
from amqpscope.model.v1_0 import transaction as states
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import ABORTED, FIRST, MALFORMED, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import (
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
)
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.protocols.broker import BrokerView
from amqpscope.protocols.v1_0.broker_modes import modes
from amqpscope.stream.types import CLIENT
from dissectors.errors import Malformed
from dissectors.native import mypyc_attr
from dissectors.v1_0.bodies import (
    Attach,
    Close,
    Detach,
    End,
    Error,
    Flow,
    Header,
    Modified,
    Open,
    Properties,
    Rejected,
    Source,
    Target,
    TransactionalState,
)
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.message import Section, read_section, skip, walk
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Uuid, Value, same

if TYPE_CHECKING:
    from mypy_extensions import i64

FAMILY: Final = "amqp-1.0"
NO_LOCAL: Final = ("apache.org:no-local-filter:list", 0x0000468C00000003)
"""The filter against the messages of the same connection, by name and by code."""
MAX_SHOWN: Final = 40
"""Characters of a field that a finding shows."""
MIN_SCRAP: Final = 16
"""Octets of a message that was not completed which others do not begin with by accident."""
NOT_FOUND: Final = "amqp:not-found"
NULL: Final = 0x40
TO: Final = 2
REPLY_TO: Final = 4
EXPIRY: Final = 8
"""The places of `to`, `reply-to` and absolute-expiry-time among the properties."""
ALL_PROPERTIES: Final = 13
MAX_WHOLE: Final = 512
"""Octets of an immutable part that has one key; that of a longer one is made of two."""
STATE_OF: Final = {
    states.LIVE: words.PENDING,
    states.DISCHARGING: words.DISCHARGED,
    states.COMMITTED: words.COMMITTED,
    states.ROLLED_BACK: words.ROLLED_BACK,
}


@mypyc_attr(free_list_len=1, acyclic=True)
class MessageEnvelope(Envelope):
    """A message of 1.0; what is behind its first octets is not read again."""

    __slots__ = ()

    @property
    def body_key(self) -> bytes:
        """The same for messages with the same application data, in whatever sections."""
        if not self.known_body:
            self.known_body = body_key(self.octets, walk(self.octets)[0])
        return self.known_body

    @property
    def sections(self) -> bytes:
        """The descriptors of its sections, in order."""
        return self.known_sections or codes_of(walk(self.octets)[0])

    def rank(self) -> int:
        """Its priority, or that of messages that state none."""
        return about(self.head).priority if self.head else DEFAULT_PRIORITY

    def attempts(self) -> int:
        """How many deliveries of it have failed before, by its header."""
        return about(self.head).attempts if self.head else 0

    def fold(self) -> None:
        """Its message is over: drop the application data, but not what it is known by."""
        octets = self.octets
        sections = walk(octets)[0]
        if len(octets) == self.size:
            self.known_sections, self.known_body = codes_of(sections), body_key(octets, sections)
        for section in sections:
            if section.code >= DATA:
                self.octets = octets[: section.start]
                return

    def read(self) -> Content:
        """Decode header, annotations and properties."""
        content = Content()
        content.delivery_count = 0
        for section in walk(self.octets)[0]:
            code = section.code
            if code > PROPERTIES:
                break
            value, faults = read_section(self.octets, section)
            if faults:
                continue
            if isinstance(value, Header):
                read_header(content, value)
            elif isinstance(value, Properties):
                read_properties(content, value)
            elif code == MESSAGE_ANNOTATIONS:
                content.annotations = by_key(value)
            elif code == DELIVERY_ANNOTATIONS:
                content.delivery_annotations = by_key(value)
        return content

    def fields(self) -> dict[str, str]:
        """The fields of properties and application-properties, and the body."""
        if self.size > len(self.octets):
            return {}
        found: dict[str, str] = {}
        for section in walk(self.octets)[0]:
            if PROPERTIES <= section.code < FOOTER:
                value, faults = read_section(self.octets, section)
                if faults:
                    return {}
                add_fields(found, section.code, value)
        return found

    def says_the_same(self, other: Envelope) -> bool:
        """Whether another message has the same values in its immutable part, in other octets."""
        ours, theirs = bare_values(self), bare_values(other)
        return ours is not None and theirs is not None and same(ours, theirs)

    def data(self) -> tuple[bytes, int]:
        """What follows the beginning of its one body section, as far as it is kept."""
        octets, sections = self.octets, self.sections
        if sum(DATA <= code < FOOTER for code in sections) != 1 or FOOTER in sections:
            return b"", 0
        at = 0
        for section in walk(octets)[0]:
            if section.code < DATA:
                at = section.stop
        # The descriptor of a section is a small number, where its sender wrote it as all do.
        if octets[at : at + 2] != b"\x00\x53" or len(octets) < at + 8:
            return b"", 0
        at += 3
        if 0xA0 <= octets[at] < 0xC0:
            at += 2 if octets[at] < 0xB0 else 5
        return octets[at:], self.size - at

    def plain_body(self) -> bytes | None:
        """The octets of its data sections, where it has no other body."""
        if self.size > len(self.octets):
            return None
        parts: list[bytes] = []
        for section in walk(self.octets)[0]:
            if DATA < section.code < FOOTER:
                return None
            if section.code == DATA:
                parts.append(self.octets[content_of(self.octets, section) : section.stop])
        return b"".join(parts) if parts else None


def add_fields(found: dict[str, str], code: int, value: Value) -> None:
    """The fields of one section."""
    if isinstance(value, Properties):
        for field, each in zip(value.row.fields, value.values, strict=False):
            if each is not None:
                found[f"properties.{field.name}"] = text_value(each, limit=MAX_SHOWN)
    elif code == APPLICATION_PROPERTIES and isinstance(value, Map):
        for key, each in value:
            name = f"application-properties.{str(key)[:MAX_SHOWN]}"
            found[name] = text_value(each, limit=MAX_SHOWN)
    else:
        before = found.get("body", "")
        found["body"] = f"{before} {text_value(value, limit=MAX_SHOWN)}".strip()


class Head:
    """What nearly all messages of a publisher have alike: header and annotations."""

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.priority = DEFAULT_PRIORITY
        self.perishable = False
        self.hinted = False
        self.attempts = 0
        for section in walk(octets)[0]:
            if section.code == DELIVERY_ANNOTATIONS:
                self.hinted = True
            elif section.code == HEADER:
                value = read_section(octets, section)[0]
                if isinstance(value, Header):
                    self.perishable = value.ttl is not None
                    self.attempts = value.delivery_count or 0
                    if value.priority is not None:
                        self.priority = value.priority


MAX_HEADS: Final = 256
"""Heads that are kept for those that have the same."""
HEADS: Final[dict[bytes, Head]] = {}


def about(octets: bytes) -> Head:
    """What the octets before the immutable ones say; read once for many messages."""
    found = HEADS.get(octets)
    if found is None:
        if len(HEADS) >= MAX_HEADS:
            HEADS.clear()
        found = HEADS[octets] = Head(octets)
    return found


def read_header(content: Content, header: Header) -> None:
    """Take over what the header says."""
    content.durable, content.priority, content.ttl = header.durable, header.priority, header.ttl
    content.first_acquirer = header.first_acquirer
    content.delivery_count = header.delivery_count or 0


def read_properties(content: Content, properties: Properties) -> None:
    """Take over what the properties say of the message's way."""
    content.to = address_text(properties.to)
    expiry = properties.absolute_expiry_time
    content.expiry = int(expiry) if isinstance(expiry, int) and expiry > 0 else None
    content.group = properties.group_id or ""
    content.reply_to = address_text(properties.reply_to)
    content.correlation = typed_id(plain_id(properties.correlation_id))


def bare_values(envelope: Envelope) -> list[Value] | None:
    """The values of the immutable sections; None where not all of them are kept, or readable."""
    if envelope.size > len(envelope.octets):
        return None
    found: list[Value] = []
    for section in walk(envelope.octets)[0]:
        if PROPERTIES <= section.code < FOOTER:
            value, faults = read_section(envelope.octets, section)
            if faults:
                return None
            if isinstance(value, Properties):
                value = [*value.values, *[None] * (13 - len(value.values))]
            found.append([section.code, value])
    return found


def address_text(address: Value) -> str:
    """An address, where it is text."""
    return address if isinstance(address, str) else ""


def typed_id(value: Value) -> bytes:
    """An id with its type before it; empty for null."""
    if value is None:
        return b""
    if isinstance(value, Uuid):
        return b"uuid " + bytes(value)
    if isinstance(value, bytes):
        return b"binary " + value
    if isinstance(value, str):
        return b"string " + value.encode("utf-8", "surrogatepass")
    return b"ulong " + int(value).to_bytes(8, "big") if isinstance(value, int) else b""


def envelope(event: Event) -> Envelope | None:
    """The message that a transfer completes; None where its octets are in doubt."""
    octets, delivery, link = event.message, event.delivery, event.link
    if not octets or delivery is None or link is None or event.kinds & MALFORMED:
        return None
    sending = link.sending
    unsure = link.attach is None and sending.delivery_total < 2
    if unsure or delivery.resumed or link.terms.coordinator:
        return None
    if sending.lost and event.kinds & FIRST:
        return None
    if delivery.message_format is not None and delivery.message_format > 0xFF:
        return None
    parts = event.parts
    sections = walk(octets)[0] if parts is None else parts.sections
    found = envelope_of(octets, sections)
    if found is not None:
        found.torn = sections[-1].stop < len(octets)
        if delivery.message_format:
            found.format = delivery.message_format
    return found


def scrap_of(octets: bytes) -> Envelope | None:
    """What was sent of a message that was never completed; None where nothing tells it apart."""
    sections, fault = walk(octets)
    if fault is None:
        return envelope_of(octets, sections)
    start: i64 = 0
    for section in sections:
        if section.code >= PROPERTIES:
            break
        start = section.stop
    if len(octets) - start < MIN_SCRAP:
        return None
    found = MessageEnvelope(FAMILY, key_of(octets[start:]), b"", octets)
    found.has_header = True
    found.head = octets[:start]
    return found


def envelope_of(octets: bytes, sections: list[Section]) -> Envelope | None:
    """A message by its sections; None where it is none."""
    start: i64 = -1
    stop: i64 = 0
    bodies: i64 = 0
    properties: Section | None = None
    body: Section | None = None
    for section in sections:
        code: i64 = section.code
        if code < HEADER:
            return None
        if PROPERTIES <= code < FOOTER:
            if start < 0:
                start = section.start
            stop = section.stop
            if code == PROPERTIES:
                properties = section
            elif code >= DATA:
                body = section
                bodies += 1
    if start < 0:
        return None
    known_body = b""
    if bodies == 1 and body is not None and stop - start > MAX_WHOLE:
        # One look at the body is enough for both keys.
        begin = content_of(octets, body)
        known_body = key_of(octets[begin:stop])
        key = key_of(octets[start:begin]) + known_body
    else:
        key = key_of(octets[start:stop])
    id = b"" if properties is None else message_id(octets, properties)
    found = MessageEnvelope(FAMILY, key, id, octets)
    found.has_header = True
    if found.size > MAX_OCTETS:
        found.known_sections = codes_of(sections)
        found.known_body = known_body or body_key(octets, sections)
    if 0 < start <= MAX_OCTETS:
        head = about(octets[:start])
        found.head = head.octets
        found.hinted, found.perishable = head.hinted, head.perishable
    if properties is not None:
        at = properties.content
        found.properties = octets[at + 2] if octets[at] == 0xC0 else ALL_PROPERTIES
        if field_at(octets, properties, EXPIRY) >= 0:
            found.perishable = True
    return found


def codes_of(sections: list[Section]) -> bytes:
    """The descriptors of sections, in order."""
    return bytes([section.code for section in sections if section.code >= HEADER])


def field_at(octets: bytes, section: Section, place: i64) -> i64:
    """Where a field of a section that is a list begins; -1: it is null, or not to be found."""
    at: i64 = section.content
    code: i64 = octets[at]
    if code == 0xC0:
        if octets[at + 2] <= place:
            return -1
        at += 3
    elif code == 0xD0:
        at += 9
    else:
        return -1
    try:
        while place > 0:
            at = skip(octets, at, section.stop)
            place -= 1
    except Malformed:
        return -1
    return -1 if at >= section.stop or octets[at] == NULL else at


def address_of(envelope: Envelope) -> str:
    """Where a message says that it goes; empty where it does not."""
    octets = envelope.octets
    for section in walk(octets)[0]:
        if section.code == PROPERTIES:
            at = field_at(octets, section, TO)
            if at < 0 or octets[at] != 0xA1:
                break
            size: i64 = octets[at + 1]
            return octets[at + 2 : at + 2 + size].decode("utf-8", "replace")
    return envelope.open().to


def message_id(octets: bytes, section: Section) -> bytes:
    """The first of the properties, with its type before it."""
    at = field_at(octets, section, 0)
    if at < 0:
        return b""
    code: i64 = octets[at]
    if code == 0xA1:
        size: i64 = octets[at + 1]
        return b"string " + octets[at + 2 : at + 2 + size]
    if code == 0x80:
        return b"ulong " + octets[at + 1 : at + 9]
    if code == 0x98:
        return b"uuid " + octets[at + 1 : at + 17]
    try:
        return typed_id(plain_id(Reader(octets, at).value(skip(octets, at, section.stop))))
    except Malformed:
        return b""


def plain_id(value: Value) -> Value:
    """An id that has one of the types of ids; else null."""
    return value if isinstance(value, (Ulong, Uuid, bytes, str)) else None


def body_key(octets: bytes, sections: list[Section]) -> bytes:
    """What application data is known by, whether it is in data sections or a value."""
    parts: list[bytes] = []
    for section in sections:
        if DATA <= section.code < FOOTER:
            parts.append(octets[content_of(octets, section) : section.stop])
    return key_of(parts[0] if len(parts) == 1 else b"".join(parts))


def content_of(octets: bytes, section: Section) -> i64:
    """Where the octets of a body section begin, behind the size of binary or text."""
    at: i64 = section.content
    code: i64 = octets[at]
    if 0xA0 <= code < 0xC0:
        at += 2 if code < 0xB0 else 5
    return at


def route(link: LinkEnd) -> Route:
    """Where what a link's sender sends goes at the broker, or comes from."""
    if link.session.owner.peer == CLIENT:
        found = Route(link.node())
        found.unseen = link.attach is None
        found.varies = link.terms.anonymous
        targets = [end.attach.target for end in (link, link.pair) if end and end.attach is not None]
        kinds = [target.capabilities for target in targets if isinstance(target, Target)]
        found.is_queue = any(is_named(each, "queue") for each in kinds)
        found.is_topic = any(is_named(each, "topic") for each in kinds)
        return found
    sources = [end.attach.source for end in (link, link.pair) if end and end.attach is not None]
    sources = [source for source in sources if isinstance(source, Source)]
    addresses = [source.address for source in sources if isinstance(source.address, str)]
    found = Route(addresses[0] if addresses else "")
    found.copy = any(source.distribution_mode == "copy" for source in sources)
    found.filtered = any(bool(source.filter) for source in sources)
    found.is_queue = any(is_named(source.capabilities, "queue") for source in sources)
    found.is_topic = any(is_named(source.capabilities, "topic") for source in sources)
    found.durable = PARTITION in found.address or any(outlives(source) for source in sources)
    stated = None if link.attach is None else link.attach.source
    if isinstance(stated, Source):
        if stated.distribution_mode == "move" and not found.is_topic:
            found.is_queue = True  # what it sends, no other link of the node gets (3.5.2)
        found.no_local = is_no_local(stated.filter)
        if stated.default_outcome is not None:
            found.default_outcome = outcome(stated.default_outcome)
    found.unseen = link.attach is None or link.pair is None or link.pair.attach is None
    found.since = None if link.pair is None or link.pair.attach is None else link.pair.mark
    return found


PARTITION: Final = "/Partitions/"
"""In the address of a part of an event hub, from which who comes again reads again."""


def outlives(source: Source) -> bool:
    """Whether a subscription may stay where its link is gone."""
    return bool(source.durable) or source.expiry_policy == "never" or bool(source.timeout)


def is_no_local(filters: Value) -> bool:
    """Whether a filter set has one against the messages of the same connection."""
    if not isinstance(filters, Map):
        return False
    return any(isinstance(each, Described) and each.descriptor in NO_LOCAL for _, each in filters)


def is_named(names: Value, name: str) -> bool:
    """Whether a capability is stated, alone or among others."""
    return name == names or (isinstance(names, Array) and name in [str(each) for each in names])


def own_terminus(link: LinkEnd, attach: Attach | None) -> Source | Target | None:
    """The terminus at the broker's end of its link, as an attach of either peer says."""
    terminus = None if attach is None else attach.target if link.role else attach.source
    return terminus if isinstance(terminus, (Source, Target)) else None


def declaration_of_attach(link: LinkEnd, mark: Mark) -> Declaration | None:
    """The node that a broker's attach makes or uses."""
    terminus = own_terminus(link, link.attach)
    if terminus is None or not isinstance(terminus.address, str):
        return None
    found = Declaration(MADE if terminus.dynamic else USED, "node", terminus.address, mark)
    found.generated = found.exclusive = bool(terminus.dynamic)
    found.asked = None if link.pair is None else link.pair.mark
    return found


def declaration_of_detach(link: LinkEnd, body: Detach, mark: Mark) -> Declaration | None:
    """The node that goes with a link, or that a broker did not find."""
    terminus = own_terminus(link, link.attach)
    if terminus is not None and terminus.dynamic and isinstance(terminus.address, str):
        return Declaration(GONE, "node", terminus.address, mark)
    wanted = None if link.pair is None else own_terminus(link, link.pair.attach)
    missing = isinstance(body.error, Error) and body.error.condition == NOT_FOUND
    if wanted is None or not missing or not isinstance(wanted.address, str):
        return None
    return Declaration(UNBOUND, "node", wanted.address, mark)


def verdict(delivery: Delivery) -> Verdict:
    """What became of a delivery; the sender's own word counts most."""
    if delivery.sent_settled and delivery.complete:
        return Verdict(words.PRESETTLED, delivery.mark)
    if isinstance(delivery.rcv_state, TransactionalState):
        return provisional_verdict(delivery)
    if delivery.snd_terminal is not None:
        return terminal_verdict(delivery.snd_terminal, delivery.snd_terminal_mark)
    if delivery.rcv_terminal is not None:
        return terminal_verdict(delivery.rcv_terminal, delivery.rcv_terminal_mark)
    if delivery.settled is not None:
        return Verdict(words.SETTLED, delivery.settled)
    return NO_VERDICT


def provisional_verdict(delivery: Delivery) -> Verdict:
    """What became of a delivery whose outcome was given in a transaction: once the resource has
    accepted the discharge that commits it, that outcome."""
    work = delivery.work
    transaction = None if work is None else work.outcome_transaction
    found = Verdict(words.PROVISIONAL, delivery.rcv_state_mark)
    if work is None or transaction is None or transaction.state < states.COMMITTED:
        return found
    found.undone = transaction.state != states.COMMITTED or work.outcome is None
    if not found.undone:
        found = terminal_verdict(work.outcome, transaction.answer)
        found.read = transaction.answer
    return found


def terminal_verdict(state: Value, mark: Mark | None) -> Verdict:
    """What a terminal state says of a delivery."""
    found = Verdict(outcome(state), mark)
    if isinstance(state, Rejected):
        error = state.error
        found.missing = isinstance(error, Error) and error.condition == NOT_FOUND
    elif isinstance(state, Modified):
        found.failed = bool(state.delivery_failed)
        found.here = bool(state.undeliverable_here)
        found.annotations = by_key(state.message_annotations)
    return found


def by_key(annotations: Value) -> dict[str, Value]:
    """Annotations by their keys."""
    if not isinstance(annotations, Map):
        return {}
    return {str(key): value for key, value in annotations if isinstance(key, Symbol)}


def commitment(delivery: Delivery) -> Commitment:
    """The transaction under which a delivery was posted."""
    work = delivery.work
    if work is None or work.id is None:
        return NO_COMMITMENT
    transaction = work.transaction
    if transaction is None:
        return Commitment(words.IN_DOUBT, None)
    if transaction.state == states.GONE and transaction.closed and transaction.discharge is None:
        return Commitment(words.ROLLED_BACK, transaction.answer)  # by the end of its control link
    return Commitment(STATE_OF.get(transaction.state, words.IN_DOUBT), transaction.discharge)


class View(BrokerView):
    """What a broker does with messages of 1.0."""

    def virtual_host(self, event: shared.Event) -> str | None:
        """What RabbitMQ takes a hostname for that begins with `vhost:`."""
        body = cast(Event, event).unit.body
        name = body.hostname if isinstance(body, Open) else None
        return name.removeprefix("vhost:") if name and name.startswith("vhost:") else None

    def envelope(self, event: shared.Event) -> Envelope | None:
        """The message that a transfer completes; None where its octets are in doubt."""
        return envelope(cast(Event, event))

    def may_ask(self, event: shared.Event) -> bool:
        """Whether the properties have a reply-to."""
        octets, parts = event.message, cast(Event, event).parts
        if not octets or event.kinds & MALFORMED:
            return False
        if parts is None:
            return True  # nobody has looked into it
        for section in parts.sections:
            if section.code == PROPERTIES:
                return field_at(octets, section, REPLY_TO) >= 0
        return False

    def scrap(self, event: shared.Event) -> Envelope | None:
        """What was sent of a delivery that is aborted; or a message that is malformed."""
        found = cast(Event, event)
        message = found.message
        if found.kinds & ABORTED and found.peer == CLIENT:
            message = b"".join(found.earlier)
        return scrap_of(message) if message else None

    def unfinished_messages(self, end: PeerEnd) -> list[tuple[AnyDelivery, Envelope]]:
        """Deliveries of which not all transfers came, with what came of them."""
        found: list[tuple[AnyDelivery, Envelope]] = []
        for session in cast(ConnectionEnd, end).channels.values():
            for link in session.handles.values():
                delivery = link.sending.open_delivery
                if delivery is not None and delivery.whole and not delivery.resumed:
                    scrap = scrap_of(b"".join(delivery.parts))
                    if scrap is not None:
                        found.append((delivery, scrap))
        return found

    def route(self, delivery: AnyDelivery) -> Route:
        """The address and the terms of the link."""
        return route(cast(Delivery, delivery).link)

    def subscribes(self, event: shared.Event) -> tuple[Place, Route] | None:
        """The broker's sending link that an attach completes."""
        link = cast(Event, event).link
        if link is None or link.pair is None:
            return None
        sender = link.pair if link.role else link
        attach = sender.attach
        if sender.session.owner.peer == CLIENT or attach is None or attach.source is None:
            return None
        return None if link.pair.attach is None else (sender.place, route(sender))

    def target_key(self, delivery: AnyDelivery, envelope: Envelope) -> str:
        """Where the message says that it goes."""
        return address_of(envelope)

    def verdict(self, delivery: AnyDelivery) -> Verdict:
        """The outcome, as far as the wire shows."""
        return verdict(cast(Delivery, delivery))

    def commitment(self, delivery: AnyDelivery) -> Commitment:
        """The transaction under which a message was posted."""
        return commitment(cast(Delivery, delivery))

    def transaction(self, delivery: AnyDelivery) -> object:
        """The transaction under which a message was posted."""
        work = cast(Delivery, delivery).work
        return None if work is None else work.transaction

    def grant(self, event: shared.Event) -> tuple[Place, int] | None:
        """The delivery-count up to which a flow lets the sender of its link go."""
        found = cast(Event, event)
        body, link = found.unit.body, found.link
        if not isinstance(body, Flow) or link is None or not link.role:
            return None
        credit, count = body.link_credit, body.delivery_count
        return None if not credit or count is None else (link.place, count + credit)

    def first_position(self, delivery: AnyDelivery) -> int:
        """The delivery-count with which its link began."""
        link = cast(Delivery, delivery).link
        count = link.sending.initial_count
        return -1 if count is None or link.again else count

    def answers_ending(self, event: shared.Event) -> Mark | None:
        """The client's detach, end or close, where the broker's comes after it without an error."""
        found = cast(Event, event)
        body, link, session = found.unit.body, found.link, found.session
        mark: Mark | None = None
        if isinstance(body, Detach) and link is not None and link.pair is not None:
            mark = link.pair.detach_mark
        elif isinstance(body, End) and session is not None and session.pair is not None:
            mark = session.pair.ended_mark
        elif isinstance(body, Close):
            mark = found.connection.ends[CLIENT].close_mark
        if mark is None or found.peer == CLIENT or found.refuses is not None:
            return None
        return mark if found.knew(mark) and mark.frame < found.mark.frame else None

    def leaves(self, event: shared.Event) -> list[Place]:
        """The links of a session that a peer ends."""
        found = cast(Event, event)
        session = found.session
        if session is None or not isinstance(found.unit.body, End):
            return []
        return [link.place for link in session.handles.values()]

    def modes(self, event: shared.Event) -> list[str]:
        """The settle and distribution modes of a link, and nodes that are made for it."""
        return modes(cast(Event, event))

    def declares(self, event: shared.Event) -> Declaration | None:
        """A node that a broker makes for a link, deletes with it, uses or does not find."""
        found = cast(Event, event)
        body, link = found.unit.body, found.link
        if found.peer == CLIENT or link is None:
            return None
        made = None
        if isinstance(body, Attach):
            made = declaration_of_attach(link, found.mark)
        elif isinstance(body, Detach) and body.closed:
            made = declaration_of_detach(link, body, found.mark)
        if made is not None:
            made.channel = link.session.channel
        return made

    def drained_place(self, event: shared.Event) -> tuple[Place, int] | None:
        """A sender has used up what its receiver asked it to drain: how much of it so far, since
        the link began, it had no messages for."""
        found = cast(Event, event)
        body, link = found.unit.body, found.link
        if not isinstance(body, Flow) or link is None or link.role or link.pair is None:
            return None
        initial, count = link.sending.initial_count, body.delivery_count
        if not link.pair.receiving.drain or body.link_credit or count is None:
            return None
        if initial is None or link.again:
            return None
        return link.place, ((count - initial) & 0xFFFFFFFF) - link.sending.delivery_total
