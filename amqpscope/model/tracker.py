"""Follows a connection: places each frame (`locate`), and applies it (`apply`).

Between the two the rules look at the event, with all state as it was before the frame. `apply` is
total: any frame in any state is taken without raising, and after a violation the most likely
state is assumed, so that one fault is not reported over and over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from amqpscope.model import event as kinds
from amqpscope.model import flows, links, pairing, settlement
from amqpscope.model.connection import MAX_UNPAIRED, Connection, ConnectionEnd, SeenHeader
from amqpscope.model.event import GRACE, Event
from amqpscope.model.fitness import unfit
from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import NOWHERE
from amqpscope.model.session import SessionEnd
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Close,
    Coordinator,
    Declared,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.frames import Frame

TICK: Final = 1_000_000_000
"""Nanoseconds of a connection's time after which what should have followed is looked for."""

AMQP_LAYER: Final = 0
SASL_LAYER: Final = 3

# fmt: off
# The performatives by descriptor: asking a number costs nothing, asking a class does.
OPEN:        Final = 0x10
BEGIN:       Final = 0x11
ATTACH:      Final = 0x12
FLOW:        Final = 0x13
TRANSFER:    Final = 0x14
DISPOSITION: Final = 0x15
DETACH:      Final = 0x16
END:         Final = 0x17
CLOSE:       Final = 0x18
# fmt: on

_OPEN: Final = kinds.KIND["open"]
_BEGIN: Final = kinds.KIND["begin"]
_ATTACH: Final = kinds.KIND["attach"]
_FLOW: Final = kinds.KIND["flow"]
_TRANSFER: Final = kinds.KIND["transfer"]
_DISPOSITION: Final = kinds.KIND["disposition"]
_DETACH: Final = kinds.KIND["detach"]
_END: Final = kinds.KIND["end"]
_CLOSE: Final = kinds.KIND["close"]
_TRANSACTIONAL: Final = kinds.KIND["transactional"]
_REVEALING: Final = _ATTACH | _FLOW | kinds.STATE
"""Frames that can show for the first time that a connection knows transactions."""


def transactional(event: Event) -> bool:
    """A frame that shows for the first time that a connection knows transactions."""
    code, body = event.frame.unit.code, event.body
    if code == FLOW:
        return cast(Flow, body).properties is not None
    if code == ATTACH:
        return isinstance(cast(Attach, body).target, Coordinator)
    state: Value = None
    if code == TRANSFER:
        state = cast(Transfer, body).state
    elif code == DISPOSITION:
        state = cast(Disposition, body).state
    return isinstance(state, TransactionalState) or isinstance(state, Declared)


