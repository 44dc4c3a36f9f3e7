"""AMQP 1.0 frames that pass between two peers: which sessions and links each of them knows.

What the proxy ends for both peers is gone for one until it answers: its answer, and what it sent
before it knew, goes no further.
"""

from __future__ import annotations

from typing import Final, cast

from amqpscope.protocols.peers import Output, PeerView
from amqpscope.protocols.v1_0.peers_counts import (
    translate_disposition,
    translate_flow,
    translate_transfer,
)
from amqpscope.protocols.v1_0.peers_sessions import Link, Session
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    Transfer,
)
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.framing import Unit

UNLIMITED: Final = 1 << 32
"""Octets of a frame for a peer that has named no limit."""


class PassingPeers(PeerView):
    """Both peers of one connection, as far as frames pass between them."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.gone = [False, False]
        """Which peers the proxy has sent a close, and has not been answered by."""
        self.closed = False
        """The proxy has closed the connection."""
        self.opened = [False, False]
        self.sizes = [UNLIMITED, UNLIMITED]
        """The longest frame that each peer takes."""
        self.idle_time_out = [0, 0]
        """Milliseconds, as each peer announced them."""
        self.pending: Error | None = None
        """The error with which the connection is closed as soon as both peers have opened it."""
        self.parked: dict[tuple[int, int], list[Frame]] = {}
        """By peer and channel: what it sends there after a session that the proxy has ended, while
        its partner has not answered that."""

    @property
    def is_over(self) -> bool:
        """Whether a connection that the proxy closed has been closed by both peers."""
        return self.closed and not any(self.gone)

    @property
    def is_open(self) -> bool:
        """Whether both peers have opened the connection."""
        return all(self.opened)

    def patience_of(self, side: int) -> tuple[float, str]:
        """After how many seconds of silence a peer may close, and what says so; 0: never."""
        return self.idle_time_out[side] / 1000, "idle-time-out"

    def session_of(self, side: int, channel: int) -> Session | None:
        """The session that a peer uses a channel for."""
        for session in reversed(self.sessions):
            if session.channels[side] == channel and not session.ended[side]:
                return session
        return None

    def translate(self, frame: Frame) -> list[Output]:
        """What is sent in the place of a frame that passes."""
        side, unit = frame.sender, cast(Unit, frame.unit)
        body = unit.body
        if self.closed:
            if isinstance(body, Close):
                self.gone[side] = False
            return []
        if body is None or unit.faults:
            return [Output(1 - side, frame.raw)]
        if self.parks(side, unit.channel, body):
            self.parked.setdefault((side, unit.channel), []).append(frame)
            return []
        if isinstance(body, Begin):
            return self.begin(side, frame, unit, body)
        session = self.session_of(side, unit.channel)
        if session is None:
            return self.pass_connection_frame(side, frame, body)
        if session.gone[side]:
            if not isinstance(body, End):
                return []
            session.gone[side] = False
            self.end_side(session, side)
            parked = self.parked.pop((1 - side, session.channels[1 - side] or 0), [])
            return [output for frame in parked for output in self.translate(frame)]
        return self.pass_session_frame(session, side, frame, unit, body)

    def parks(self, side: int, channel: int, body: Body) -> bool:
        """Whether a frame has to wait: its channel is in use for the partner's session still."""
        if (side, channel) in self.parked:
            return True
        return isinstance(body, Begin) and any(
            session.gone[1 - side] and session.channels[side] == channel
            for session in self.sessions
        )

    def pass_connection_frame(self, side: int, frame: Frame, body: Body) -> list[Output]:
        """A frame that belongs to no session."""
        passed = [Output(1 - side, frame.raw)]
        if isinstance(body, Open):
            self.opened[side] = True
            self.sizes[side] = UNLIMITED if body.max_frame_size is None else body.max_frame_size
            self.idle_time_out[side] = body.idle_time_out or 0
            if self.pending is not None and all(self.opened):
                return [*passed, *self.close_both(self.pending)]
        return passed

    def pass_session_frame(
        self, session: Session, side: int, frame: Frame, unit: Unit, body: Body
    ) -> list[Output]:
        """A frame of a session that both peers may use."""
        attaches = isinstance(body, Attach) and session.awaits_detach(side, body.name)
        if session.parked[side] or attaches:
            session.parked[side].append(frame)
            return []
        if isinstance(body, Transfer):
            return translate_transfer(session, side, frame, unit, body)
        if isinstance(body, Disposition):
            return translate_disposition(session, side, frame, unit, body)
        if isinstance(body, Flow):
            return translate_flow(session, side, frame, unit, body)
        passed = [Output(1 - side, frame.raw)]
        if isinstance(body, Attach):
            link = session.attach(side, body)
            if link.pending is not None and link.attached:
                return [*passed, *self.detach_both(link, cast(Error, link.pending))]
        elif isinstance(body, Detach):
            gone = session.link_of(side, body.handle)
            if gone is not None:
                swallowed = gone.gone[side]
                gone.gone[side], gone.detached[side] = False, True
                if all(gone.detached):
                    session.forget(gone)
                return self.unpark(session, 1 - side) if swallowed else passed
        elif isinstance(body, End):
            self.end_side(session, side)
        return passed

    def unpark(self, session: Session, side: int) -> list[Output]:
        """What a peer sent while its partner had not answered a detach."""
        parked, session.parked[side] = session.parked[side], []
        return [output for frame in parked for output in self.translate(frame)]

    def begin(self, side: int, frame: Frame, unit: Unit, body: Begin) -> list[Output]:
        """A peer begins a session, or answers its partner's begin."""
        session = None
        if body.remote_channel is not None:
            session = self.session_of(1 - side, body.remote_channel)
        if session is None:
            session = Session(self.sizes)
            self.sessions.append(session)
        session.channels[side] = unit.channel
        session.first_outgoing[side] = session.next_outgoing[side] = body.next_outgoing_id or 0
        session.windows[side] = body.incoming_window or 0, body.outgoing_window or 0
        passed = [Output(1 - side, frame.raw)]
        if session.pending is not None and session.begun:
            passed += self.end_both(session, cast(Error, session.pending))
        return passed

    def end_side(self, session: Session, side: int) -> None:
        """A peer has ended a session."""
        session.ended[side] = True
        if all(session.ended):
            self.sessions.remove(session)

    # The error is for the client, as a broker would send it; the broker sees a client that leaves
    # in order, for many take an error for a reason to give up more than the link or session.

    def detach_both(self, link: Link, error: Error) -> list[Output]:
        """Detach a link from both peers."""
        outputs = []
        for side in (CLIENT, SERVER):
            channel = link.session.channels[1 - side] or 0
            shown = error if side == CLIENT else None
            detach = Detach(handle=link.handles[1 - side], closed=True, error=shown)
            outputs.append(Output(side, encode_frame(detach, channel), forged=True))
            link.gone[side] = True
        link.pending = None
        return outputs

    def end_both(self, session: Session, error: Error) -> list[Output]:
        """End a session for both peers."""
        outputs = []
        for side in (CLIENT, SERVER):
            channel = session.channels[1 - side] or 0
            end = End(error=error if side == CLIENT else None)
            outputs.append(Output(side, encode_frame(end, channel), forged=True))
            session.gone[side] = True
        session.pending = None
        return outputs

    def close_both(self, error: Error) -> list[Output]:
        """Close the connection for both peers."""
        self.closed, self.pending, self.gone = True, None, [True, True]
        return [
            Output(side, encode_frame(Close(error=shown)), forged=True)
            for side, shown in ((CLIENT, error), (SERVER, None))
        ]
