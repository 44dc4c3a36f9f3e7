"""Follows a connection: places each frame (`locate`), and applies it (`apply`).

Between the two the rules look at the event, with all state as it was before the frame. `apply` is
total: any frame in any state is taken without raising, and after a violation the most likely
state is assumed, so that one fault is not reported over and over.

Both go by the descriptor of a performative. The three that make up nearly all traffic are asked for
by name, which costs nothing; what the others change is in the table CHANGES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from amqpscope.model.knowledge import EVERYTHING, GRACE
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0 import (
    flows,
    link_pairing,
    redelivery,
    session_pairing,
    settlement,
    states,
    transfers,
)
from amqpscope.model.v1_0.connection import AMQP_LAYER, SASL_LAYER, Connection, ConnectionEnd
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.field_checks import unfit
from amqpscope.model.v1_0.session import SessionEnd
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
    from amqpscope.stream.framer import Frame

TICK: Final = 1_000_000_000
"""Nanoseconds of a connection's time after which what should have followed is looked for."""

AMQP_FRAME: Final = 0
SASL_FRAME: Final = 1

# fmt: off
# The performatives by descriptor: to ask for a number costs nothing, to ask for a class does.
OPEN:        Final = 0x10
BEGIN:       Final = 0x11
ATTACH:      Final = 0x12
FLOW:        Final = 0x13
TRANSFER:    Final = 0x14
DISPOSITION: Final = 0x15
DETACH:      Final = 0x16
END:         Final = 0x17
CLOSE:       Final = 0x18

OUTER_KINDS: Final = {
    # descriptor: the kind of event, of what is in no session or begins one
    OPEN:  kinds.KIND["open"],
    BEGIN: kinds.KIND["begin"],
    CLOSE: kinds.KIND["close"],
}
# fmt: on

_ATTACH: Final = kinds.KIND["attach"]
_FLOW: Final = kinds.KIND["flow"]
_TRANSFER: Final = kinds.KIND["transfer"]
_DISPOSITION: Final = kinds.KIND["disposition"]
_DETACH: Final = kinds.KIND["detach"]
_END: Final = kinds.KIND["end"]
_TRANSACTIONAL: Final = kinds.KIND["transactional"]
_REVEALING: Final = _ATTACH | _FLOW | kinds.STATE
"""Frames that can show for the first time that a connection knows transactions."""
_OUTCOME: Final = kinds.RECEIVER_DISPOSITION | settlement.ODD_STATE
_ANSWER: Final = kinds.RECEIVER_DISPOSITION | kinds.STATE
"""What the resource says to a declare or discharge."""


def reveals_transactions(event: Event) -> bool:
    """A frame that shows for the first time that a connection knows transactions."""
    code, body = event.unit.code, event.body
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


def frame_kinds(frame: Frame, own: ConnectionEnd, partner: ConnectionEnd) -> int:
    """What is special about a frame as such, about when it comes, and in which layer."""
    unit = frame.unit
    found = kinds.FRAME
    if unit.faults:
        found |= kinds.MALFORMED
    if len(frame.raw) > partner.frame_limit:
        found |= kinds.OVERSIZE
    if own.stage >= states.CLOSE:
        found |= kinds.CLOSED
    elif own.stage < states.LOST and unit.type != SASL_FRAME:
        found |= kinds.UNOPENED
    if frame.time - own.last_mark.time >= TICK:
        found |= kinds.PAUSE
    if unit.kind == "empty":
        found |= kinds.EMPTY
    layer = AMQP_LAYER
    if unit.type == SASL_FRAME:
        found |= kinds.SASL
        layer = SASL_LAYER
    if own.layer != layer and own.anchored:
        found |= kinds.MISPLACED
    return found