class Tracker:
    """The model of one connection."""

    def __init__(self, anchored: bool) -> None:
        self.connection = Connection(anchored)
        self.sasl = self.connection.sasl
        self.transactions = self.connection.transactions
        self.ticked = 0

    def locate(self, frame: Frame) -> Event:
        """Where a frame belongs, before it changes anything."""
        own = self.connection.ends[frame.sender]
        if frame.lost_before or (frame.beheaded and not frame.cut):
            self.lose(frame.sender, frame.time)
        elif self.connection.shaken_by == frame.sender and not frame.missing:
            self.connection.shaken_by = -1
            self.connection.shaken_until = frame.time + GRACE
        elif not self.connection.started:
            self.connection.started = True
            if not own.anchored:
                self.connection.shaken_until = frame.time + GRACE
        # An ACK number that covers nothing yet proves nothing either: some captures have none.
        known = max(frame.ack, own.proved) if frame.ack > 0 else EVERYTHING
        event = Event(self.connection, frame, frame.sender, known, frame.time)
        unit = frame.unit
        if unit.header is not None:
            event.kinds = kinds.HEADER if own.close is None else kinds.HEADER | kinds.CLOSED
            return event
        event.kinds = kinds.FRAME
        if unit.faults:
            event.kinds |= kinds.MALFORMED
        if len(frame.raw) > event.partner.frame_limit:
            event.kinds |= kinds.OVERSIZE
        if own.close is not None:
            event.kinds |= kinds.CLOSED
        elif own.open is None and unit.type != 1:
            event.kinds |= kinds.UNOPENED
        if frame.time - own.last_mark.time >= TICK:
            event.kinds |= kinds.PAUSE
        if frame.time - self.ticked >= TICK:
            event.kinds |= kinds.TICK
            self.ticked = frame.time
        # What is left of a performative that was cut says too little: fields that seem to be null,
        # and even those that end where the capture does, are not what was sent.
        body = event.body = None if frame.beheaded else unit.body
        if unit.kind == "empty":
            event.kinds |= kinds.EMPTY
        if unit.type == 1:
            event.kinds |= kinds.SASL
            if own.layer != SASL_LAYER and own.anchored:
                event.kinds |= kinds.MISPLACED
        elif own.layer != AMQP_LAYER and own.anchored:
            event.kinds |= kinds.MISPLACED
        if body is None:
            if unit.kind != "empty" and not unit.faults and not frame.beheaded:
                event.kinds |= kinds.OTHER
            return event
        if unit.type == 0:
            event.kinds |= kinds.AMQP
            self.place(event, own)
            if self.transactions.active or (event.kinds & _REVEALING and transactional(event)):
                event.kinds |= _TRANSACTIONAL
            if unit.payload < len(frame.raw) and not event.kinds & _TRANSFER:
                event.kinds |= kinds.TRAILING
        if unfit(body):
            event.kinds |= kinds.WRONG
        return event

    def place(self, event: Event, own: ConnectionEnd) -> None:
        """Find the session, link and delivery of a performative."""
        body, unit = event.body, event.frame.unit
        channel, code = unit.channel, unit.code
        session = own.channels.get(channel)
        if code == OPEN:
            event.kinds |= _OPEN
            return
        if code == CLOSE:
            event.kinds |= _CLOSE
            return
        if code == BEGIN:
            event.kinds |= _BEGIN
            event.session = session
            return
        if code < BEGIN or code > END:
            event.kinds |= kinds.OTHER
            return
        if session is None:
            if own.anchored:
                event.kinds |= kinds.UNBEGUN
            session = SessionEnd(own, channel, None, event.mark)
        event.session = session
        if code == TRANSFER:
            event.kinds |= _TRANSFER
            links.place_transfer(event, session, cast(Transfer, body))
        elif code == DISPOSITION:
            event.kinds |= _DISPOSITION
            settlement.place(event, session, cast(Disposition, body))
        elif code == FLOW:
            event.kinds |= _FLOW
            links.place_flow(event, session, cast(Flow, body))
        elif code == ATTACH:
            event.kinds |= _ATTACH
            handle = cast(Attach, body).handle
            event.link = None if handle is None else session.handles.get(handle)
        elif code == DETACH:
            event.kinds |= _DETACH
            links.place_handle(event, session, cast(Detach, body).handle)
        else:
            event.kinds |= _END

    def apply(self, event: Event) -> None:
        """Let a frame take effect."""
        frame = event.frame
        own = event.own
        own.frames += 1
        own.last_mark = event.mark
        own.missed = False
        unit = frame.unit
        if unit.faults:
            own.sound = 0
            own.damaged = True
            if own.frames == 1 and not frame.offset and unit.body is None and not frame.cut:
                own.odd_start = (event.mark, frame.raw[:8])
        else:
            own.sound += 1
        if unit.header is not None:
            own.headers.append(SeenHeader(unit.header, event.mark))
            own.layer = unit.header.id
            if own.layer == SASL_LAYER:
                self.sasl.begin(event)
            return
        if unit.type == 0:
            own.amqp_frames += 1
            if event.partner.open is None:
                self.pipelined(event)
            if unit.kind == "empty":
                own.empty_mark = event.mark
        if event.kinds & kinds.MISPLACED and not unit.faults and (unit.type == 0 or own.layer < 0):
            # Its header is missing or wrong: what it sends says which layer it means.
            own.layer = SASL_LAYER if unit.type else AMQP_LAYER
        if unit.type == 1:
            self.sasl.apply(event)
            return
        body = event.body
        if body is None:
            if unit.type == 0 and unit.kind != "empty":
                self.unread(own, unit.channel)
            return
        session = event.session
        if session is not None and session.assumed:
            own.channels.setdefault(session.channel, session)
        code = unit.code
        if code == TRANSFER:
            links.apply_transfer(event, cast(Transfer, body))
        elif code == DISPOSITION:
            settlement.apply(event, cast(Disposition, body))
        elif code == FLOW:
            flows.apply(event, cast(Flow, body))
        elif code == ATTACH:
            event.link = pairing.attach(event, cast(Attach, body))
        elif code == DETACH:
            pairing.detach(event, cast(Detach, body))
        else:
            self.rest(event)
        if self.connection.rivals:
            pairing.follow_rivals(event)
        if event.kinds & _TRANSACTIONAL:
            self.transactions.apply(event)

    def pipelined(self, event: Event) -> None:
        """Note what the partner's open, which is still to come, will have to allow."""
        own, frame = event.own, event.frame
        if len(frame.raw) > own.early_size:
            own.early_size, own.early_mark = len(frame.raw), event.mark
        if isinstance(event.body, Begin) and frame.unit.channel > own.early_channel:
            own.early_channel, own.early_channel_mark = frame.unit.channel, event.mark

    def rest(self, event: Event) -> None:
        """Open, begin, end and close."""
        own, body = event.own, event.body
        if isinstance(body, Open):
            own.open, own.open_mark = body, event.mark
            own.frame_limit = own.max_frame_size
        elif isinstance(body, Close):
            own.close, own.close_mark = body, event.mark
        elif isinstance(body, Begin):
            event.session = self.begin(event, body)
        elif isinstance(body, End) and event.session is not None:
            self.end(event, event.session, body)

    def begin(self, event: Event, body: Begin) -> SessionEnd:
        """A new session end of this peer, paired with the one that it answers."""
        own = event.own
        channel = event.frame.unit.channel
        session = SessionEnd(own, channel, body, event.mark)
        session.known_then = event.known
        session.whole = not event.damaged
        old = own.channels.get(channel)
        if old is not None:
            self.leave(event, old)
            if old.whole:
                # Begun twice, with no end missing: nobody will answer the first one any more.
                own.unpaired = [other for other in own.unpaired if other is not old]
        own.channels[channel] = session
        pair = self.answered(event, body)
        if pair is None and body.remote_channel is None:
            pair = pairing.assumed_answer(event, old)
        if pair is None:
            own.unpaired.append(session)
            if len(own.unpaired) > MAX_UNPAIRED:
                del own.unpaired[0]
        else:
            session.replied = not pair.replied
            if session.replied and event.knew(pair.mark):
                own.prove(pair.mark.end)
            pairing.pair_sessions(session, pair)
        return session

    def answered(self, event: Event, body: Begin) -> SessionEnd | None:
        """The partner's session that a begin answers, and take it from those that wait."""
        channel, partner = body.remote_channel, event.partner
        waiting = partner.unpaired
        if channel is None:
            early = pairing.early_answer(event, waiting) if waiting else None
            if early is not None or not event.damaged or not waiting:
                return early
            return waiting.pop(0)
        here = [other for other in waiting if other.channel == channel]
        if here:
            return self.oldest(event, here)
        if partner.anchored:
            # A wrong number: most likely the one meant is that which waits longest.
            for place, other in enumerate(waiting):
                if event.knew(other.mark):
                    return waiting.pop(place)
            return None
        # Its begin may have been lost, or made before the capture began.
        there = partner.channels.get(channel)
        if there is None or there.pair is not None:
            there = partner.channels[channel] = SessionEnd(partner, channel, None, NOWHERE)
        return there

    def oldest(self, event: Event, here: list[SessionEnd]) -> SessionEnd | None:
        """The first that waits on a channel; None where missing octets leave more than one."""
        found = here[0]
        if found.doubtful:
            # It may have had its answer, and then gives way to one that has not.
            sure = [one for one in here if not one.doubtful and event.knew(one.mark)]
            if sure:
                found = sure[0]
            elif len(here) > 1 or found.ended is not None:
                return None
        gone = here[: here.index(found) + 1]
        event.partner.unpaired = [one for one in event.partner.unpaired if one not in gone]
        return found

    def end(self, event: Event, session: SessionEnd, body: End) -> None:
        """This peer ends a session; its channel is free for it at once."""
        own = event.own
        session.ended, session.ended_mark = body, event.mark
        session.overdue = False
        own.channels.pop(session.channel, None)
        if not session.assumed or session.channel not in own.ended:
            own.ended[session.channel] = session
        self.leave(event, session)
        pair = session.pair
        if pair is not None and pair.ended is not None:
            session.live.clear()
            pair.live.clear()
        elif pair is not None and not pair.whole:
            self.doubt(pair)

    def doubt(self, session: SessionEnd) -> None:
        """Its peer may have ended it, or begun anew, in octets that are missing."""
        channels = session.owner.channels
        if channels.get(session.channel) is session:
            channels[session.channel] = SessionEnd(session.owner, session.channel, None, NOWHERE)

    def leave(self, event: Event, session: SessionEnd) -> None:
        """The links of a session are not attached by this peer any more."""
        for link in session.handles.values():
            pairing.let_go(event.connection, event.peer, link)

    def forget(self, own: ConnectionEnd) -> None:
        """Frames of this peer may have been lost: what they would have counted is unknown now."""
        own.anchored = False
        own.sound = 0
        # What waited for an answer may have had it.
        for other in self.connection.ends[1 - own.peer].unpaired:
            other.doubtful = True
        for session in own.channels.values():
            session.whole = False
            if session.pair is not None:
                for link in session.pair.unpaired:
                    link.doubtful = True
            self.forget_session(session)

    def lose(self, peer: int, time: int) -> None:
        """Octets of a peer are missing."""
        self.connection.shaken_by = -1
        self.connection.shaken_until = time + GRACE
        # One of two attachments may have been detached in it.
        self.connection.rivals = []
        own = self.connection.ends[peer]
        own.missed = True
        self.forget(own)

    def shake(self, peer: int) -> None:
        """Octets inside a frame of a peer are missing: nothing is sure before its next frame."""
        self.connection.shaken_by = peer
        self.connection.shaken_until = EVERYTHING

    def unread(self, own: ConnectionEnd, channel: int) -> None:
        """A frame could not be read; it may have been a transfer, or anything."""
        session = own.channels.get(channel)
        if session is None:
            own.channels[channel] = SessionEnd(own, channel, None, own.last_mark)
        else:
            session.whole = False
            self.forget_session(session)

    def forget_session(self, session: SessionEnd) -> None:
        """What a peer has counted and granted on a session is unknown."""
        session.next_outgoing_id = None
        session.counted_id = None
        session.next_delivery_id = None
        session.window.lose()
        for link in session.handles.values():
            self.forget_link(link)

    def forget_link(self, link: LinkEnd) -> None:
        """... and on a link."""
        # It may have been detached, and its handle given to another.
        link.again = True
        link.count_low = None
        link.count_high = None
        link.lost = True
        link.interrupted = None
        link.credit.lose()
        if link.delivery is not None:
            link.delivery.lose()
            link.delivery = None

    def finish(self, peer: int, reason: str, time: int, packet: int, last: Frame) -> Event:
        """A direction has ended; an event without a frame of its own."""
        own = self.connection.ends[peer]
        event = Event(self.connection, last, peer, EVERYTHING, time)
        event.kinds = kinds.FINISHED
        if not own.finished:
            partner = self.connection.ends[1 - peer]
            own.finished = reason
            own.finished_time = time
            own.finished_packet = packet
            own.finished_after = partner.last_mark
            own.finished_second = bool(partner.finished)
        return event
