"""Request and response frames of 0-9 (A09-FRM-30 to 34; 4.2.10, 4.2.11, 4.4).

That part of 0-9 was work in progress, and its successor dropped it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.dialogue import Dialogue
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, INFO, MUST, WARNING, Reporter, parameter, rule
from dissectors.v0_9.framing import Envelope

PATIENCE: Final = 10_000_000_000
"""Nanoseconds in which a response would have come."""


def dialogue_of(event: Event, peer: int) -> Dialogue | None:
    """What a peer has asked and answered on the channel, where all of it was seen."""
    channel = event.channel
    if channel is None or not channel.sure or not event.trusted:
        return None
    found = channel.dialogues[peer]
    return None if found.unsure else found


@parameter("sender")
def find_own(event: Event) -> Dialogue | None:
    """What the sender of a frame has asked and answered on the channel."""
    return dialogue_of(event, event.peer)


@parameter("partner")
def find_partner(event: Event) -> Dialogue | None:
    """What the partner has asked and answered on the channel."""
    return dialogue_of(event, 1 - event.peer)


@rule("A09-FRM-30", "4.2.10, 4.4.4", MUST, ERROR, on="request", dialects="0-9=")
def request_id_not_sequential(
    event: Event, report: Reporter, envelope: Envelope, sender: Dialogue
) -> None:
    """The requests of a peer on a channel are numbered one after the other.

    Bad (requested):
        client: message.cancel[1 request=3] destination="b"   # <- A09-FRM-30

    Good (requested):
        client: message.cancel[1 request=2] destination="b"
        server: message.ok[1 response=1 mark=1 batch=1]
    """
    before = sender.request_id
    if before is not None and envelope.id != before + 1:
        text = f"request-id is {envelope.id}, the one before was {before}"
        report.sure(event, text, "request-id", ((sender.request_mark, "the request before"),))


@rule("A09-FRM-31", "4.2.11, 4.4.4", MUST, ERROR, on="response", dialects="0-9=")
def response_id_not_sequential(
    event: Event, report: Reporter, envelope: Envelope, sender: Dialogue
) -> None:
    """The responses of a peer on a channel are numbered one after the other.

    Bad (requested):
        client: message.cancel[1 request=2] destination="b"
        server: message.ok[1 response=1 mark=1]
        server: message.ok[1 response=1 mark=2]   # <- A09-FRM-31

    Good (requested):
        client: message.cancel[1 request=2] destination="b"
        server: message.ok[1 response=1 mark=1]
        server: message.ok[1 response=2 mark=2]
    """
    before = sender.response_id
    if before is not None and envelope.id != before + 1:
        text = f"response-id is {envelope.id}, the one before was {before}"
        report.sure(event, text, "response-id", ((sender.response_mark, "the response before"),))


@rule("A09-FRM-32", "4.2.11", MUST, ERROR, on="response", dialects="0-9=")
def response_covers_no_request(
    event: Event, report: Reporter, envelope: Envelope, partner: Dialogue
) -> None:
    """A response answers requests that were made and are not answered yet.

    Bad (requested):
        server: message.ok[1 response=1 mark=1 batch=1]   # <- A09-FRM-32

    Good (requested):
        client: message.cancel[1 request=2] destination="b"
        server: message.ok[1 response=1 mark=1 batch=1]
    """
    first, count = envelope.mark, envelope.batch + 1
    missing = count - len(partner.answered_requests(first, envelope.batch))
    if missing > 0:
        last = f" to {first + envelope.batch}" if envelope.batch else ""
        text = f"a response to request {first}{last}: {missing} of {count} not waiting for one"
        report.sure(event, text, "request-id")


@rule("A09-FRM-33", "4.2.10, 4.4.3", MUST, WARNING, on="request", dialects="0-9=")
def response_mark_wrong(
    event: Event, report: Reporter, envelope: Envelope, sender: Dialogue, partner: Dialogue
) -> None:
    """The mark of a request names a response that came, and never an earlier one than before.

    Bad (v0_9):
        client: message.cancel[1 request=1 mark=5] destination="a"   # <- A09-FRM-33

    Good (requested):
        server: message.ok[1 response=1 mark=1]
        client: message.cancel[1 request=2 mark=1] destination="b"
    """
    sent = partner.response_id or 0
    if envelope.mark > sent:
        text = f"response-mark is {envelope.mark}, the last response was {sent}"
        report.sure(event, text, "response-mark", ((partner.response_mark, "the last response"),))
    elif envelope.mark < sender.seen:
        text = f"response-mark is {envelope.mark}, an earlier request said {sender.seen}"
        report.sure(event, text, "response-mark", ((sender.request_mark, "the request before"),))


@rule("A09-FRM-34", "4.4.1", MUST, INFO, on="channel.close-ok connection.close", dialects="0-9=")
def request_unanswered(event: Event, report: Reporter) -> None:
    """Every request has a response.

    Bad (requested):
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]   # <- A09-FRM-34

    Good (requested):
        server: message.ok[1 response=1 mark=1]
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]

    Bad (requested):
        @20s client: connection.close reply-code=200 reply-text="bye"   # <- A09-FRM-34

    Good (requested):
        server: message.ok[1 response=1 mark=1]
        @20s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    if event.name == "channel.close-ok":
        report_open(event, report, find_partner(event), 1 - event.peer, -1)
        return
    # The close answers what its receiver has asked; its sender has waited for its own.
    for channel in event.connection.channels.values():
        if not channel.closing and channel.sure:
            report_open(event, report, channel.dialogues[event.peer], event.peer, channel.number)


def report_open(
    event: Event, report: Reporter, asked: Dialogue | None, asker: int, channel: int
) -> None:
    """Report requests that wait for their responses; `channel` if it is not the event's."""
    if asked is None or asked.unsure or not asked.open:
        return
    first = next(iter(asked.open.values()))
    if channel >= 0 and event.since(first.mark) < PATIENCE:
        return
    text = f"{len(asked.open)} requests have no response, the first is {first.name}"
    about = None if channel < 0 else channel
    report.suspect(event, text, "", ((first.mark, "the request"),), peer=1 - asker, about=about)
