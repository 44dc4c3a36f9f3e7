"""What a broker does with messages of 0-9, in the words of `model.broker`."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.model import event as shared
from amqpscope.model.broker import envelope as words
from amqpscope.model.broker.declaration import (
    ASKED,
    DELETED,
    GONE,
    MADE,
    UNBOUND,
    USED,
    Declaration,
)  # fmt: skip
from amqpscope.model.broker.envelope import (
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
from amqpscope.model.place import Place
from amqpscope.model.v0_9.deliveries import Consumer, Delivery
from amqpscope.model.v0_9.event import ENTANGLED, Event
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.protocols.broker import BrokerView
from dissectors.native import mypyc_attr
from dissectors.v0_9.codec import Method
from dissectors.v0_9.message import ContentHeader
from dissectors.v0_9.values import Table, Value

FAMILY: Final = "amqp-0-9-1"
PERSISTENT: Final = 2
CONFIRMS: Final = {"ack": words.ACCEPTED, "nack": words.REJECTED}
MUTABLE: Final = frozenset((
    "headers", "reply-to", "delivery-mode", "priority", "expiration", "timestamp", "user-id",
    "cluster-id",
))  # fmt: skip
"""Properties that tell a broker what to do, or that it may set."""
MAX_SHOWN: Final = 40
"""Characters of a field that a finding shows."""
NO_ROUTE: Final = 312
GIVEN_BACK: Final = Verdict(words.OPEN, None)
"""Of a delivery whose acknowledgement was rolled back; shared, so never changed."""
GIVEN_BACK.undone = True
EXPIRES: Final = "x-expires"
"""The argument of a queue that goes when it is not used."""
LIMITS: Final = ("x-max-length", "x-max-length-bytes", "x-message-ttl", "x-delivery-limit", EXPIRES)
"""Arguments of a queue by which messages may go from it."""
STREAM_OFFSET: Final = "x-stream-offset"
ENCODED: Final = "amqp-1.0"
"""The type that RabbitMQ gives to messages whose body is a section of 1.0."""


@mypyc_attr(free_list_len=1, acyclic=True)
class ContentEnvelope(Envelope):
    """A content of 0-9."""

    __slots__ = ("header",)

    def __init__(self, header: ContentHeader, key: bytes, message_id: bytes, body: bytes) -> None:
        super().__init__(FAMILY, key, message_id, body)
        self.header = header

    def fold(self) -> None:
        """Its message is over: drop the body, but not what it is known by."""
        self.octets = b""

    def read(self) -> Content:
        """Take over the properties."""
        content = Content()
        get = self.header.get
        mode, priority = get("delivery-mode"), get("priority")
        content.durable = mode == PERSISTENT
        content.priority = priority if isinstance(priority, int) else None
        content.reply_to = text(get("reply-to"))
        correlation = text(get("correlation-id"))
        if correlation:
            content.correlation = b"string " + correlation.encode("utf-8", "surrogatepass")
        expiration, headers = get("expiration"), get("headers")
        if isinstance(expiration, str) and expiration.isdecimal():
            content.ttl = int(expiration)
        if isinstance(headers, Table):
            content.annotations = {str(name): value for name, value in headers}
        return content

    def rank(self) -> int:
        """Its priority; the lowest where it states none."""
        stated = self.header.get("priority")
        return stated if isinstance(stated, int) else 0

    def has_head_of(self, other: Envelope) -> bool:
        """Whether it has the properties of another."""
        return isinstance(other, ContentEnvelope) and self.header.values == other.header.values

    def fields(self) -> dict[str, str]:
        """The properties that a broker has no use for, and the body."""
        plan, values = self.header.plan, self.header.values
        if plan is None or self.size > len(self.octets):
            return {}
        found = {
            name: repr(value)[:MAX_SHOWN]
            for name, value in zip(plan.names, values, strict=True)
            if value is not None and name not in MUTABLE
        }
        found["body"] = repr(self.octets[:MAX_SHOWN])
        return found

    def data(self) -> tuple[bytes, int]:
        """The body as far as it is kept, and its size."""
        return self.octets, self.size

    def plain_body(self) -> bytes | None:
        """The body, unless it is one of 1.0 as it was encoded there."""
        if self.size > len(self.octets) or text(self.header.get("type")) == ENCODED:
            return None
        return self.octets


def text(value: Value) -> str:
    """A short string; empty where there is none."""
    return value if isinstance(value, str) else ""


def envelope(event: Event) -> Envelope | None:
    """The content that a frame completes; None where its octets are in doubt."""
    content, body = event.content, event.message
    if content is None or body is None or event.kinds & ENTANGLED:
        return None
    header = content.header
    if header is None or content.method is None or header.class_name != "basic":
        return None
    id = text(header.get("message-id"))
    message_id = b"string " + id.encode("utf-8", "surrogatepass") if id else b""
    body_key = key_of(body)
    found = ContentEnvelope(header, message_id + b"\0" + body_key, message_id, body)
    found.known_body = body_key
    found.perishable = header.get("expiration") is not None
    if header.get("reply-to") is not None or header.get("correlation-id") is not None:
        found.properties = len(header.values)
    return found


def route(delivery: AnyDelivery) -> Route:
    """Where a publish goes, or a delivery comes from."""
    if isinstance(delivery, Publish):
        found = Route(delivery.routing_key)
        found.exchange = delivery.exchange
        found.is_queue = not delivery.exchange
        found.varies = True
        return found
    if not isinstance(delivery, Delivery):
        return Route("")
    found = queue_route(delivery.queue)
    consumer = delivery.consumer
    if consumer is not None:
        ask(found, consumer)
    return found


def queue_route(name: str) -> Route:
    """A queue by its name."""
    found = Route(name)
    found.is_queue = bool(name)
    return found


def ask(found: Route, consumer: Consumer) -> None:
    """Take over what a consumer asks for."""
    found.unseen = consumer.assumed
    found.since = None if consumer.assumed else consumer.mark
    found.no_local = consumer.no_local
    arguments = consumer.arguments
    found.copy = arguments is not None and any(name == STREAM_OFFSET for name, _ in arguments)


def verdict(delivery: AnyDelivery) -> Verdict:
    """What became of a publish or a delivery."""
    if isinstance(delivery, Publish):
        if delivery.returned is not None:
            return Verdict(words.RETURNED, delivery.returned)
        if not delivery.number:
            return Verdict(words.PRESETTLED, delivery.mark)
        word = CONFIRMS.get(delivery.outcome)
        return NO_VERDICT if word is None else Verdict(word, delivery.settled)
    if not isinstance(delivery, Delivery) or not delivery.outcome:
        return GIVEN_BACK if isinstance(delivery, Delivery) and delivery.given_back else NO_VERDICT
    committed = delivery.committed
    found = Verdict(consumer_outcome(delivery), committed or delivery.settled)
    found.read = committed
    return found


def consumer_outcome(delivery: Delivery) -> str:
    """What a consumer made of a delivery."""
    if delivery.outcome == "no-ack":
        return words.PRESETTLED
    if delivery.transaction:
        return words.PROVISIONAL
    if delivery.outcome == "ack":
        return words.ACCEPTED
    if delivery.requeue or delivery.outcome == "recover":
        return words.RELEASED
    return words.REJECTED


def commitment(delivery: AnyDelivery) -> Commitment:
    """The transaction in which a message was published."""
    work = delivery.work if isinstance(delivery, Publish) else None
    if work is None:
        return NO_COMMITMENT
    if work.end is None:
        return Commitment(words.PENDING, None)
    return Commitment(words.ROLLED_BACK if work.rollback else words.DISCHARGED, work.end)


def modes(event: Event) -> list[str]:
    """What a server's answer switches on."""
    name, consumer = event.name, event.consumer
    if name == "confirm.select-ok":
        return ["publisher confirms -> on"]
    if name == "tx.select-ok":
        return ["transactions -> on"]
    if name != "basic.consume-ok" or consumer is None:
        return []
    found = ["consumer without acknowledgements -> on"] if consumer.no_ack else []
    return [*found, "exclusive consumer -> on"] if consumer.exclusive else found


