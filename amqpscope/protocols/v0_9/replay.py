"""One peer of a recorded conversation of AMQP 0-9, played against a live one.

Channels, delivery-tags, publish numbers, consumer tags and names that a server makes up are those
of the live connection; prefetch, flow and the frame size are obeyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

from amqpscope.protocols.peers import CannotApplyError
from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import DROP, Act, Choices, Cue, Refused
from amqpscope.protocols.replay_origins import Passed
from amqpscope.protocols.v0_9.peers_edit import make_method, rebuild, with_channel
from amqpscope.protocols.v0_9.replay_live import LiveChannel
from amqpscope.protocols.v0_9.replay_names import NAMES, renamed_value
from amqpscope.protocols.v0_9.replay_receive import Receiver
from amqpscope.protocols.v0_9.replay_script import DELIVERS, Channel, Message, Script, Send, Verdict
from amqpscope.protocols.v0_9.replay_setup import Setup
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.notation import write
from dissectors.v0_9.encode import encode_body, encode_content_header, encode_heartbeat
from dissectors.v0_9.framing import Unit, decode_unit, measure
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.values import Table, Value

SHOWN: Final = 80
REPLY_SUCCESS: Final = 200
OVERHEAD: Final = 8
"""Octets of a frame beside its payload."""


class Part09(Part):
    """One side of one conversation."""

    def __init__(
        self,
        dialect: Dialect,
        frames: Sequence[Frame],
        side: int,
        choices: Choices,
        ending: str = "",
    ) -> None:
        super().__init__(frames, side, choices)
        self.dialect = dialect
        self.ending = ending
        """How our own peer ended TCP without a close: `fin` or `rst`; empty if it did not."""
        self.script = Script(self)
        self.set_pauses()
        self.setup = Setup(self)
        self.receiver = Receiver(self)
        self.values: dict[str, str] = {}
        """What is called otherwise now."""
        self.channels: dict[int, LiveChannel] = {}
        self.frame_max = 0
        self.channel_max = 0
        self.heartbeat = 0
        self.blocked = False
        """The live server takes no messages now."""
        self.last_sent = 0.0
        self.note_left_out(self.script.left_out)
        for frame in [] if choices.exact else self.script.left_out:
            self.forgo_error(frame)

    def start(self) -> None:
        """Send what a client begins with; a server waits."""
        self.setup.start()

    def measure(self, data: bytes, at: int) -> int:
        """How many octets the frame has that begins here, or MORE or DAMAGED."""
        return measure(data, at, len(data), self.dialect.heads[0])

    def take(self, raw: bytes) -> None:
        """Take a frame of the live peer: the handshake's, or one that a cue may wait for."""
        unit = decode_unit(raw, self.dialect, None, 0, self.dialect.heads[0])
        if unit.header is not None or not self.ready:
            self.setup.receive(raw, unit)
        elif unit.label != "heartbeat":
            self.receiver.receive(raw, unit)

    @property
    def shown_to_its_end(self) -> bool:
        """The recording shows the conversation to its end."""
        return any(frame.unit.name == "connection.close" for frame in self.frames[-4:])

    def is_moot(self, cue: Cue) -> bool:
        """Whether a cue answers messages of ours that were never sent."""
        asked = cue.about
        return isinstance(asked, list) and not all(message.live_tag for message in asked)

    def is_error(self, frame: Frame) -> bool:
        """Whether a frame closes a channel or the connection, and says what was wrong."""
        method = cast(Unit, frame.unit).method
        closes = frame.unit.name in ("channel.close", "connection.close")
        return closes and method is not None and method.get("reply-code") != REPLY_SUCCESS

    def show(self, raw: bytes) -> str:
        """A frame in notation."""
        return self.mask_notation(write(self.without_secrets(raw), SHOWN, self.dialect.name))

    def recorded(self, frame: Frame) -> tuple[int, str]:
        """The number of a recorded frame, and what it says; of a message all of it."""
        message = self.script.messages.get(frame.number)
        if message is None:
            return super().recorded(frame)
        shown = self.show_message(message.frame.raw, message.header, message.body)
        return message.frame.number, shown

    def show_message(self, raw: bytes, header: Unit | None, body: bytes) -> str:
        """A method with its message in notation."""
        if header is None:
            return self.show(raw)
        frames = [raw]
        with suppress(CannotApplyError):  # a damaged header is not shown
            frames.append(rebuild(header, {}))
        if body:
            frames.append(encode_body(body, header.channel))
        return " | ".join(map(self.show, frames))

    def beat(self, now: float) -> None:
        """Send a heartbeat when nothing was sent for half the time agreed on."""
        if self.out:
            self.last_sent = now
        if not self.heartbeat or not self.ready or self.closed:
            return
        due = self.last_sent + self.heartbeat / 2
        if now >= due:
            self.put(encode_heartbeat(head=self.dialect.heads[0]))
            self.last_sent, due = now, now + self.heartbeat / 2
        self.wake = due if self.wake is None else min(self.wake, due)

    # what allows an act

    def missing_cue(self, act: Act) -> str:
        """What has to come before an act; a reply waits for nothing but its request."""
        about = act.about
        if self.loose and isinstance(about, Send) and about.request is not None:
            asked = about.request
            return "" if asked.left <= 0 else f"{asked.where} (frame {asked.frame.number})"
        if self.loose and act.kind == "connection.close-ok" and self.closes[1]:
            return ""
        return super().missing_cue(act)

    def prerequisite(self, act: Act) -> Cue | None:
        """What a light act waits for in any case: nothing where it answers what has come."""
        return None if isinstance(act.about, Verdict) else self.origin(act)

    def passed(self, about: object) -> Passed | None:
        """What tells a message from others: its body, and its ids."""
        message = about.message if isinstance(about, Send) else about
        if not isinstance(message, Message):
            return None
        content = None if message.header is None else message.header.content
        names = ("message-id", "correlation-id")
        ids = [None if content is None else content.get(name) for name in names]
        refusals = [each.cue for each in message.answers if not each.cue.soft]
        known = tuple(str(each) for each in ids if each)
        return Passed((message.body, str(ids[0])), known, tuple(refusals))

    def obstacle(self, act: Act) -> str:
        """Why the live peer does not allow an act now; empty: it does; DROP: it never will."""
        about = act.about
        if self.closes[1] and act.kind != "connection.close-ok" and not self.choices.exact:
            return DROP
        if isinstance(about, Verdict):
            return self.verdict_obstacle(about)
        if not isinstance(about, Send):
            return ""
        if about.channel is None:
            return self.connection_obstacle(act)
        live = about.channel.live
        if act.kind == "channel.open":
            return ""
        if live is None:
            return unopened_channel(about.channel)
        if about.request is not None and about.request.left > 0:
            return about.request.where
        if about.request is not None and about.request.lost and not self.choices.exact:
            return DROP
        if act.kind == "channel.close-ok":
            return "" if live.closed == [False, True] else DROP
        if not live.usable:
            return DROP
        return self.message_obstacle(about.message, live) if about.message is not None else ""

    def connection_obstacle(self, act: Act) -> str:
        """Of a method of the connection itself."""
        if self.closes[0]:
            return DROP
        if act.kind != "connection.close-ok" or self.closes[1] or self.choices.exact:
            return ""
        close = self.script.close
        return close.where if close is not None and close.left > 0 else DROP

    def message_obstacle(self, message: Message, live: LiveChannel) -> str:
        """Of a message: it was recorded whole, and the live peer takes it."""
        if not message.complete:
            return DROP
        if self.choices.exact:
            return ""
        if live.stopped:
            return f"channel.flow to let messages through on {message.channel.title}"
        if self.side == CLIENT:
            return "connection.unblocked" if self.blocked else ""
        if message.unit.name != "basic.deliver":
            return ""
        tag = self.values.get(message.consumer, message.consumer)
        consumer = live.consumers.get(tag)
        if consumer is None:
            return self.consumer_obstacle(message)
        if consumer.no_ack:
            return ""
        if consumer.limit and len(consumer.unanswered) >= consumer.limit:
            return f"acknowledgements of consumer {tag!r} (prefetch {consumer.limit})"
        if live.shared_limit and live.unanswered >= live.shared_limit:
            return f"acknowledgements on {message.channel.title} (prefetch {live.shared_limit})"
        return ""

    def consumer_obstacle(self, message: Message) -> str:
        """Of a message for a consumer that is not there: it is to come, or is gone."""
        pending = self.lanes.get((message.channel.place, 0), ())
        for act in pending:
            about = act.about
            if act.kind == "basic.consume-ok" and isinstance(about, Send):
                method = about.unit.method
                if method is not None and method.get("consumer-tag") == message.consumer:
                    return f"basic.consume-ok of {message.consumer!r}"
        return DROP

    def verdict_obstacle(self, verdict: Verdict) -> str:
        """Of an acknowledgement: the messages that it speaks of."""
        live = verdict.channel.live
        if live is None:
            return unopened_channel(verdict.channel)
        if not live.usable:
            return DROP
        for message in verdict.messages:
            if not message.live_tag and message.cue is not None and message.cue.left > 0:
                return f"{message.cue.where}"
        if any(message.live_tag in live.received for message in verdict.messages):
            return ""
        return DROP

    def blockers(self, act: Act) -> list[Cue]:
        """The messages that an acknowledgement waits for."""
        about = act.about
        if not isinstance(about, Verdict):
            return []
        cues = [message.cue for message in about.messages if not message.live_tag]
        return [cue for cue in cues if cue is not None and cue.left > 0]

    def divided(self, act: Act) -> tuple[object, object]:
        """An acknowledgement of what has come, and one of what has not."""
        about = act.about
        if not isinstance(about, Verdict) or about.channel.live is None or not self.blockers(act):
            return None, None
        received = about.channel.live.received
        early = [message for message in about.messages if message.live_tag in received]
        late = [message for message in about.messages if not message.live_tag]
        return (
            (about._replace(messages=early), about._replace(messages=late))
            if early
            else (None, None)
        )

    # sending

    def send(self, act: Act) -> bool:
        """Put the octets of an act into `out`; whether that was all of it."""
        about = act.about
        if isinstance(about, Verdict):
            self.send_verdict(about)
        elif isinstance(about, Send) and about.channel is None:
            self.send_connection(about.unit)
        elif isinstance(about, Send) and about.channel is not None:
            self.send_method(about.channel, about.unit, about.message)
        else:
            self.out += act.frame.raw
        return True

    def emit(self, name: str, channel: int = 0, **fields: Value) -> None:
        """Put a method of our own into `out`."""
        self.put(make_method(self.dialect, name, channel, **fields))

    def send_connection(self, unit: Unit) -> None:
        """Send a method of the connection itself."""
        self.put(rebuild(unit, {}))
        if unit.name in ("connection.close", "connection.close-ok"):
            self.closes[0] = True
            if unit.name == "connection.close-ok":
                self.closes[1] = True
                self.over = "fin"

    def send_method(self, channel: Channel, unit: Unit, message: Message | None) -> None:
        """Send a method on a channel, with its message."""
        live = self.open_channel(channel) if unit.name == "channel.open" else channel.live
        assert live is not None
        changes = self.renamed_fields(unit)
        if message is not None and unit.name in DELIVERS:
            changes["delivery-tag"] = live.next_tag
        self.put(with_channel(rebuild(unit, changes), live.number))
        if unit.name == "channel.open":
            channel.live = self.channels[live.number] = live
        if message is not None and message.header is not None:
            self.count(live, message)
            self.send_content(live, message, message.header)
        self.note(live, unit)

    def note(self, live: LiveChannel, unit: Unit) -> None:
        """Remember what a method of ours means for the channel."""
        method = unit.method
        assert method is not None
        if unit.name == "channel.close":
            live.closed[0] = True
        elif unit.name == "channel.close-ok":
            self.channels.pop(live.number, None)
        elif unit.name == "confirm.select" and self.side == CLIENT:
            live.confirms = True
        elif unit.name == "basic.consume-ok" and live.asked:
            tag = str(method.get("consumer-tag") or "")
            live.consumers.setdefault(self.values.get(tag, tag), live.asked.pop(0))
        elif unit.name in ("basic.cancel", "basic.cancel-ok") and self.side == SERVER:
            tag = str(method.get("consumer-tag") or "")
            live.consumers.pop(self.values.get(tag, tag), None)

    def renamed_fields(self, unit: Unit) -> dict[str, Value]:
        """The fields of a method or content header that are called otherwise now."""
        holder = unit.method or unit.content
        if holder is None or not self.values:
            return {}
        found: dict[str, Value] = {}
        for name, value in unit.fields():
            if name in NAMES or isinstance(value, Table):
                now = renamed_value(value, self.values)
                if now != value:
                    found[name] = now
        return found

    def open_channel(self, channel: Channel) -> LiveChannel:
        """A channel under its recorded number, or one that is free."""
        number = channel.number
        limit = self.channel_max or 65535
        if number in self.channels or number > limit:
            free = (each for each in range(1, limit + 1) if each not in self.channels)
            number = next(free, number)
        return LiveChannel(number, channel)

    def count(self, live: LiveChannel, message: Message) -> None:
        """Give a message of ours its live number."""
        self.messages[self.side] += 1
        name = message.unit.name
        if name == "basic.publish" and live.confirms:
            live.published += 1
            message.live_tag = live.published
            live.sent[message.live_tag] = message
        if name not in DELIVERS:
            return
        message.live_tag = live.next_tag
        live.next_tag += 1
        live.sent[message.live_tag] = message
        tag = self.values.get(message.consumer, message.consumer)
        consumer = live.consumers.get(tag)
        if consumer is not None and not consumer.no_ack:
            consumer.unanswered.add(message.live_tag)

    def send_content(self, live: LiveChannel, message: Message, header: Unit) -> None:
        """Send the header and body of a message, cut to the frame size agreed on."""
        try:
            self.put(with_channel(rebuild(header, self.renamed_fields(header)), live.number))
        except Refused as refused:
            name = message.unit.name.partition(".")[0]
            size = sum(map(len, message.parts))
            plain = encode_content_header(
                self.dialect, name, size, {}, live.number, head=self.dialect.heads[0]
            )
            self.put(plain)
            self.add_note(f"frame {message.frame.number} is sent without properties: {refused}")
        for part in message.parts:
            room = (self.frame_max or len(part) + OVERHEAD) - OVERHEAD
            for at in range(0, len(part), max(1, room)):
                piece = part[at : at + max(1, room)]
                self.put(encode_body(piece, live.number, head=self.dialect.heads[0]))

    def send_verdict(self, verdict: Verdict) -> None:
        """Answer the messages of a recorded acknowledgement, under their numbers now."""
        live, unit = verdict.channel.live, verdict.unit
        assert live is not None
        method = unit.method
        assert method is not None
        tags = sorted(
            message.live_tag for message in verdict.messages if message.live_tag in live.received
        )
        if not tags:
            return
        for message in verdict.messages:
            message.verdict = unit
        together = [tag for tag in live.received if tag <= tags[-1]]
        if method.get("multiple") and len(together) == len(tags):
            self.put(with_channel(rebuild(unit, {"delivery-tag": tags[-1]}), live.number))
        else:
            single: dict[str, Value] = {}
            if "multiple" in method.plan.place:
                single["multiple"] = False
            for tag in tags:
                octets = rebuild(unit, {**single, "delivery-tag": tag})
                self.put(with_channel(octets, live.number))
        for tag in tags:
            live.received.pop(tag, None)

    # politeness

    def settle_down(self, now: float) -> None:
        """Answer what the script does not, and end where it ends."""
        for live in list(self.channels.values()):
            if self.closes[0]:
                break
            if live.closed == [False, True] and not (
                live.script and self.has_act("channel.close-ok", live.script)
            ):
                self.emit("channel.close-ok", live.number)
                self.channels.pop(live.number, None)
        if self.closes == [False, True]:
            self.unsent += sum(map(len, self.lanes.values()))
            self.lanes.clear()
            self.emit("connection.close-ok")
            self.closes[0] = True
            self.over = "fin"
        if self.lanes or self.closes[0] or self.first_missing() is not None:
            return
        if self.ending:
            self.over = self.ending
        elif self.side == CLIENT:
            self.finish_politely()

    def has_act(self, kind: str, channel: Channel | None = None) -> bool:
        """Whether the script is about to send such a method, on a channel or on the connection."""
        return any(
            act.kind == kind and isinstance(act.about, Send) and act.about.channel is channel
            for acts in self.lanes.values()
            for act in acts
        )

    def finish_politely(self) -> None:
        """Close the connection."""
        if self.ready and not self.closes[0]:
            self.closes[0] = True
            self.emit("connection.close", reply_code=200, reply_text="the recording ends")


def unopened_channel(channel: Channel) -> str:
    """What waits for a channel that is not open; it is dropped where that will not come."""
    opens = channel.opens
    return opens.where if opens is not None and opens.left > 0 else DROP