def place(event: Event, own: ConnectionEnd) -> None:
    """Find the session, link and delivery of a performative."""
    unit = event.unit
    code, channel = unit.code, unit.channel
    if code <= BEGIN or code >= CLOSE:
        event.kinds |= OUTER_KINDS.get(code, kinds.OTHER)
        if code == BEGIN:
            event.session = own.channels.get(channel)
        return
    session = own.channels.get(channel)
    if session is None:
        if own.anchored:
            event.kinds |= kinds.UNBEGUN
        session = SessionEnd(own, channel, None, event.mark)
    event.session = session
    if code == TRANSFER:
        event.kinds |= _TRANSFER
        transfers.place_transfer(event, session, cast(Transfer, event.body))
    elif code == DISPOSITION:
        event.kinds |= _DISPOSITION
        settlement.place(event, session, cast(Disposition, event.body))
    elif code == FLOW:
        event.kinds |= _FLOW
        transfers.place_flow(event, session, cast(Flow, event.body))
    elif code == ATTACH:
        event.kinds |= _ATTACH
        handle = cast(Attach, event.body).handle
        event.link = None if handle is None else session.handles.get(handle)
    elif code == DETACH:
        event.kinds |= _DETACH
        transfers.place_handle(event, session, cast(Detach, event.body).handle)
    else:
        event.kinds |= _END


def apply_open(event: Event) -> None:
    """A peer opens the connection."""
    event.own.set_open(cast(Open, event.body), event.mark)


def apply_begin(event: Event) -> None:
    """A peer begins a session."""
    event.session = session_pairing.begin(event, cast(Begin, event.body))


def apply_attach(event: Event) -> None:
    """A peer attaches a link."""
    event.link = link_pairing.attach(event, cast(Attach, event.body))


def apply_detach(event: Event) -> None:
    """A peer detaches a link."""
    link_pairing.detach(event, cast(Detach, event.body))


def apply_end(event: Event) -> None:
    """A peer ends a session."""
    if event.session is not None:
        session_pairing.end(event, event.session, cast(End, event.body))


def apply_close(event: Event) -> None:
    """A peer closes the connection."""
    event.own.set_close(cast(Close, event.body), event.mark)