def declares(event: Event) -> Declaration | None:
    """What a method declares, deletes or uses; versions before 0-9-1 have other rules."""
    method, request, channel = event.unit.method, event.request, event.channel
    if method is None or channel is None or not event.connection.dialect.name.startswith("0-9-1"):
        return None
    name, found = event.name, None
    if name in ("queue.declare", "exchange.declare"):
        found = declaration_of(ASKED, event, method, "")
    elif name == "queue.declare-ok" and request is not None:
        found = declaration_of(MADE, event, request.method, text(method.get("queue")))
        if found is not None:
            found.generated = not text(request.method.get("queue"))
            count = method.get("message-count")
            found.waiting = count if isinstance(count, int) else 0
            found.empty = count == 0 and method.get("consumer-count") == 0
    elif name == "exchange.declare-ok" and request is not None:
        found = declaration_of(MADE, event, request.method, "")
    elif name in ("queue.delete", "exchange.delete"):
        kind = name.partition(".")[0]
        found = Declaration(DELETED, kind, text(method.get(kind)), event.mark)
    elif name == "queue.delete-ok" and request is not None:
        found = Declaration(GONE, "queue", text(request.method.get("queue")), event.mark)
        found.if_unused = bool(request.method.get("if-unused"))
    elif name == "basic.return" and method.get("reply-code") == NO_ROUTE:
        if not text(method.get("exchange")):
            found = Declaration(UNBOUND, "queue", text(method.get("routing-key")), event.mark)
    elif name == "basic.consume-ok" and event.consumer is not None:
        found = Declaration(USED, "queue", event.consumer.queue, event.mark)
        found.exclusive = event.consumer.exclusive
    if found is not None:
        found.channel = channel.number
    return found


