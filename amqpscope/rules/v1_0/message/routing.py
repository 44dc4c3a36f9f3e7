"""When a message is of use, and where it goes: times, groups, addresses (MSG; spec 3.2.4).

As in `content`, most of it is advice, given where a message is published.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import HEADER, PROPERTIES, TO, Message
from amqpscope.rules.v1_0 import ADVISORY, IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.rules.v1_0.message._flaws import passed_on, report_section
from amqpscope.rules.v1_0.parameters import properties_of
from dissectors.v1_0.bodies import Header, Properties, Target

CREATION_TIME: Final = "properties.creation-time"
UNSET: Final = frozenset((0, -62135596800000))
"""Times that libraries without a null write for "not set": the epoch, and the year 1."""
SECONDS: Final = 100_000_000_000
"""A time in milliseconds below this is before 1973; in seconds it is the present."""
FUTURE: Final = 60_000
PAST: Final = 300_000
"""Milliseconds by which two clocks may well differ."""
REAL_TIME: Final = 1_000_000_000 * 1_000_000_000
"""Captures with earlier times, in nanoseconds, were made without a clock."""


@rule("MSG-046", "3.2.4", IMPLIED, INFO, on="times")
def published_already_expired(
    event: Event, report: Reporter, link: LinkEnd, properties: Properties
) -> None:
    """A message is published before its absolute-expiry-time.

    A broker drops a dead message without a word, and the consumer waits for it. Clocks differ and
    old messages are replayed, so this is a note, made when the time lies five minutes back.
    Zero and the year 1 are how some libraries write "not set".

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(absolute-expiry-time=timestamp 2020-01-01T00:00:00.000Z)
                data(b"x")   # <- MSG-046

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(absolute-expiry-time=timestamp 2024-01-01T00:00:00.000Z) data(b"x")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | properties(absolute-expiry-time=timestamp 0) data(b"x")
    """
    if passed_on(event) or event.time < REAL_TIME:
        return
    expiry = properties.absolute_expiry_time
    if expiry is None or expiry in UNSET or in_seconds(expiry):
        return
    late = event.time // 1_000_000 - expiry
    if late > PAST and report.once(link):
        text = f"is published {late // 1000} s after its absolute-expiry-time"
        report_section(event, report, PROPERTIES, text, "properties.absolute-expiry-time", False)


def in_seconds(time: int) -> bool:
    """Whether a time is probably in seconds where milliseconds are due."""
    return 0 < time < SECONDS


@rule("MSG-047", "3.2.4", ADVISORY, INFO, on="times")
def creation_time_implausible(
    event: Event, report: Reporter, link: LinkEnd, properties: Properties
) -> None:
    """A message is created before it expires, before it is sent, and after 1973.

    A time that makes sense only in seconds is the commonest slip: timestamps are in milliseconds.
    Clocks may differ by a minute. Noted once on a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(creation-time=timestamp 1700000000) data(b"x")   # <- MSG-047

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(creation-time=timestamp 1700000000000) data(b"x")
    """
    if passed_on(event):
        return
    created, expiry = properties.creation_time, properties.absolute_expiry_time
    if created is None or created in UNSET:
        return
    ahead = created - event.time // 1_000_000
    text, sure = "", False
    if in_seconds(created):
        text = f"creation-time {int(created)} looks like seconds, milliseconds are due"
    elif expiry is not None and expiry not in UNSET and created > expiry:
        text, sure = f"is created {created - expiry} ms after its absolute-expiry-time", True
    elif ahead > FUTURE and event.time >= REAL_TIME:
        text = f"creation-time is {ahead // 1000} s after the time of the capture"
    if text and report.once(link):
        report_section(event, report, PROPERTIES, text, CREATION_TIME, sure)


@rule("MSG-048", "3.2.4", ADVISORY, INFO, on="times")
def expiry_ttl_creation_disagree(event: Event, report: Reporter, link: LinkEnd) -> None:
    """Where creation-time, ttl and absolute-expiry-time are all set, they agree.

    Which of ttl and absolute-expiry-time wins is not said, so brokers differ in when they drop
    a message whose times disagree. A second more or less is nothing; a ttl at its limit of 49 days
    is as near as it gets. Noted once on a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(ttl=60000) properties(creation-time=timestamp 1700000000000
                absolute-expiry-time=timestamp 1700000600000) data(b"x")   # <- MSG-048

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(ttl=60000) properties(creation-time=timestamp 1700000000000
                absolute-expiry-time=timestamp 1700000060000) data(b"x")
    """
    message, properties = event.parts, properties_of(event)
    if message is None or properties is None or passed_on(event):
        return
    section = message.find(HEADER)
    header = None if section is None else message.value(section)
    created, expiry = properties.creation_time, properties.absolute_expiry_time
    if not isinstance(header, Header) or header.ttl is None or header.ttl == 0xFFFFFFFF:
        return
    if created is None or expiry is None or created in UNSET or expiry in UNSET:
        return
    if in_seconds(created) or created > expiry:
        return
    if abs(expiry - created - header.ttl) > 1000 and report.once(link):
        text = f"lives {expiry - created} ms by its times, {header.ttl} ms by its ttl"
        report_section(event, report, PROPERTIES, text, "properties.absolute-expiry-time")


@rule("MSG-049", "3.2.4", ADVISORY, INFO, on="odd-message")
def group_sequence_irregular(
    event: Event, report: Reporter, link: LinkEnd, properties: Properties
) -> None:
    """A group-sequence belongs to a group: group-id is set as well.

    A number without a group orders nothing. Zero is what some libraries always send.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(group-sequence=7) data(b"x")   # <- MSG-049

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(group-id="g" group-sequence=7) data(b"x")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | properties(group-sequence=0) data(b"x")
    """
    if passed_on(event) or properties.wrong:
        return
    number = properties.group_sequence
    if number and properties.group_id is None and report.once(link):
        text = f"has the group-sequence {number}, but no group-id"
        report_section(event, report, PROPERTIES, text, "properties.group-sequence")


@rule("MSG-058", "3.2.4", ADVISORY, WARNING, on="nameless")
def anonymous_message_without_to(
    event: Event, report: Reporter, link: LinkEnd, pair: LinkEnd, message: Message
) -> None:
    """On a link to no particular node each message says in `to` where it goes.

    A sender that attaches without a target address asks the broker to route by the property;
    without it the message is rejected, released or lost. Links that the receiver set up often have
    no target address and need none, so only those are judged that the sender set up.

    Bad (control target=target()):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="q") data(b"x")   # <- MSG-058

    Good (control target=target()):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(to="q") data(b"x")
    """
    if message.present & TO or link.may_answer:
        return
    if link.attach is None or pair.attach is None:
        return
    asked, given = link.attach.target, pair.attach.target
    if not isinstance(asked, Target) or not isinstance(given, Target):
        return
    if asked.address is not None or given.address is not None or asked.dynamic or given.dynamic:
        return
    section = message.find(PROPERTIES)
    properties = None if section is None else message.value(section)
    if event.discarded or (isinstance(properties, Properties) and properties.to is not None):
        return
    text = "goes to a target without an address and has no `to`"
    report_section(event, report, PROPERTIES, text, "properties.to")
