"""The message class of 0-9 (A09-MSG): requests, references and bodies within methods.

That class was work in progress, and its successor dropped it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.dialogue import Asked
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.staging import Reference
from amqpscope.model.v0_9.staging_methods import body_reference, named_reference
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method
from dissectors.v0_9.values import Content

ANSWERS: Final = frozenset(("message.ok", "message.empty", "message.reject", "message.offset"))
REJECT_CODES: Final = (0, 1)
INLINE_OR_REFERENCE: Final = (0, 1)
WIP: Final = "0-9="


@rule("A09-MSG-01", "4.4, 2.3.5.5", IMPLIED, WARNING, on="message.*", dialects=WIP, needs="trusted")
def message_method_frame_type(event: Event, report: Reporter) -> None:
    """Methods of the message class travel in request frames, their answers in response frames.

    In plain method frames they have no numbers, and nothing says what an answer answers. Qpid
    does so in places, which is taken as it is.

    Bad (v0_9):
        client: message.cancel[1] destination="a"   # <- A09-MSG-01

    Good (requested):
        server: message.ok[1 response=1 mark=1]

    Bad (requested):
        server: message.ok[1 request=1]   # <- A09-MSG-01
    """
    answers, numbered = event.name in ANSWERS, event.unit.envelope is not None
    right = event.kinds & kinds.RESPONSE if answers else numbered
    if not right and event.connection.dialect.name == "0-9" and report.once(event.own):
        wanted = "response" if answers else "request"
        words = f"{event.name} in a {'request' if numbered else 'method'} frame"
        report.sure(event, f"{words}, not in a {wanted} frame")


def asked_by(event: Event) -> list[Asked]:
    """The requests that a response is about, where all of them were seen."""
    channel, envelope = event.channel, event.unit.envelope
    if channel is None or envelope is None or not channel.sure or not event.trusted:
        return []
    other = channel.dialogues[1 - event.peer]
    return [] if other.unsure else other.answered_requests(envelope.mark, envelope.batch)


@rule("A09-MSG-02", "grammar", MUST, ERROR, on="response | unasked message.*", dialects=WIP)
def message_request_answer_wrong(event: Event, report: Reporter) -> None:
    """A request of the message class gets one of the answers that it can have.

    A transfer is answered by ok or reject, a get by ok or empty, a resume by offset, and all the
    others by ok.

    Bad (requested):
        server: message.empty[1 response=1 mark=1]   # <- A09-MSG-02

    Good (v0_9):
        client: message.get[1 request=1] queue="q" destination="a"
        client: message.cancel[1 request=2] destination="a"
        server: message.empty[1 response=1 mark=1]
        server: message.ok[1 response=2 mark=2]

    Bad (v0_9):
        client: message.get[1 request=1] queue="q" destination="a"
        client: message.cancel[1 request=2] destination="a"
        server: message.empty[1 response=1 mark=1 batch=1]   # <- A09-MSG-02
    """
    if event.kinds & kinds.UNASKED and event.unit.envelope is None:
        channel = event.channel
        if event.name in ANSWERS and channel is not None and not channel.closing and event.trusted:
            report.sure(event, f"{event.name} answers nothing that was asked on this channel")
        return
    if event.unit.faults or event.unit.method is None:
        return
    for asked in asked_by(event):
        if asked.name.startswith("message.") and event.name not in asked.replies:
            allowed = " or ".join(name.removeprefix("message.") for name in asked.replies)
            words = f"{event.name} answers a {asked.name}"
            words += f", which is answered by {allowed}" if allowed else ", which is an answer"
            report.sure(event, words, "", ((asked.mark, "the request"),))
            return


def reference_of(event: Event, channel: Channel) -> Reference | None:
    """The reference that a method is about, if it is known."""
    method = event.unit.method
    name = None if method is None else named_reference(method)
    return None if name is None else channel.references[event.peer].known.get(name)


def elsewhere(event: Event) -> bool:
    """The sender has a reference of this name on another channel, or the name was not read."""
    method = event.unit.method
    name = None if method is None else named_reference(method)
    if name is None:
        return True
    return any(
        name in channel.references[event.peer].known
        for channel in event.connection.channels.values()
        if channel is not event.channel
    )


@rule(
    "A09-MSG-03",
    "open/append/close reference",
    MUST,
    ERROR,
    on="message.open message.append message.close message.checkpoint",
    dialects=WIP,
    needs="trusted whole !closing",
)
def message_reference_misused(event: Event, report: Reporter, channel: Channel) -> None:
    """A reference is opened once, appended to while it is open, and closed once.

    A resume opens it again. A name that was closed may be used for another reference, of which the
    text says nothing: that is only suspicious.

    Bad (v0_9):
        client: message.append[1 request=1] reference="r" bytes="x"   # <- A09-MSG-03

    Good (v0_9):
        client: message.open[1 request=1] reference="r"
        client: message.append[1 request=2] reference="r" bytes="x"
        client: message.close[1 request=3] reference="r"
        server: message.ok[1 response=1 mark=1 batch=2]

    Bad (v0_9):
        client: message.open[1 request=1] reference="r"
        client: message.open[1 request=2] reference="r"   # <- A09-MSG-03

    Good (v0_9):
        client: message.resume[1 request=1] reference="r" identifier="i"
        server: message.offset[1 response=1 mark=1] value=0
        client: message.append[1 request=2] reference="r" bytes="x"
        client: message.close[1 request=3] reference="r"
        server: message.ok[1 response=2 mark=2 batch=1]

    Bad (v0_9):
        client: message.open[1 request=1] reference="r"
        client: message.close[1 request=2] reference="r"
        client: message.close[1 request=3] reference="r"   # <- A09-MSG-03
    """
    if channel.references[event.peer].unsure:
        return
    found, path = reference_of(event, channel), f"{event.name}.reference"
    if event.name == "message.open":
        if found is None:
            return
        closed = found.closed
        state = "is open already" if closed is None else "was opened and closed before"
        related = ((found.mark, "its open"), (closed, "its close"))
        report.sure_if(closed is None, event, f"the reference {state}", path, related)
    elif found is None:
        words = f"{event.name} of a reference that was not opened"
        unknown = not elsewhere(event)
        report.sure_if(unknown, event, words if unknown else f"{words} on this channel", path)
    elif found.closed is not None:
        words = f"{event.name} of a reference that is closed"
        report.sure(event, words, path, ((found.closed, "its close"),))


@rule(
    "A09-MSG-04",
    "close 01",
    MUST,
    ERROR,
    on="response | message.ok message.reject",
    dialects=WIP,
    needs="!faulty sure",
)
def message_reference_answered_early(event: Event, report: Reporter, channel: Channel) -> None:
    """A transfer whose body is a reference is acknowledged only once the reference is closed.

    Until then nobody has all of the message. Whether one may be rejected earlier is not said.

    Bad (v0_9):
        client: message.open[1 request=1] reference="r"
        client: message.transfer[1 request=2] destination="d" body=reference "r"
        server: message.ok[1 response=1 mark=1 batch=1]   # <- A09-MSG-04

    Good (v0_9):
        client: message.open[1 request=1] reference="r"
        client: message.transfer[1 request=2] destination="d" body=reference "r"
        client: message.close[1 request=3] reference="r"
        server: message.ok[1 response=1 mark=1 batch=2]
    """
    if event.name not in ("message.ok", "message.reject"):
        return
    if channel.references[1 - event.peer].unsure:
        return
    for name, mark in transfers(event, channel):
        found = channel.references[1 - event.peer].known.get(name)
        if found is None or event.knew(found.closed):
            continue
        related = ((mark, "the transfer"), (found.mark, "the open of its reference"))
        words = f"{event.name} to a transfer whose reference is not closed"
        proven = event.name == "message.ok" and found.closed is None
        report.sure_if(proven, event, words, "", related)
        return


def transfers(event: Event, channel: Channel) -> Iterator[tuple[str | bytes, Mark]]:
    """The transfers by reference that an answer is about: the reference and the place of each."""
    for asked in asked_by(event):
        name = channel.references[1 - event.peer].transfers.get(asked.id)
        if name is not None and asked.name == "message.transfer":
            yield name, asked.mark
    request = event.request
    if request is not None and event.unit.envelope is None and request.name == "message.transfer":
        name = body_reference(request.method)
        if name is not None:
            yield name, request.mark


@rule(
    "A09-MSG-05", "reject-code 01", MUST, ERROR, on="message.reject", dialects=WIP, needs="trusted"
)
def message_reject_code_invalid(event: Event, report: Reporter, method: Method) -> None:
    """A message is rejected with code 0, or 1 where it could not be delivered at once.

    Bad (v0_9):
        client: message.transfer[1 request=1] destination="d" body=inline "x"
        server: message.reject[1 response=1 mark=1] code=2 text="no"   # <- A09-MSG-05

    Good (v0_9):
        client: message.transfer[1 request=1] destination="d" body=inline "x"
        server: message.reject[1 response=1 mark=1] code=1 text="no"
    """
    code = number(method, "code")
    if code not in REJECT_CODES:
        words = f"a reject with code {code}, only 0 and 1 are defined"
        report.sure(event, words, "message.reject.code")


@rule(
    "A09-MSG-06",
    "consume destination",
    MUST,
    ERROR,
    on="message.consume",
    dialects=WIP,
    needs="client whole trusted !closing",
)
def message_destination_in_use(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A new consumer of messages has a destination that no other of the channel has.

    Bad (v0_9):
        client: message.consume[1 request=1] queue="q" destination="d"
        client: message.consume[1 request=2] queue="r" destination="d"   # <- A09-MSG-06

    Good (v0_9):
        client: message.consume[1 request=1] queue="q" destination="d"
        client: message.cancel[1 request=2] destination="d"
        client: message.consume[1 request=3] queue="r" destination="d"
        server: message.ok[1 response=1 mark=1 batch=2]
    """
    name = text(method, "destination")
    mark = channel.references[CLIENT].destinations.get(name)
    if mark is not None and name:
        words = f"the destination {name!r} is in use on this channel"
        report.sure(event, words, "message.consume.destination", ((mark, "its consume"),))


@rule(
    "A09-MSG-07",
    "4.2.5.6",
    MUST,
    ERROR,
    on="message.transfer | malformed message.transfer",
    dialects=WIP,
)
def message_content_union_invalid(event: Event, report: Reporter) -> None:
    """A body within a method is itself there (0), or a reference to it (1).

    Bad (v0_9):
        client: message.transfer[1 request=1] destination="d" body=2 "x"   # <- A09-MSG-07

    Good (v0_9):
        client: message.transfer[1 request=1] destination="d" body=inline "x"
        server: message.ok[1 response=1 mark=1]
    """
    method = event.unit.method
    body = None if method is None else method.get("body")
    if isinstance(body, Content) and body.reference not in INLINE_OR_REFERENCE and event.trusted:
        words = f"the body begins with {body.reference}, which is neither 0 nor 1"
        report.sure(event, words, "message.transfer.body")