# fmt: off
CHANGES: Final[dict[int, Callable[[Event], None]]] = {
    OPEN:   apply_open,
    BEGIN:  apply_begin,
    ATTACH: apply_attach,
    DETACH: apply_detach,
    END:    apply_end,
    CLOSE:  apply_close,
}
# fmt: on


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
        self.watch_losses(frame, own)
        # An ACK number that covers nothing yet proves nothing either: some captures have none.
        known = max(frame.ack, own.proved) if frame.ack > 0 else EVERYTHING
        event = Event(self.connection, frame, frame.sender, known, frame.time)
        unit = event.unit
        if unit.header is not None:
            event.kinds = kinds.HEADER | kinds.CLOSED if own.is_closed else kinds.HEADER
            return event
        event.kinds = frame_kinds(frame, own, event.partner)
        if frame.time - self.ticked >= TICK:
            event.kinds |= kinds.TICK
            self.ticked = frame.time
        # What is left of a performative that was cut says too little: fields that seem to be null,
        # and even those that end where the capture does, are not what was sent.
        body = event.body = None if frame.beheaded else unit.body
        if body is None:
            if unit.kind != "empty" and not unit.faults and not frame.beheaded:
                event.kinds |= kinds.OTHER
            return event
        if unit.type == AMQP_FRAME:
            event.kinds |= kinds.AMQP
            place(event, own)
            if self.transactions.active or (
                event.kinds & _REVEALING and reveals_transactions(event)
            ):
                event.kinds |= _TRANSACTIONAL
            if unit.payload < len(frame.raw) and not event.kinds & _TRANSFER:
                event.kinds |= kinds.TRAILING
        if unfit(body):
            event.kinds |= kinds.WRONG
        return event

    def apply(self, event: Event) -> None:
        """Let a frame take effect."""
        own, unit = event.own, event.unit
        self.count(event)
        if unit.header is not None:
            own.add_header(unit.header, event.mark)
            if own.layer == SASL_LAYER:
                self.sasl.begin(event)
            return
        if event.kinds & kinds.MISPLACED and not unit.faults:
            # Its header is missing or wrong: what it sends says which layer it means.
            if unit.type == AMQP_FRAME:
                own.layer = AMQP_LAYER
            elif own.layer < 0:
                own.layer = SASL_LAYER
        if unit.type == SASL_FRAME:
            self.sasl.apply(event)
        elif event.body is not None:
            self.perform(event)
        elif unit.type == AMQP_FRAME and unit.kind != "empty":
            self.unread(own, unit.channel)

    def count(self, event: Event) -> None:
        """Note that a unit was seen, and what that alone says of its sender."""
        own, frame, unit = event.own, event.frame, event.unit
        own.frames += 1
        own.last_mark = event.mark
        own.missed = False
        if unit.faults:
            own.sound = 0
            own.damaged = True
            if own.frames == 1 and not frame.offset and unit.body is None and not frame.cut:
                own.odd_start = (event.mark, frame.raw[:8])
        else:
            own.sound += 1
        if unit.type != AMQP_FRAME or unit.header is not None:
            return
        own.amqp_frames += 1
        if event.partner.open is None:
            begun = unit.channel if isinstance(event.body, Begin) else -1
            own.early.add(len(frame.raw), begun, event.mark)
        if unit.kind == "empty":
            own.empty_mark = event.mark

    def perform(self, event: Event) -> None:
        """Let a performative take effect."""
        session, body, code = event.session, event.body, event.unit.code
        if session is not None and session.assumed:
            event.own.channels.setdefault(session.channel, session)
        if code == TRANSFER:
            transfers.apply_transfer(event, cast(Transfer, body))
        elif code == DISPOSITION:
            if event.kinds & _OUTCOME == _OUTCOME:
                redelivery.note_outcome(event, cast(Disposition, body))
            settlement.apply(event, cast(Disposition, body))
        elif code == FLOW:
            flows.apply(event, cast(Flow, body))
        else:
            change = CHANGES.get(code)
            if change is not None:
                change(event)
        if self.connection.rivals:
            link_pairing.follow_rivals(event)
        if event.kinds & _TRANSACTIONAL:
            if event.kinds & _ANSWER == _ANSWER:
                redelivery.note_rollback(event, cast(Disposition, body))
            self.transactions.apply(event)

    def watch_losses(self, frame: Frame, own: ConnectionEnd) -> None:
        """See whether octets are missing before a frame, or no longer are in doubt."""
        connection = self.connection
        if frame.lost_before or (frame.beheaded and not frame.cut):
            self.lose(frame.sender, frame.time)
        elif connection.shaken_by == frame.sender and not frame.missing:
            connection.shaken_by = -1
            connection.shaken_until = frame.time + GRACE
        elif not connection.started:
            connection.started = True
            if not own.anchored:
                connection.shaken_until = frame.time + GRACE

    def lose(self, peer: int, time: int) -> None:
        """Octets of a peer are missing: what its frames in them would have changed is unknown."""
        connection = self.connection
        connection.shaken_by = -1
        connection.shaken_until = time + GRACE
        # One of two attachments may have been detached in it.
        connection.rivals = []
        own = connection.ends[peer]
        own.missed = True
        own.lose()
        # What waited for an answer may have had it.
        for other in connection.ends[1 - peer].unpaired:
            other.doubtful = True
        for session in own.channels.values():
            if session.pair is not None:
                for link in session.pair.unpaired:
                    link.doubtful = True
            session.lose()

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
            session.lose()

    def finish(self, peer: int, reason: str, time: int, packet: int, last: Frame) -> Event:
        """A direction has ended; an event without a frame of its own."""
        own = self.connection.ends[peer]
        event = Event(self.connection, last, peer, EVERYTHING, time)
        event.kinds = kinds.FINISHED
        own.finish(reason, time, packet, self.connection.ends[1 - peer])
        return event
