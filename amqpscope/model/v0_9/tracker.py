"""Follows a connection of 0-9: places each frame (`locate`), and applies it (`apply`).

Between the two the rules look at the event, with all state as it was before the frame. `apply` is
total: any frame in any state is taken without raising, and after a violation the most likely
state is assumed, so that one fault is not reported over and over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.knowledge import EVERYTHING, GRACE
from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9 import contents, handshake, messages, replies
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9 import roles as acts
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.channels import channel_of, close_ok, closes, open_channel, place_end
from amqpscope.model.v0_9.connection import Connection, ConnectionEnd, Silence
from amqpscope.model.v0_9.content import Content
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.methods import METHODS
from amqpscope.model.v0_9.odd_tables import looks
from amqpscope.model.v0_9.odd_values import odd_properties, odd_values
from amqpscope.model.v0_9.roles import Role, roles
from amqpscope.stream.types import BEYOND
from dissectors.v0_9.codec import Method
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.framing import BODY, HEADER, METHOD, OOB_METHOD, REQUEST, RESPONSE, Unit
from dissectors.v0_9.plans import Dialect, Plan

if TYPE_CHECKING:
    from amqpscope.stream.framer import Frame

FOR_METHODS: Final = frozenset((METHOD, REQUEST, RESPONSE))
"""Types of frames with methods in them."""
TICK: Final = 1_000_000_000
"""Nanoseconds of a connection's time after which what should have followed is looked for."""


