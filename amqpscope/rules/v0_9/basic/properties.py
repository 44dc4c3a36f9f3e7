"""Properties of published messages (A09-BAS-39 to 41)."""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import IMPLIED, INFO, WARNING, Reporter, parameter, rule
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.message import ContentHeader

BASIC: Final = 60
MODE: Final = "delivery-mode"
MODES: Final = (1, 2)
HIGHEST: Final = 9
NUMBER: Final = re.compile(r"[+]?[0-9]+")


@parameter("properties")
def find_properties(event: Event) -> ContentHeader | None:
    """The properties of a message of the basic class that the client publishes."""
    header, published = event.unit.content, event.peer == CLIENT and not event.unit.faults
    return header if published and header is not None and header.class_id == BASIC else None


@rule("A09-BAS-39", "property comments", IMPLIED, INFO, on="odd-header")
def delivery_mode_or_priority_odd(
    event: Event, report: Reporter, properties: ContentHeader
) -> None:
    """A message's delivery-mode is 1 or 2, and its priority at most 9.

    Any mode but 2 is taken for 1: the message is not kept. RabbitMQ's priorities go to 255, in
    queues that were declared so. Reported once for a client.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 delivery-mode=3   # <- A09-BAS-39

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 delivery-mode=2 priority=9
    """
    mode, priority = properties.get("delivery-mode"), properties.get("priority")
    if isinstance(mode, int) and mode not in MODES and report.once(event.own, topic=MODE):
        words = f"delivery-mode is {mode}, neither 1 nor 2"
        report.sure(event, words, "content-header.delivery-mode")
    if isinstance(priority, int) and priority > HIGHEST and report.once(event.own):
        report.sure(event, f"priority is {priority}, above 9", "content-header.priority")


@rule("A09-BAS-40", "[RMQ]", IMPLIED, WARNING, on="odd-header", needs="rabbit")
def expiration_not_number(event: Event, report: Reporter, properties: ContentHeader) -> None:
    """For RabbitMQ a message's expiration is a number of milliseconds, written in digits.

    The property is a text. "60s" or a date closes the channel with 406.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 expiration="60s"   # <- A09-BAS-40

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 expiration="60000"
    """
    value = properties.get("expiration")
    if isinstance(value, str) and NUMBER.fullmatch(value) is None:
        words = f"expiration is {str(value)!r}, not a number of milliseconds"
        report.sure(event, words, "content-header.expiration")


@rule("A09-BAS-41", "validated user-id", IMPLIED, WARNING, on="odd-header", needs="rabbit")
def user_id_not_login(event: Event, report: Reporter, properties: ContentHeader) -> None:
    """For RabbitMQ a message's user-id is the name that the client has logged in with.

    The broker closes the channel with 406, but for users who may speak for others.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 user-id="admin"   # <- A09-BAS-41

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 user-id="guest"
    """
    connection, value = event.connection, properties.get("user-id")
    if not isinstance(value, str) or not connection.user:
        return
    if value != connection.user and report.once(event.own):
        words = f"user-id is {str(value)!r}, the client has logged in as {connection.user!r}"
        related = ((connection.start_ok_mark, "its start-ok"),)
        report.suspect(event, words, "content-header.user-id", related)
