"""A recorded conversation of AMQP 0-9 as its channels, messages and answers, in their order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Act, Cue
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import Unit

if TYPE_CHECKING:
    from amqpscope.protocols.v0_9.replay_live import LiveChannel

SETUP: Final = frozenset(
    "connection." + name
    for name in ("start", "start-ok", "secure", "secure-ok", "tune", "tune-ok", "open", "open-ok")
)
ANSWERS: Final = frozenset(("basic.ack", "basic.nack", "basic.reject"))
DELIVERS: Final = frozenset(("basic.deliver", "basic.get-ok"))
COMMITS: Final = frozenset(("tx.commit", "tx.rollback", "basic.recover", "basic.recover-async"))
"""Methods of a client that let messages through, or make them come once more."""
METHODS: Final = 0
"""The lane of methods within a channel."""
CONFIRMS: Final = 1
"""The lane of what a server says about publishes."""
CONSUMERS: Final = 2
"""From here on the lanes of consumers."""


class Message:
    """A recorded message: published, delivered, returned or got."""

    def __init__(self, channel: Channel, frame: Frame, unit: Unit) -> None:
        self.channel = channel
        self.frame = frame
        self.unit = unit
        self.header: Unit | None = None
        self.parts: list[bytes] = []
        self.left = -1
        """Octets of the body that are to come; -1 before the header."""
        self.tag = 0
        """The delivery-tag, or the number of a publish that is confirmed."""
        self.cue: Cue | None = None
        self.act: Act | None = None
        self.verdict: Unit | None = None
        """What we have answered to it."""
        self.live_tag = 0
        """The same in the live conversation; 0 before it has passed."""
        self.consumer = ""
        self.answers: deque[Answer] = deque()

    @property
    def method(self) -> Method:
        """What the message came with."""
        assert self.unit.method is not None
        return self.unit.method

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.parts)

    @property
    def complete(self) -> bool:
        """All of it was recorded."""
        return self.left == 0


class Answer(NamedTuple):
    """What the other peer says of a message of ours."""

    cue: Cue
    outcome: str


class Expected(NamedTuple):
    """A method of the other peer, with its message if it carries one."""

    cue: Cue
    unit: Unit
    message: Message | None


class Send(NamedTuple):
    """A method of ours, with its message if it carries one."""

    channel: Channel | None
    unit: Unit
    message: Message | None = None
    request: Cue | None = None
    """What it replies to."""


class Verdict(NamedTuple):
    """An acknowledgement of ours, or a refusal."""

    channel: Channel
    unit: Unit
    messages: list[Message]


class Channel:
    """A recorded channel, from its opening to its end."""

    def __init__(self, place: int, number: int) -> None:
        self.place = place
        self.number = number
        self.expected: dict[str, deque[Expected]] = {}
        """What the other peer does, in streams that are independent of each other."""
        self.opens: Cue | None = None
        self.coming: list[Message | None] = [None, None]
        self.requests: list[Expected] = []
        """Requests of the other peer that are not replied to."""
        self.confirms = False
        self.published = 0
        self.consumers: list[str] = []
        """The tags of consumers, in the order of their lanes."""
        self.unsettled: list[dict[int, Message]] = [{}, {}]
        """Messages that are not answered, by who sent them and their tag."""
        self.mended = False
        """A frame of ours on it is left out: what it was answered with does not come."""
        self.live: LiveChannel | None = None

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"channel {self.number}"

    def stream(self, name: str) -> deque[Expected]:
        """One of the independent streams."""
        return self.expected.setdefault(name, deque())


class Script:
    """Puts the frames of a conversation into a part: acts, cues, and their channels."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.side = part.side
        self.setup: dict[str, Unit] = {}
        """The methods that set up the connection, by name."""
        self.headers: list[bytes] = []
        self.refusal = b""
        """A header that the server answered with."""
        self.channels: list[Channel] = []
        self.open: dict[int, Channel] = {}
        self.close: Cue | None = None
        self.messages: dict[int, Message] = {}
        """By the numbers of the frames that begin and end them."""
        self.left_out: list[Frame] = []
        for frame in part.frames:
            self.take(frame)

    def take(self, frame: Frame) -> None:
        """Take the next frame."""
        unit = cast(Unit, frame.unit)
        if unit.header is not None:
            if frame.sender == CLIENT:
                self.headers.append(frame.raw)
            else:
                self.refusal = frame.raw
        elif unit.label == "heartbeat":
            return
        elif unit.faults or unit.envelope is not None or not self.take_unit(frame, unit):
            self.leave_out(frame)

    def leave_out(self, frame: Frame) -> None:
        """A frame that is not legal: of ours it is sent only if asked for."""
        if frame.sender == self.side:
            self.left_out.append(frame)
            channel = self.open.get(cast(Unit, frame.unit).channel)
            if channel is not None:
                channel.mended = not self.part.choices.exact
            if self.part.choices.exact:
                self.part.add_act("raw", frame, ())

    def take_unit(self, frame: Frame, unit: Unit) -> bool:
        """Take a method, content header or body; whether it belongs to something."""
        if unit.name in SETUP:
            self.setup[unit.name] = unit
            return True
        if unit.channel == 0:
            return self.take_connection(frame, unit)
        if unit.name == "channel.open":
            self.open[unit.channel] = Channel(len(self.channels), unit.channel)
            self.channels.append(self.open[unit.channel])
        channel = self.open.get(unit.channel)
        if channel is None:
            return False
        if unit.label == "method":
            return unit.method is not None and self.take_method(frame, unit, channel, unit.method)
        return self.take_content(frame, unit, channel)

    def take_connection(self, frame: Frame, unit: Unit) -> bool:
        """A method of the connection itself."""
        if unit.method is None:
            return False
        if frame.sender == self.side:
            self.part.add_act(unit.name, frame, (), Send(None, unit))
        elif unit.name in ("connection.close", "connection.close-ok"):
            self.close = self.part.add_cue(frame, unit.name)
        return True

    def take_method(self, frame: Frame, unit: Unit, channel: Channel, method: Method) -> bool:
        """A method on a channel."""
        name = unit.name
        self.learn(frame, unit, channel, method)
        if name in ANSWERS:
            if self.take_answer(frame, unit, channel, method):
                return True
            if frame.sender == self.side:
                return False
            self.expect(frame, unit, channel, None)
            return True
        if method.plan.content:
            message = channel.coming[frame.sender] = Message(channel, frame, unit)
            self.number(frame.sender, channel, message)
            if frame.sender == self.side:
                message.act = self.add_send(frame, unit, channel, message)
            return True
        if frame.sender == self.side:
            self.add_send(frame, unit, channel, None)
        else:
            self.expect(frame, unit, channel, None)
        if name == "channel.close-ok":
            self.open.pop(unit.channel, None)
        return True

    def learn(self, frame: Frame, unit: Unit, channel: Channel, method: Method) -> None:
        """Remember what later methods refer to."""
        if unit.name == "confirm.select":
            channel.confirms = True
        elif unit.name in ("basic.consume", "basic.consume-ok"):
            tag = str(method.get("consumer-tag") or "")
            if tag and tag not in channel.consumers:
                channel.consumers.append(tag)

    def number(self, sender: int, channel: Channel, message: Message) -> None:
        """Give a message the number that answers to it have."""
        if message.unit.name == "basic.publish" and channel.confirms:
            channel.published += 1
            message.tag = channel.published
        elif message.unit.name in DELIVERS:
            message.tag = int(message.method.get("delivery-tag") or 0)
            message.consumer = str(message.method.get("consumer-tag") or "")
        if message.tag:
            channel.unsettled[sender][message.tag] = message

    def lane_of(self, unit: Unit, channel: Channel, message: Message | None) -> tuple[int, ...]:
        """What a method of ours keeps its order in."""
        if unit.name in ("channel.close", "channel.close-ok"):
            return (channel.place,)
        if unit.name == "basic.deliver" and message is not None:
            known = channel.consumers
            at = known.index(message.consumer) if message.consumer in known else len(known)
            return (channel.place, CONSUMERS + at)
        if unit.name == "basic.return":
            return (channel.place, CONFIRMS)
        return (channel.place, METHODS)

    def add_send(self, frame: Frame, unit: Unit, channel: Channel, message: Message | None) -> Act:
        """A method of ours."""
        request = None
        for asked in channel.requests:
            asking = asked.unit.method
            if asking is not None and unit.name in asking.plan.replies:
                request = asked.cue
                channel.requests.remove(asked)
                break
        lane = self.lane_of(unit, channel, message)
        act = self.part.add_act(unit.name, frame, lane, Send(channel, unit, message, request))
        act.light = unit.name in ("basic.deliver", "basic.return")
        act.message = message is not None
        return act

    def expect(self, frame: Frame, unit: Unit, channel: Channel, message: Message | None) -> None:
        """A method of the other peer."""
        shown = f" {subject_of(unit)}" if subject_of(unit) else ""
        cue = self.part.add_cue(frame, f"{unit.name}{shown} on {channel.title}")
        cue.about, cue.message, cue.commits = message, message is not None, unit.name in COMMITS
        expected = Expected(cue, unit, message)
        if unit.name == "channel.open":
            channel.opens = cue
        channel.stream(stream_of(unit, frame.sender)).append(expected)
        if unit.method is not None and unit.method.plan.replies:
            channel.requests.append(expected)

    def take_content(self, frame: Frame, unit: Unit, channel: Channel) -> bool:
        """A content header or body."""
        message = channel.coming[frame.sender]
        if message is None:
            return False
        if unit.content is not None:
            message.header = unit
            message.left = unit.content.body_size
        elif unit.label == "content-body" and message.left > 0:
            message.parts.append(frame.raw[unit.head : -1])
            message.left -= unit.body_size
        if message.left == 0:
            channel.coming[frame.sender] = None
            self.messages[message.frame.number] = self.messages[frame.number] = message
            if frame.sender != self.side:
                self.expect(frame, message.unit, channel, message)
                message.cue = self.part.cues[-1]
        return True

    def take_answer(self, frame: Frame, unit: Unit, channel: Channel, method: Method) -> bool:
        """An acknowledgement or refusal, of as many messages as it speaks of."""
        known = channel.unsettled[1 - frame.sender]
        tag, multiple = int(method.get("delivery-tag") or 0), bool(method.get("multiple"))
        tags = [each for each in known if not tag or each <= tag] if multiple else [tag]
        found = [known.pop(each) for each in tags if each in known]
        if not found:
            return False
        if frame.sender == self.side:
            lane = (channel.place, CONFIRMS if self.side == SERVER else METHODS)
            act = self.part.add_act(unit.name, frame, lane, Verdict(channel, unit, found))
            act.light = self.side == SERVER
            return True
        cue = self.part.add_cue(frame, f"{unit.name} on {channel.title}", len(found))
        cue.soft = unit.name == "basic.ack"
        cue.about = found
        for message in found:
            message.answers.append(Answer(cue, outcome_of(unit)))
        return True


def stream_of(unit: Unit, sender: int) -> str:
    """Which stream of its channel a method is in; of a client all is in one order."""
    if unit.name in ANSWERS:
        return "answers of no message"
    if sender == CLIENT:
        return "methods"
    if unit.name == "basic.deliver" and unit.method is not None:
        return f"deliver {unit.method.get('consumer-tag')}"
    if unit.name in ("basic.return", "channel.flow", "basic.cancel", "channel.close"):
        return unit.name
    return "methods"


def subject_of(unit: Unit) -> str:
    """What a method is about, as people know it."""
    method = unit.method
    if method is None:
        return ""
    for name in ("queue", "routing-key", "exchange", "consumer-tag"):
        if method.get(name):
            return repr(str(method.get(name)))
    return ""


def outcome_of(unit: Unit) -> str:
    """What an acknowledgement or refusal says."""
    method = unit.method
    again = method is not None and method.get("requeue")
    return f"{unit.name}{' requeue' if again and unit.name != 'basic.ack' else ''}"
