"""Which addresses mean the same node of a broker.

RabbitMQ names a queue in many ways: `/queues/q` (percent-encoded), `/queue/q`, `/amq/queue/q`, `q`,
and in 0-9 the routing key `q` of the default exchange. Artemis has `address::queue`.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import Route
from amqpscope.model.broker.journey import Node

DEFAULT_EXCHANGES: Final = ("", "amq.default")
QUEUES: Final = ("/queues/", "/queue/", "/amq/queue/")
EXCHANGES: Final = ("/exchanges/", "/exchange/")
TOPICS: Final = ("/topic/",)


def target_node(broker: Broker, route: Route, suffix: str) -> Node:
    """Where a publish goes; the suffix tells virtual hosts apart."""
    name, is_queue = node_name(broker, route)
    return found_node(broker, name + suffix, is_queue, route)


def source_node(broker: Broker, route: Route, suffix: str, private: str) -> Node:
    """Where a delivery comes from; what is subscribed to an exchange has a queue of its own."""
    name, is_queue = node_name(broker, route)
    if not name or name.startswith("exchange "):
        return Node(f"{name or 'an unnamed node'}{suffix} ({private})", bool(name))
    return found_node(broker, name + suffix, is_queue, route)


def found_node(broker: Broker, name: str, is_queue: bool, route: Route) -> Node:
    """A node by its name, with what a link says of it."""
    found = broker.node(name, is_queue)
    found.is_exchange = name.startswith("exchange ")
    if route.is_topic:
        found.is_topic = True
    return found


def node_name(broker: Broker, route: Route) -> tuple[str, bool]:
    """The name of a node, and whether it is a queue for sure."""
    address = route.address
    if route.exchange not in DEFAULT_EXCHANGES:
        return f"exchange {route.exchange}/{address}", False
    if broker.is_rabbit and address.startswith("/"):
        return rabbit_name(address)
    if "::" in address:
        return address.rpartition("::")[2], True
    return address, route.is_queue or (broker.is_rabbit and not address.startswith("/"))


def rabbit_name(address: str) -> tuple[str, bool]:
    """What an address of RabbitMQ names, of either version."""
    for start in QUEUES:
        if address.startswith(start):
            name = address[len(start) :]
            return (unquote(name) if start == "/queues/" else name), True
    for start in EXCHANGES:
        if address.startswith(start):
            exchange, _, key = address[len(start) :].partition("/")
            if start == "/exchanges/":
                exchange, key = unquote(exchange), unquote(key)
            if exchange in DEFAULT_EXCHANGES:
                return key, True
            return f"exchange {exchange}/{key}", False
    for start in TOPICS:
        if address.startswith(start):
            return f"exchange amq.topic/{address[len(start) :]}", False
    return address, False
