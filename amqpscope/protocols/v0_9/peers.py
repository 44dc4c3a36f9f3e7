"""AMQP 0-9-1 and its elders as both peers see it, when the proxy takes messages out or in."""

from __future__ import annotations

from typing import Final, cast

from amqpscope.protocols.peers import Action, CannotApplyError, Output, PeerView, Written
from amqpscope.protocols.v0_9.framer import DialectGuess
from amqpscope.protocols.v0_9.peers_channels import Channel, Content, owner_of_answer
from amqpscope.protocols.v0_9.peers_edit import make_method, read_settings, rebuild, with_channel
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.notation_scanner import NotationError
from dissectors.v0_9.framing import Unit, decode_unit
from dissectors.v0_9.values import Value

ANSWERS: Final = frozenset(("basic.ack", "basic.nack", "basic.reject"))
REQUEUED: Final = frozenset(("release", "modify"))
CONNECTION: Final = 0
"""The channel of the connection itself."""
TEXT: Final = "a fault of amqpscope proxy"


class Peers(PeerView):
    """Both peers of one connection."""

    def __init__(self, spoken: DialectGuess) -> None:
        self.spoken = spoken
        self.channels: dict[int, Channel] = {}
        self.gone = [False, False]
        """Which peers the proxy has sent a connection.close, and has not been answered by."""
        self.closed = False
        self.opened = False
        self.heartbeat = 0
        """Seconds, as the client has settled on them."""

    @property
    def dialect(self) -> str:
        """The dialect of frames that do not name their own."""
        return self.spoken.dialect.name

    @property
    def is_over(self) -> bool:
        """Whether a connection that the proxy closed has been closed by both peers."""
        return self.closed and not any(self.gone)

    @property
    def is_open(self) -> bool:
        """Whether both peers have opened the connection."""
        return self.opened

    def patience_of(self, side: int) -> tuple[float, str]:
        """After how many seconds of silence a peer may close, and what says so; 0: never."""
        return self.heartbeat, "heartbeat"

    def method(self, name: str, channel: int, **fields: Value) -> bytes:
        """A method of our own."""
        return make_method(self.spoken.dialect, name, channel, **fields)

    def channel(self, number: int) -> Channel:
        """A channel, known from its first frame on."""
        return self.channels.setdefault(number, Channel())

    # Frames that pass

    def translate(self, frame: Frame) -> list[Output]:
        """What is sent in the place of a frame that passes."""
        side, unit = frame.sender, cast(Unit, frame.unit)
        if self.closed:
            return self.pass_closed(side, unit)
        if unit.channel == CONNECTION or unit.header is not None or unit.faults:
            self.meet_connection_frame(unit)
            return [Output(1 - side, frame.raw)]
        channel = self.channel(unit.channel)
        if channel.gone[side]:
            return self.pass_closing(channel, side, unit)
        if channel.gone[1 - side]:
            # Its peer does not know that it may go on: a real one would have waited for that.
            channel.parked.append(frame)
            return []
        if unit.label != "method":
            return self.pass_content(channel, side, frame, unit)
        return self.pass_method(channel, side, frame, unit)

    def pass_closed(self, side: int, unit: Unit) -> list[Output]:
        """A frame on a connection that the proxy has closed: only the answer is of interest."""
        if unit.name not in ("connection.close", "connection.close-ok"):
            return []
        self.gone[side] = False
        if unit.name == "connection.close-ok":
            return []
        return [Output(side, self.method("connection.close-ok", CONNECTION), forged=True)]

    def meet_connection_frame(self, unit: Unit) -> None:
        """A frame that belongs to no channel."""
        if unit.name == "connection.open-ok":
            self.opened = True
        elif unit.name == "connection.tune-ok" and unit.method is not None and not unit.faults:
            self.heartbeat = int(unit.method.get("heartbeat") or 0)

    def pass_closing(self, channel: Channel, side: int, unit: Unit) -> list[Output]:
        """A frame on a channel that the proxy has closed: only the answer is of interest."""
        outputs = []
        if unit.name == "channel.close":
            octets = self.method("channel.close-ok", unit.channel)
            outputs = [Output(side, octets, forged=True)]
        if unit.name in ("channel.close", "channel.close-ok"):
            channel.gone[side] = False
            parked, channel.parked = channel.parked, []
            for frame in parked:
                outputs += self.translate(frame)
        return outputs

    def pass_method(self, channel: Channel, side: int, frame: Frame, unit: Unit) -> list[Output]:
        """A method on a channel that both peers may use."""
        name, method = unit.name, unit.method
        passed = [Output(1 - side, frame.raw)]
        if method is None:
            return passed
        if method.plan.content:
            return self.begin_content(channel, side, frame, unit)
        if name in ANSWERS:
            return self.answer(channel, side, frame, unit)
        if name in ("channel.open", "channel.close-ok"):
            gone = self.channels[unit.channel].gone
            self.channels[unit.channel] = Channel()
            self.channels[unit.channel].gone = gone
        elif name == "confirm.select":
            channel.confirms = True
        elif name == "basic.consume":
            unacknowledged = bool(method.get("no-ack"))
            if method.get("consumer-tag"):
                channel.unacknowledged[str(method.get("consumer-tag"))] = unacknowledged
            else:
                channel.asked.append(unacknowledged)
        elif name == "basic.consume-ok":
            tag = str(method.get("consumer-tag"))
            if tag not in channel.unacknowledged and channel.asked:
                channel.unacknowledged[tag] = channel.asked.pop(0)
        elif name == "basic.get":
            channel.get_unacknowledged = bool(method.get("no-ack"))
        elif name in ("basic.recover", "basic.recover-async"):
            channel.unsettled[SERVER].clear()
        return passed

    def begin_content(self, channel: Channel, side: int, frame: Frame, unit: Unit) -> list[Output]:
        """A method that a content follows: renumber it, unless its message is withheld."""
        method = unit.method
        assert method is not None
        number = 0
        if unit.name == "basic.publish" and channel.confirms:
            channel.published += 1
            number = channel.published
        elif unit.name in ("basic.deliver", "basic.get-ok"):
            number = channel.tag = int(method.get("delivery-tag") or 0)
        before = channel.contents[side]
        content = channel.contents[side] = Content(unit, number)
        if before is not None and before.left is None and before.unit is unit:
            # A fault has decided on it already.
            content = channel.contents[side] = before
            content.number = number
        elif str(method.get("consumer-tag")) in channel.cancelled and unit.name == "basic.deliver":
            content.withheld, content.answer = True, Action("release")
        if content.withheld:
            if number:
                channel.maps[side].hide(number)
            return []
        if number and channel.needs_answer(unit):
            channel.remember(side, number)
        if side == CLIENT or not number or channel.maps[side].trivial:
            return [Output(1 - side, frame.raw)]
        seen = channel.maps[side].to_receiver(number)
        return [Output(1 - side, rebuild(unit, {"delivery-tag": seen or number}))]

    def pass_content(self, channel: Channel, side: int, frame: Frame, unit: Unit) -> list[Output]:
        """A content header or body."""
        content = channel.contents[side]
        passed = [Output(1 - side, frame.raw)]
        if content is None or unit.label not in ("content-header", "content-body"):
            return passed
        if unit.content is not None:
            content.left = unit.content.body_size
        elif content.left is not None:
            content.left -= unit.body_size
        if content.kept:
            content.frames.append(frame.raw)
        outputs = [] if content.withheld else passed
        if content.left is not None and content.left <= 0:
            channel.contents[side] = None
            outputs += self.finish_content(channel, side, unit.channel, content)
            outputs += channel.later[side]
            channel.later[side] = []
            if channel.closing is not None and channel.contents == [None, None]:
                outputs += self.close_channel(channel, unit.channel, channel.closing)
        return outputs

    def finish_content(
        self, channel: Channel, side: int, number: int, content: Content
    ) -> list[Output]:
        """A message is whole: answer it or pass it on again, where a fault asks for that."""
        if content.copied:
            return self.copy_content(channel, side, content)
        if content.answer is None:
            return []
        outputs = []
        if content.answer.kind == "return":
            outputs = self.return_content(side, number, content)
        if content.number and channel.needs_answer(content.unit):
            outputs.append(self.answer_content(side, number, content, content.answer))
        return outputs

    def answer_content(self, side: int, number: int, content: Content, action: Action) -> Output:
        """An acknowledgement in the place of who should have got a message."""
        if action.kind in ("accept", "return"):
            octets = self.method("basic.ack", number, delivery_tag=content.number)
        else:
            requeue = action.kind in REQUEUED or action.values.get("requeue") == "true"
            name = "basic.nack" if "basic.nack" in self.spoken.dialect.by_name else "basic.reject"
            again = requeue and side == SERVER
            octets = self.method(name, number, delivery_tag=content.number, requeue=again)
        return Output(side, octets, forged=True)

    def return_content(self, side: int, number: int, content: Content) -> list[Output]:
        """A message handed back to who published it."""
        values = content.answer.values if content.answer is not None else {}
        method = content.unit.method
        assert method is not None
        returned = self.method(
            "basic.return",
            number,
            reply_code=int(values.get("code", "312")),
            reply_text=values.get("text", "NO_ROUTE"),
            exchange=method.get("exchange"),
            routing_key=method.get("routing-key"),
        )
        return [Output(side, octets, forged=True) for octets in (returned, *content.frames)]

    def copy_content(self, channel: Channel, side: int, content: Content) -> list[Output]:
        """A message once more, as one of our own."""
        unit = content.unit
        method = rebuild(unit, {})
        if content.number:
            seen = channel.maps[side].insert(channel.next_number(side))
            if side == SERVER:
                method = rebuild(unit, {"delivery-tag": seen})
        return [Output(1 - side, octets, forged=True) for octets in (method, *content.frames)]

    def answer(self, channel: Channel, side: int, frame: Frame, unit: Unit) -> list[Output]:
        """Translate the messages of an acknowledgement; without those that one peer never saw."""
        method = unit.method
        assert method is not None
        owner = owner_of_answer(side)
        tag, multiple = int(method.get("delivery-tag") or 0), bool(method.get("multiple"))
        covered = channel.settle_covered(owner, tag, multiple)
        if channel.maps[owner].trivial:
            return [Output(1 - side, frame.raw)]
        changes: dict[str, Value] = {"multiple": False} if "multiple" in method.plan.place else {}
        return [
            Output(1 - side, rebuild(unit, {**changes, "delivery-tag": number}))
            for number in covered
        ]

    # What faults do

    def message_of(self, frame: Frame, what: str) -> tuple[Channel, Unit]:
        """The channel of a method that a content follows, of which nothing has passed."""
        unit = cast(Unit, frame.unit)
        if unit.label in ("content-header", "content-body"):
            raise CannotApplyError(f"{what} must match the method, whose frame has passed already")
        if unit.method is None or not unit.method.plan.content or unit.faults:
            raise CannotApplyError(f"{what} is for a message, and this frame is part of none")
        return self.channel(unit.channel), unit

    def withhold(self, frame: Frame) -> list[Output]:
        """Do not pass a frame on; of a method with a content, nothing of the message."""
        unit = cast(Unit, frame.unit)
        if unit.method is not None and unit.method.plan.content and not unit.faults:
            return self.decide(frame, "drop", None, withheld=True)
        return [each for each in self.translate(frame) if each.forged]

    def decide(
        self, frame: Frame, what: str, answer: Action | None, *, withheld: bool = False
    ) -> list[Output]:
        """Decide on a message whose method has come."""
        channel, unit = self.message_of(frame, what)
        content = channel.contents[frame.sender] = Content(unit, 0)
        content.withheld, content.answer = withheld, answer
        content.copied = what == "duplicate"
        return self.translate(frame)

    def duplicate(self, frame: Frame) -> list[Output]:
        """Pass a frame on twice; of a method with a content, the message."""
        unit = cast(Unit, frame.unit)
        if unit.method is not None and unit.method.plan.content and not unit.faults:
            return self.decide(frame, "duplicate", None)
        return super().duplicate(frame)

    def settle(self, frame: Frame, action: Action) -> list[Output]:
        """Answer a message in the place of who should have got it."""
        _, unit = self.message_of(frame, action.kind)
        if unit.name not in ("basic.publish", "basic.deliver", "basic.get-ok"):
            raise CannotApplyError(f"nobody answers a {unit.name}")
        if action.kind == "return" and unit.name != "basic.publish":
            raise CannotApplyError("return is for a basic.publish")
        outputs = self.decide(frame, action.kind, action, withheld=True)
        if unit.name == "basic.get-ok":
            # Who asked for a message waits for an answer.
            empty = self.method("basic.get-empty", unit.channel)
            outputs.append(Output(1 - frame.sender, empty, forged=True))
        return outputs

    def change(self, frame: Frame, notation: str) -> list[Output]:
        """Pass a frame on with other values in its fields."""
        unit = cast(Unit, frame.unit)
        fields = unit.method.plan.row.fields if unit.method is not None else ()
        if unit.content is not None and unit.content.plan is not None:
            fields = unit.content.plan.row.properties
        try:
            changes = read_settings(notation, fields)
        except NotationError as error:
            raise CannotApplyError(f"{error.reason} of {unit.name}") from error
        rebuild(unit, changes)  # fails before anything is counted
        outputs = []
        for output in self.translate(frame):
            if not output.forged:
                made = decode_unit(output.octets, self.spoken.dialect, None, 0, unit.head)
                output = Output(output.to, rebuild(made, changes), forged=True)
            outputs.append(output)
        return outputs

    def merge(self, frame: Frame, passed: Output, edited: bytes) -> bytes:
        """An edited frame, with the numbers that the frame itself would have been passed with."""
        head = frame.unit.head
        made, wanted = (
            decode_unit(octets, self.spoken.dialect, None, 0, head)
            for octets in (passed.octets, edited)
        )
        sent = cast(Unit, frame.unit).method
        if sent is None or made.method is None or wanted.method is None or wanted.faults:
            return edited
        if sent.plan is not wanted.method.plan:
            return edited
        kept = {
            name: made.method.get(name)
            for name in sent.plan.names
            if made.method.get(name) != sent.get(name) == wanted.method.get(name)
        }
        return rebuild(wanted, kept) if kept else edited

    def write(self, frame: Frame, written: Written, to: int) -> list[Output]:
        """Put in a frame; its channel and delivery-tag default to what is right there."""
        if written.family != "v0_9" and written.name != "octets":
            raise CannotApplyError(f"{written.name} is no frame of {self.dialect}")
        raw, speaker = written.octets, 1 - to
        if written.name == "octets":
            return [Output(to, raw, forged=True)]
        unit = decode_unit(raw, self.spoken.dialect, None, 0, self.spoken.dialect.heads[0])
        connection = unit.name.startswith("connection.") or unit.name == "heartbeat"
        if not written.channelled and not connection:
            raw = with_channel(raw, frame.unit.channel)
            unit = decode_unit(raw, self.spoken.dialect, None, 0, self.spoken.dialect.heads[0])
        if connection:
            return [Output(to, raw, forged=True)]
        channel = self.channel(unit.channel)
        tagged = unit.name in ("basic.deliver", "basic.get-ok") and unit.method is not None
        if tagged and unit.method is not None and not unit.method.get("delivery-tag"):
            seen = channel.maps[SERVER].insert(channel.next_number(SERVER))
            raw = rebuild(unit, {"delivery-tag": seen})
        elif unit.name == "basic.publish" and channel.confirms:
            channel.maps[CLIENT].insert(channel.next_number(CLIENT))
        output = Output(to, raw, forged=True)
        content = channel.contents[speaker]
        if content is not None and not content.withheld:
            # Between a method and its content nothing else may come.
            channel.later[speaker].append(output)
            return []
        return [output]

    def end(self, frame: Frame, action: Action) -> list[Output]:
        """Pass a frame on, then end its consumer, channel or connection for both peers."""
        number = frame.unit.channel
        if action.kind == "close":
            if self.closed:
                raise CannotApplyError("the connection is closed already")
            passed = self.translate(frame)
            self.closed, self.gone = True, [True, True]
            return [*passed, *self.close(action, "connection.close", CONNECTION, 320)]
        if number == CONNECTION:
            raise CannotApplyError(f"{action.kind}: this frame belongs to no channel")
        channel = self.channel(number)
        if any(channel.gone):
            raise CannotApplyError(f"{action.kind}: the channel is closed already")
        if action.kind in ("detach", "cancel"):
            return self.cancel(frame, channel, number)
        passed = self.translate(frame)
        channel = self.channel(number)
        if any(content is not None and not content.withheld for content in channel.contents):
            # Between a method and its content nothing else may come.
            channel.closing = action
            return passed
        return [*passed, *self.close_channel(channel, number, action)]

    def close_channel(self, channel: Channel, number: int, action: Action) -> list[Output]:
        """Close a channel for both peers."""
        channel.closing, channel.gone = None, [True, True]
        channel.contents = [None, None]
        return self.close(action, "channel.close", number, 406)

    def close(self, action: Action, name: str, number: int, code: int) -> list[Output]:
        """A close to both peers."""
        values = action.values
        text = values.get("text") or values.get("description") or values.get("condition") or TEXT
        octets = self.method(
            name, number, reply_code=int(values.get("code", code)), reply_text=text[:255]
        )
        return [Output(side, octets, forged=True) for side in (CLIENT, SERVER)]

    def cancel(self, frame: Frame, channel: Channel, number: int) -> list[Output]:
        """Cancel a consumer for both peers; what still comes for it goes back to its queue."""
        unit = cast(Unit, frame.unit)
        tag = None if unit.method is None else unit.method.get("consumer-tag")
        if not tag:
            raise CannotApplyError("cancel: this frame names no consumer")
        passed = self.translate(frame)
        channel.cancelled.add(str(tag))
        octets = self.method("basic.cancel", number, consumer_tag=tag, no_wait=True)
        outputs = [Output(SERVER, octets, forged=True)]
        content = channel.contents[SERVER]
        if content is not None and not content.withheld:
            channel.later[SERVER].append(Output(CLIENT, octets, forged=True))
        else:
            outputs.append(Output(CLIENT, octets, forged=True))
        return [*passed, *outputs]