def declaration_of(action: str, event: Event, method: Method, name: str) -> Declaration | None:
    """What a declare says; None where it only asks whether something is there."""
    if method.get("passive"):
        return None
    kind = method.name.partition(".")[0]
    found = Declaration(action, kind, name or text(method.get(kind)), event.mark)
    arguments = method.get("arguments")
    table: dict[str, Value] = {}
    if isinstance(arguments, Table):
        table = {str(key): value for key, value in arguments}
    found.facts = {"durable": bool(method.get("durable")), "arguments": table}
    if kind == "exchange":
        found.facts["type"] = text(method.get("type"))
    found.exclusive = bool(method.get("exclusive"))
    found.limited = any(name in LIMITS for name in table)
    found.fleeting = bool(method.get("auto-delete")) or EXPIRES in table
    return found


class View(BrokerView):
    """What a broker does with messages of 0-9."""

    def virtual_host(self, event: shared.Event) -> str | None:
        """The virtual-host of connection.open."""
        method = cast(Event, event).unit.method
        if method is None or event.name != "connection.open":
            return None
        return text(method.get("virtual-host"))

    def envelope(self, event: shared.Event) -> Envelope | None:
        """The content that a frame completes; None where its octets are in doubt."""
        return envelope(cast(Event, event))

    def may_ask(self, event: shared.Event) -> bool:
        """Whether the content has a reply-to."""
        content = cast(Event, event).content
        header = None if content is None else content.header
        return header is not None and header.get("reply-to") is not None

    def route(self, delivery: AnyDelivery) -> Route:
        """The exchange and key of a publish, or the queue of a delivery."""
        return route(delivery)

    def target_key(self, delivery: AnyDelivery, envelope: Envelope) -> str:
        """The exchange and the routing key."""
        if not isinstance(delivery, Publish):
            return ""
        exchange = delivery.exchange
        return f"{exchange}\0{delivery.routing_key}" if exchange else delivery.routing_key

    def verdict(self, delivery: AnyDelivery) -> Verdict:
        """How a publish was confirmed, or a delivery acknowledged."""
        return verdict(delivery)

    def subscribes(self, event: shared.Event) -> tuple[Place, Route] | None:
        """The consumer that basic.consume-ok completes."""
        consumer, channel = cast(Event, event).consumer, cast(Event, event).channel
        if event.name != "basic.consume-ok" or consumer is None or channel is None:
            return None
        found = queue_route(consumer.queue)
        ask(found, consumer)
        return consumer.place_on(channel.places), found

    def clears(self, event: shared.Event) -> Route | None:
        """The queue of a purge or delete."""
        method = cast(Event, event).unit.method
        if method is None or event.name not in ("queue.purge", "queue.delete"):
            return None
        return queue_route(text(method.get("queue")))

    def empties(self, event: shared.Event) -> Route | None:
        """The queue from which there was nothing to get."""
        request = cast(Event, event).request
        if event.name != "basic.get-empty" or request is None:
            return None
        return queue_route(text(request.method.get("queue")))

    def modes(self, event: shared.Event) -> list[str]:
        """Confirms, transactions, and how consumers want their messages."""
        return modes(cast(Event, event))

    def declares(self, event: shared.Event) -> Declaration | None:
        """A queue or exchange that is declared, deleted or used."""
        return declares(cast(Event, event))

    def commitment(self, delivery: AnyDelivery) -> Commitment:
        """The transaction in which a message was published."""
        return commitment(delivery)

    def transaction(self, delivery: AnyDelivery) -> object:
        """What is done on its channel until the next commit or rollback."""
        return delivery.work if isinstance(delivery, Publish) else None
