"""What a live peer of AMQP 0-9 sends, matched with the script.

What comes in addition is reported, and answered so that its sender can go on: a request by its
plainest reply, a message by a refusal, a close by its close-ok.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from amqpscope.protocols.v0_9.peers_edit import rebuild, with_channel
from amqpscope.protocols.v0_9.replay_comparison import Comparison
from amqpscope.protocols.v0_9.replay_live import Coming, Consumer, LiveChannel
from amqpscope.protocols.v0_9.replay_politeness import Politeness
from amqpscope.protocols.v0_9.replay_script import (
    ANSWERS,
    Channel,
    Expected,
    Message,
    outcome_of,
    stream_of,
)
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.values import Value

if TYPE_CHECKING:
    from amqpscope.protocols.v0_9.replay import Part09

MOST_KINDS: Final = 2
"""Kinds of methods that one change of a program leaves out."""
UPDATE: Final = "connection.update-secret"
NEAR: Final = 16
"""Recorded methods ahead among which one is looked for that does not come in its turn."""
LEARNED: Final = ("queue", "consumer-tag")
"""Names that a peer makes up."""
LEARNED_PROPERTIES: Final = ("message-id", "correlation-id", "reply-to")


class Receiver:
    """Takes the frames of one connection."""

    def __init__(self, part: Part09) -> None:
        self.part = part
        self.script = part.script
        self.politeness = Politeness(self)
        self.comparison = Comparison(self)
        self.changed: dict[int, Expected | None] = {}
        """The newest method of each channel, where it was not as recorded."""

    def receive(self, raw: bytes, unit: Unit) -> None:
        """Take the next frame."""
        part = self.part
        part.moves += 1
        if unit.faults:
            part.diverge("extra", None, "a frame that cannot be read", part.show(raw))
        elif unit.channel == 0:
            self.connection(raw, unit)
        elif unit.name == "channel.open":
            self.open(raw, unit)
        else:
            live = part.channels.get(unit.channel)
            if live is None:
                part.diverge("extra", None, f"{unit.name} on a closed channel", part.show(raw))
            elif unit.label == "method":
                self.method(raw, unit, live)
            else:
                self.content(raw, unit, live)

    # the connection and its channels

    def connection(self, raw: bytes, unit: Unit) -> None:
        """A method of the connection itself."""
        part, cue = self.part, self.script.close
        if unit.name == "connection.close":
            part.closes[1] = True
            unexpected = False
            if cue is None or cue.frame.unit.name != unit.name:
                if part.shown_to_its_end or part.side == CLIENT:
                    unexpected = True
                    part.diverge("extra", None, unit.name, part.show(raw))
            elif cue.left > 0:
                recorded = Expected(cue, _unit(cue.frame.unit), None)
                unexpected = self.comparison.compare(recorded, raw, unit)
                part.meet(cue)
            if cue is not None:
                part.abandon(part.cues[cue.turn :], crossed=True)  # 1.1.1.10: it does not count
            part.abandon(part.cues, part.show(raw), crossed=part.closes[0] or unexpected)
            if part.closes[0]:
                part.emit("connection.close-ok")
                part.over = "fin"
        elif unit.name == "connection.close-ok":
            part.closes[1] = True
            if cue is not None:
                part.meet(cue)
            part.abandon(part.cues, crossed=True)
            part.over = "fin"
        elif unit.name in ("connection.blocked", "connection.unblocked"):
            part.blocked = unit.name == "connection.blocked"
        elif unit.name == UPDATE and not part.has_act(f"{UPDATE}-ok"):
            part.emit(f"{UPDATE}-ok")

    def open(self, raw: bytes, unit: Unit) -> None:
        """The live client opens a channel."""
        part = self.part
        channel = next(
            (each for each in self.script.channels if each.live is None and each.opens), None
        )
        live = part.channels[unit.channel] = LiveChannel(unit.channel, channel)
        if channel is None or channel.opens is None:
            part.diverge("extra", None, "channel.open", part.show(raw))
            part.emit("channel.open-ok", unit.channel)
            return
        channel.live = live
        stream = channel.stream("methods")
        if stream and stream[0].cue is channel.opens:
            stream.popleft()
        part.meet(channel.opens)

    def method(self, raw: bytes, unit: Unit, live: LiveChannel) -> None:
        """A method on a channel."""
        part, method = self.part, unit.method
        if method is None:
            part.diverge("extra", None, unit.name, part.show(raw))
            return
        if live.closed[0] and unit.name not in ("channel.close", "channel.close-ok"):
            return  # 1.5.2.5: after a close nothing counts but its answer
        self.note(unit, live, method)
        if unit.name in ANSWERS:
            self.answer(raw, unit, live, method)
        elif method.plan.content:
            live.coming = Coming(raw, unit)
        elif unit.name == "channel.close-ok":
            self.close_channel(raw, unit, live, crossed=True)
            part.channels.pop(unit.channel, None)
        elif unit.name == "channel.close":
            live.closed[1] = True
            self.match(raw, unit, live, None)
            self.close_channel(raw, unit, live, crossed=live.closed[0])
        else:
            self.match(raw, unit, live, None)

    def close_channel(self, raw: bytes, unit: Unit, live: LiveChannel, *, crossed: bool) -> None:
        """Nothing more is expected on a channel."""
        channel, part = live.script, self.part
        if channel is None:
            return
        if unit.name == "channel.close-ok":
            stream = channel.stream("methods")
            for expected in stream:
                if expected.unit.name == unit.name:
                    part.meet(expected.cue)
        cues = [expected.cue for stream in channel.expected.values() for expected in stream]
        for message in live.sent.values():
            cues.extend(answer.cue for answer in message.answers)
        part.abandon(sorted(cues, key=lambda cue: cue.turn), part.show(raw), crossed=crossed)
        for stream in channel.expected.values():
            stream.clear()

    def note(self, unit: Unit, live: LiveChannel, method: Method) -> None:
        """Remember what a method of the live peer means for the channel."""
        name = unit.name
        if name == "basic.qos":
            limit = int(method.get("prefetch-count") or 0)
            if method.get("global"):
                live.shared_limit = limit
            else:
                live.limit = limit
        elif name == "basic.consume":
            consumer = Consumer(live.limit, no_ack=bool(method.get("no-ack")))
            tag = str(method.get("consumer-tag") or "")
            if tag:
                live.consumers[tag] = consumer
            else:
                live.asked.append(consumer)
        elif name == "basic.cancel" and self.part.side == SERVER:
            live.consumers.pop(str(method.get("consumer-tag") or ""), None)
        elif name == "confirm.select":
            live.confirms = True
        elif name == "channel.flow":
            live.stopped = not method.get("active")
            if not self.part.has_act("channel.flow-ok", live.script):
                self.part.emit("channel.flow-ok", live.number, active=bool(method.get("active")))
        elif name == "basic.recover":
            for consumer in live.consumers.values():
                consumer.unanswered.clear()

    # matching

    def match(self, raw: bytes, unit: Unit, live: LiveChannel, coming: Coming | None) -> None:
        """Match a method, with its message, with what was recorded on the channel."""
        part, channel = self.part, live.script
        if channel is None:
            self.politeness.be_polite(raw, unit, live, coming, report=False)
            return
        stream = channel.stream(self.stream_now(unit, channel))
        if self.is_late(channel, stream, unit, coming):
            return
        at = self.find(stream, unit, coming)
        if at is None:
            if unit.name == "channel.flow":
                return
            self.politeness.be_polite(raw, unit, live, coming, report=not channel.mended)
            return
        for _ in range(at):
            part.miss(stream.popleft().cue, self.comparison.shown(raw, coming))
        expected = stream.popleft()
        differs = self.comparison.compare(expected, raw, unit, coming)
        self.changed[channel.place] = expected if differs else None
        self.learn(expected, unit, coming)
        self.number(live, unit, coming, expected.message)
        part.meet(expected.cue)
        if part.side == SERVER and coming is not None and live.confirms and not channel.confirms:
            # The recorded client did not ask for it: nothing in the script confirms this message.
            live.received.pop(live.published, None)
            part.emit("basic.ack", live.number, delivery_tag=live.published)

    def is_late(
        self, channel: Channel, stream: deque[Expected], unit: Unit, coming: Coming | None
    ) -> bool:
        """Whether this is what was expected before, so that what came then was an addition."""
        before = self.changed.get(channel.place)
        if before is None or before.unit.name != unit.name:
            return False
        if self.comparison.contrast(before, unit, coming):
            return False
        if stream and not self.comparison.contrast(stream[0], unit, coming):
            return False
        self.changed[channel.place] = None
        live, message = channel.live, before.message
        if live is None or message is None:
            return True
        instead = message.live_tag
        self.number(live, unit, coming, message)
        if instead in live.received and instead != message.live_tag:
            self.politeness.refuse_publish(live, instead)
        elif message.verdict is not None and message.live_tag in live.received:
            live.received.pop(message.live_tag)
            changes: dict[str, Value] = {"delivery-tag": message.live_tag}
            self.part.put(with_channel(rebuild(message.verdict, changes), live.number))
        return True

    def stream_now(self, unit: Unit, channel: Channel) -> str:
        """The recorded stream that a live method is in."""
        method = unit.method
        if self.part.side == CLIENT and unit.name == "basic.deliver" and method is not None:
            tag = method.get("consumer-tag")
            for recorded in channel.consumers:
                if self.part.values.get(recorded, recorded) == tag:
                    return f"deliver {recorded}"
        return stream_of(unit, 1 - self.part.side)

    def find(self, stream: deque[Expected], unit: Unit, coming: Coming | None) -> int | None:
        """Which of the expected methods this is: the very same soon, or the next of its name."""
        near = [stream[at] for at in range(min(NEAR, len(stream)))]
        alike = [at for at, each in enumerate(near) if each.unit.name == unit.name]
        for at in alike:
            if not self.comparison.contrast(near[at], unit, coming) and self.may_skip(near[:at]):
                return at
        if alike and alike[0] == 0:
            return 0
        return alike[0] if alike and self.may_skip(near[: alike[0]]) else None

    def may_skip(self, skipped: list[Expected]) -> bool:
        """Whether a program leaves out just this, rather than doing something in addition."""
        return len({each.unit.name for each in skipped}) <= MOST_KINDS

    def learn(self, expected: Expected, unit: Unit, coming: Coming | None) -> None:
        """Remember what names are called now, be they made by the peer or changed."""
        old, new = expected.unit.method, unit.method
        pairs: list[tuple[Value, Value]] = []
        if old is not None and new is not None:
            pairs += [(old.get(name), new.get(name)) for name in LEARNED]
            if unit.name in ("exchange.declare", "exchange.delete"):
                pairs.append((old.get("exchange"), new.get("exchange")))
        recorded = None if expected.message is None else expected.message.header
        live = None if coming is None else coming.header
        if recorded is not None and live is not None and recorded.content and live.content:
            one, other = recorded.content, live.content
            pairs += [(one.get(name), other.get(name)) for name in LEARNED_PROPERTIES]
        for before, now in pairs:
            if isinstance(before, str) and isinstance(now, str) and before and before != now:
                self.part.values[before] = now

    def number(
        self, live: LiveChannel, unit: Unit, coming: Coming | None, message: Message | None
    ) -> None:
        """Give a message of the live peer the number that answers to it have."""
        if coming is None:
            return
        self.part.messages[1 - self.part.side] += 1
        tag = self.live_number(live, unit)
        if tag:
            live.received[tag] = message
            if message is not None:
                message.live_tag = tag

    def live_number(self, live: LiveChannel, unit: Unit) -> int:
        """The number of a live message; 0 where it has none."""
        if unit.name == "basic.publish":
            if not live.confirms:
                return 0
            live.published += 1
            return live.published
        return int(unit.method.get("delivery-tag") or 0) if unit.method is not None else 0

    # messages

    def content(self, raw: bytes, unit: Unit, live: LiveChannel) -> None:
        """A content header or body."""
        coming = live.coming
        if coming is None or live.closed[0]:
            return
        if unit.content is not None:
            coming.header, coming.left = unit, unit.content.body_size
        elif unit.label == "content-body":
            coming.parts.append(raw[unit.head : -1])
            coming.left -= unit.body_size
        if coming.left <= 0 and coming.header is not None:
            live.coming = None
            self.match(coming.raw, coming.unit, live, coming)

    def answer(self, raw: bytes, unit: Unit, live: LiveChannel, method: Method) -> None:
        """Match the answers to messages of ours."""
        part = self.part
        tag, multiple = int(method.get("delivery-tag") or 0), bool(method.get("multiple"))
        tags = [each for each in live.sent if not tag or each <= tag] if multiple else [tag]
        found = 0
        for each in tags:
            message = live.sent.pop(each, None)
            live.settle(each)
            if message is None:
                continue
            found += 1
            if not message.answers:
                if part.shown_to_its_end and part.side == SERVER:
                    where = f"{unit.name} on {message.channel.title}"
                    part.diverge("extra", None, where, part.show(raw))
                continue
            expected = message.answers.popleft()
            seen = outcome_of(unit)
            if expected.outcome != seen and expected.cue.left > 0:
                fields = part.differences({"answer": expected.outcome}, {"answer": seen})
                cue = expected.cue
                part.diverge("changed", cue.frame, cue.where, part.show(raw), fields)
            part.meet(expected.cue)
        if not found:
            self.match(raw, unit, live, None)

    # politeness


def _unit(unit: object) -> Unit:
    assert isinstance(unit, Unit)
    return unit