class Tracker:
    """The model of one connection."""

    def __init__(self, anchored: bool, spoken: Dialect) -> None:
        self.connection = Connection(anchored, spoken)
        self.roles = roles(spoken.name)
        self.others: dict[Plan, Role] = {}
        """The roles of methods that were read by another dialect's fields."""
        self.look = looks(spoken.name)
        self.ticked = 0

    def heard(self, peer: int, time: int, stop: int) -> None:
        """Octets of a peer pass, up to `stop`, whether or not they complete a frame."""
        end = self.connection.ends[peer]
        end.seen = max(end.seen, stop)
        if end.heard and time - end.heard >= TICK:
            silence = Silence(end.heard, time, end.last_mark)
            if end.silence is None or silence.duration > end.silence.duration:
                end.silence = silence
        end.heard = time

    # placing

    def locate(self, frame: Frame, unit: Unit) -> Event:
        """Where a frame belongs, before it changes anything."""
        connection = self.connection
        own = connection.ends[frame.sender]
        if frame.lost_before:
            self.lose(frame.sender, frame.time)
        elif not connection.started:
            connection.started = True
            if not own.anchored:
                connection.shaken_until = frame.time + GRACE
        # An ACK number that covers nothing yet proves nothing either: some captures have none.
        known = max(frame.ack, own.proved) if frame.ack > 0 else EVERYTHING
        partner = connection.ends[1 - frame.sender]
        if partner.seen < known < EVERYTHING:
            if known < BEYOND:
                partner.reached = max(partner.reached, known)
            self.scramble(frame.time)
        elif frame.offset < own.reached:
            self.scramble(frame.time)
        event = Event(connection, frame, unit, frame.sender, known, frame.time)
        closed = own.close is not None or own.close_ok_mark is not None
        shaking = connection.stage != stages.OPEN and connection.stage != stages.UNKNOWN
        early = kinds.EARLY if shaking else 0
        if unit.header is not None:
            event.kinds = kinds.HEADER | early | (kinds.AFTER_CLOSE if closed else 0)
            return event
        event.kinds = kinds.FRAME | early
        if closed:
            event.kinds |= kinds.AFTER_CLOSE
        if unit.faults:
            event.kinds |= kinds.MALFORMED
        if len(frame.raw) + frame.missing > own.frame_limit:
            event.kinds |= kinds.OVERSIZE
        if own.silence is not None:
            event.kinds |= kinds.PAUSE
        if frame.time - self.ticked >= TICK:
            event.kinds |= kinds.TICK
            self.ticked = frame.time
        self.place(event, unit)
        if event.kinds & kinds.ABSENCE and event.ahead:
            # What is missed may be what has not passed here.
            event.kinds &= ~kinds.ABSENCE
        return event

    def place(self, event: Event, unit: Unit) -> None:
        """By the type of frame."""
        kind = unit.type
        if unit.elsewhere or (kind != METHOD and not unit.label):
            event.kinds |= kinds.SPECIAL
            return
        method = unit.method
        if method is not None:
            if kind == REQUEST:
                event.kinds |= kinds.REQUEST
            elif kind == RESPONSE:
                event.kinds |= kinds.RESPONSE
            elif kind == OOB_METHOD:
                event.kinds |= kinds.SPECIAL
            if not unit.cut:
                self.place_method(event, unit, method)
        elif kind == HEADER or kind == BODY:
            self.place_content(event, unit)
        elif unit.label == "heartbeat":
            event.kinds |= kinds.HEARTBEAT
            if unit.channel:
                event.kinds |= kinds.WRONG_CHANNEL
        elif kind in FOR_METHODS and kind in unit.dialect.frame_types:
            if unit.class_id and not unit.cut:
                event.kinds |= kinds.UNKNOWN_METHOD
            event.channel = self.connection.channels.get(unit.channel)
        else:
            event.kinds |= kinds.SPECIAL

    def place_method(self, event: Event, unit: Unit, method: Method) -> None:
        """Find the channel of a method, and what it answers or is about."""
        role = self.role(method)
        if role is None:
            event.kinds |= kinds.UNKNOWN_METHOD
            return
        event.kinds |= role.kinds
        if role.wrong == event.peer:
            event.kinds |= kinds.WRONG_WAY
        odd_values(event, role, method, self.look)
        if role.of_connection:
            self.place_on_zero(event, unit, role)
        elif not unit.channel:
            event.kinds |= kinds.WRONG_CHANNEL
            return
        else:
            channel = channel_of(event, unit.channel, role.act == acts.OPEN)
            if role.act != acts.CLOSE_OK:
                closes(event, channel)
            assembly = event.assembly = channel.assemblies[event.peer]
            if assembly.content is not None:
                event.kinds |= kinds.INTERRUPTS
        placed = event.channel
        if placed is None:
            return
        if role.kinds & kinds.ANSWERS and not event.kinds & kinds.WRONG_WAY:
            replies.place_answer(event, placed, role.name)
        if role.replies and not (role.no_wait >= 0 and method.values[role.no_wait]):
            event.kinds |= kinds.ASKS
        if not event.kinds & (kinds.MALFORMED | kinds.WRONG_WAY):
            self.place_message(event, placed, role.act, method)

    def role(self, method: Method) -> Role | None:
        """A method's part in the model, by the fields that it was read with."""
        plan = method.plan
        role = self.roles.get(plan.name)
        if role is None or role.plan is plan:
            return role
        # A sibling's method of this name, with other fields.
        other = self.others.get(plan)
        if other is None:
            answer = role.kinds & kinds.ANSWERS != 0
            other = self.others[plan] = Role(plan, answer, role.wrong < 0)
        return other

    def place_message(self, event: Event, channel: Channel, act: int, method: Method) -> None:
        """What a method that moves messages is about."""
        if act == acts.PUBLISH:
            messages.place_publish(event, channel, method)
        elif act == acts.DELIVER:
            messages.place_deliver(event, channel, method)
        elif act == acts.SETTLE:
            messages.place_settle(event, channel, method)
        elif act == acts.GET_OK:
            messages.place_get_ok(event, channel, method)
        elif act == acts.RETURN:
            messages.place_return(event, channel, method)
        elif act == acts.CLOSE or act == acts.CLOSE_OK:
            if channel.transaction is not None:
                event.kinds |= kinds.TRANSACTIONAL
            place_end(event, channel)

    def place_on_zero(self, event: Event, unit: Unit, role: Role) -> None:
        """A method of the connection itself."""
        connection = self.connection
        event.channel = connection.zero
        if unit.channel:
            event.kinds |= kinds.WRONG_CHANNEL
        client, server = connection.ends
        known = connection.stage != stages.UNKNOWN and client.anchored and server.anchored
        if event.time < connection.scrambled_until:
            known = False
        if role.kinds & kinds.HANDSHAKE and known:
            closing = client.close is not None or server.close is not None
            if role.name not in stages.NEXT[connection.stage] and not closing:
                event.kinds |= kinds.DISORDERLY
        if role.name == "connection.close":
            for channel in connection.channels.values():
                place_end(event, channel)

    def place_content(self, event: Event, unit: Unit) -> None:
        """A content header or body."""
        body = unit.type == BODY
        event.kinds |= kinds.CONTENT_BODY if body else kinds.CONTENT_HEADER
        if not unit.channel:
            event.kinds |= kinds.WRONG_CHANNEL
            return
        channel = channel_of(event, unit.channel, False)
        if channel.closing:
            closes(event, channel)
        if body:
            contents.place_body(event, channel, unit.size)
            if event.kinds & kinds.TICK and self.owes(event):
                event.kinds |= kinds.ALONE
        elif unit.content is not None and not unit.cut:
            odd_properties(event, unit.content, self.look)
            contents.place_header(event, channel, unit.content)

    def owes(self, event: Event) -> bool:
        """Whether the sender of a body has not answered on another channel."""
        for channel in self.connection.channels.values():
            if channel is not event.channel and channel.pending[1 - event.peer]:
                return True
        return False

    # applying

    def apply(self, event: Event) -> None:
        """Let a frame take effect."""
        own, unit = event.own, event.unit
        own.frames += 1
        own.last_mark = event.mark
        own.silence = None
        if unit.faults:
            own.sound = 0
            if own.damaged is None:
                own.damaged = event.mark
        else:
            own.sound += 1
        if unit.header is not None:
            handshake.apply_header(event)
            return
        if event.kinds & kinds.HEARTBEAT:
            own.heartbeat_mark = event.mark
            return
        if unit.label == "trace":
            own.trace_mark = event.mark
        if event.kinds & kinds.SPECIAL:
            return
        if event.kinds & kinds.WRONG_WAY:
            self.carry(event, unit)
            return
        if event.kinds & kinds.UNKNOWN_METHOD:
            own.sent[unit.class_id << 16 | unit.method_id] = event.mark
        channel = event.channel
        if channel is None:
            self.unread(event, unit)
            return
        if channel.number and channel.assumed:
            self.connection.channels.setdefault(channel.number, channel)
        if event.kinds & kinds.PEER_CLOSED:
            channel.after_close[event.peer] += 1
        method = unit.method
        if method is not None:
            self.apply_method(event, unit, channel, method)
        elif unit.type == BODY:
            contents.apply_body(event, channel, unit.size)
        elif unit.content is not None and event.kinds & kinds.CONTENT_HEADER and not unit.cut:
            contents.apply_header(event, channel, unit.content)
        else:
            channel.lose(event.peer)

    def carry(self, event: Event, unit: Unit) -> None:
        """A method that its sender may not send has no effect, but its content belongs to it."""
        channel, method = event.channel, unit.method
        if event.kinds & kinds.CARRIES and channel is not None and method is not None:
            assembly = channel.assemblies[event.peer]
            assembly.interrupt(event.mark)
            assembly.begin(Content(method, event.mark))

    def unread(self, event: Event, unit: Unit) -> None:
        """A frame that could not be read may have been anything of its channel."""
        if event.kinds & (kinds.HEARTBEAT | kinds.WRONG_CHANNEL) or event.frame.cut:
            return
        connection, number = self.connection, unit.channel
        if not number:
            event.own.anchored = False
            connection.zero.lose(event.peer)
            if connection.stage != stages.OPEN:
                connection.stage = stages.UNKNOWN
            return
        channel = connection.channels.get(number)
        if channel is None:
            # It may have opened the channel.
            channel = connection.channels[number] = Channel(number, True, event.mark)
        channel.lose(event.peer)

    def apply_method(self, event: Event, unit: Unit, channel: Channel, method: Method) -> None:
        """Let a method take effect."""
        code = method.plan.code
        channel.sent[event.peer][code] = event.mark
        event.own.sent[code] = event.mark
        assembly = channel.assemblies[event.peer]
        assembly.unsure = False
        assembly.last = None
        assembly.weight = assembly.children = 0
        if assembly.content is not None:
            assembly.interrupt(event.mark)
        if unit.envelope is not None:
            replies.converse(event, channel, method, unit.envelope)
        elif event.kinds & kinds.ASKS:
            channel.ask(event.peer, Request(method, event.mark, method.plan.replies))
        elif method.plan.replies:
            for reply in method.plan.replies:
                channel.unawaited[reply] = event.mark
        if event.request is not None:
            replies.answer(event, channel)
        content: Content | None = None
        if event.kinds & kinds.CARRIES and channel.number:
            content = event.content = Content(method, event.mark)
            assembly.begin(content)
        self.act(event, channel, method, content)

    def act(self, event: Event, channel: Channel, method: Method, content: Content | None) -> None:
        """What a method changes."""
        role = self.roles.get(method.plan.name)
        if role is None:
            return
        act = role.act
        if act == acts.PUBLISH:
            messages.apply_publish(event, channel, content)
        elif act == acts.DELIVER or act == acts.GET_OK:
            messages.apply_delivery(event, channel, content)
        elif act == acts.SETTLE:
            messages.apply_settle(event, channel, method)
        elif act == acts.RETURN:
            messages.apply_return(event, channel, content)
        elif act == acts.OPEN:
            open_channel(event, method)
        elif act == acts.CLOSE:
            channel.closes[event.peer] = handshake.read_close(event, method)
        elif act == acts.CLOSE_OK:
            close_ok(event, channel)
        elif role.kinds & kinds.HANDSHAKE:
            handshake.apply_handshake(event, method)
            if role.name == "connection.start":
                self.speak(handshake.refined_dialect(self.connection))
        else:
            self.rest(event, channel, method, role.name)

    def rest(self, event: Event, channel: Channel, method: Method, name: str) -> None:
        """Apply the methods that come seldom."""
        if name == "channel.open-ok":
            channel.ok_mark = event.mark
        elif name == "connection.close":
            handshake.apply_close(event, method)
        elif name == "connection.close-ok":
            handshake.apply_close_ok(event)
        else:
            found = METHODS.get(name)
            if found is not None:
                found(event, channel, method)

    def speak(self, name: str) -> None:
        """The server's own words show which dialect is used."""
        self.connection.dialect = dialect(name)
        self.roles = roles(name)
        self.look = looks(name)

    # losses and ends

    def lose(self, peer: int, time: int) -> None:
        """Octets of a peer are missing: what they would have said is unknown."""
        connection = self.connection
        connection.shaken_until = time + GRACE
        self.forget(connection.ends[peer])
        connection.zero.lose(peer)
        connection.closed.clear()
        if connection.stage != stages.OPEN:
            connection.stage = stages.UNKNOWN
        for channel in connection.channels.values():
            channel.lose(peer)

    def scramble(self, time: int) -> None:
        """A frame comes before one of its partner's that its sender had read, or is that one.

        That one waits behind a hole, or was captured late: for a while requests may come after
        their answers, so that nothing can be said of what seems to be missing.
        """
        connection = self.connection
        if time >= connection.scrambled_until:
            connection.closed.clear()
            if connection.stage != stages.OPEN:
                connection.stage = stages.UNKNOWN
            for channel in (connection.zero, *connection.channels.values()):
                channel.lose(0)
                channel.lose(1)
        connection.scrambled_until = time + GRACE
        connection.shaken_until = max(connection.shaken_until, time + GRACE)

    def forget(self, own: ConnectionEnd) -> None:
        """This peer was not seen from its start on any more."""
        own.anchored = False
        own.sound = 0
        own.silence = None

    def finish(
        self, peer: int, reason: str, time: int, packet: int, last: Frame, unit: Unit
    ) -> Event:
        """A direction has ended; an event without a frame of its own."""
        own = self.connection.ends[peer]
        event = Event(self.connection, last, unit, peer, EVERYTHING, time)
        event.kinds = kinds.FINISHED
        event.method_name = "finished"
        own.finish(reason, time, packet, self.connection.ends[1 - peer])
        for channel in self.connection.channels.values():
            place_end(event, channel)
        return event
