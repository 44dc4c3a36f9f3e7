"""One peer of a recorded conversation, played against a live one: what all families share.

The recording is cut in two. What our own peer did becomes `Act`s, what the other one did becomes
`Cue`s. An act is sent as soon as its cues have come and the live peer allows it: credit, windows
and frame sizes are those of the live connection, and so are all numbers. A live frame is matched
with the cue of its place (link, role, address, turn), not with octets or with the order in which
places took turns; where it differs in a field that tells, or has no cue, that is a `Divergence`.

A `Part` has no socket: whoever owns one gives it what was received, and sends what `out` has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from amqpscope.findings import Finding
from amqpscope.protocols.peers import CannotApplyError
from amqpscope.protocols.replay_acts import (
    DROP,
    Act,
    Choices,
    Cue,
    Judge,
    Lane,
    Refused,
    are_nested,
)
from amqpscope.protocols.replay_expectations import Expectations
from amqpscope.protocols.replay_origins import Origins, Passed, first_pending
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, PEERS
from dissectors.wire import DAMAGED, MORE

NANOSECONDS: Final = 1e9
CATCH_UP: Final = 0.1
"""Seconds of a rate that may be made up for when a message was late."""
UNWRITABLE: Final = (CannotApplyError, ValueError, OverflowError, TypeError, KeyError)
"""What goes wrong where a damaged value is to be encoded."""


class Part(Expectations):
    """One side of one recorded conversation."""

    def __init__(self, frames: Sequence[Frame], side: int, choices: Choices) -> None:
        super().__init__(side, choices)
        self.frames = frames
        self.acts: list[Act] = []
        self.lanes: dict[Lane, deque[Act]] = {}
        self.out = bytearray()
        """What is to be sent now."""
        self.guard: Judge | None = None
        """What refuses frames that are not legal; None: all are sent as they are."""
        self.precedent: Callable[[Act], str] | None = None
        """What an act has to wait for on other connections, in words."""
        self.tags: dict[bytes, bytes] = {}
        """Delivery-tags of the live peer by recorded ones; a later connection may name them."""
        self.playing: Act | None = None
        """The act whose frames are sent; None where a frame is no part of the script."""
        self.messages = [0, 0]
        """Messages that passed, by who sent them."""
        self.unsent = 0
        """Acts that what they belong to did not live to see."""
        self.over = ""
        """How TCP is to be ended now: `fin` or `rst`; empty while it is needed."""
        self.loose = side != CLIENT
        """Lanes need not wait for each other: a server's links are independent."""
        self.eager = False
        """Messages and grants do not wait for outcomes that only say that all went well."""
        self.reason = ""
        """Why the first act that waits is not sent."""
        self.waiting: Act | None = None
        self._incomplete = b""
        """Octets of the live peer that are not a whole frame yet."""
        self.overtaking = False
        """Acts wait only for what they may depend on, as nothing has moved for a while."""
        self._origins: Origins | None = None
        self._met = [0, 0]
        """Up to which cue all have come: of the legal ones, and of those not soft."""
        self._caused = [0, 0]
        """Up to which cue all have come: of messages and commits, and of commits alone."""
        self._next_message = 0.0
        self.wake: float | None = None
        """When to try again without hearing from the peer."""
        self.wake_for_time = False
        """Something is sent as soon as its time has come."""

    # the script

    def add_act(self, kind: str, frame: Frame, lane: Lane, about: object = None) -> Act:
        """Something to send."""
        act = Act(kind, frame, lane, about)
        act.index, act.cues = len(self.acts), len(self.cues)
        self.acts.append(act)
        self.lanes.setdefault(lane, deque()).append(act)
        return act

    def set_pauses(self) -> None:
        """Note for each act how long after the frame before it, of either peer, it was sent."""
        before = {}
        last = self.frames[0].time if self.frames else 0
        for frame in self.frames:
            before[id(frame)] = max(0, frame.time - last)
            last = frame.time
        for act in self.acts:
            act.pause = before.get(id(act.frame), 0) / NANOSECONDS

    # what a family does

    def start(self) -> None:
        """Begin, when TCP is connected."""
        raise NotImplementedError

    def measure(self, data: bytes, at: int) -> int:
        """How many octets the frame has that begins here, or MORE or DAMAGED."""
        raise NotImplementedError

    def take(self, raw: bytes) -> None:
        """Take a frame of the live peer."""
        raise NotImplementedError

    def obstacle(self, act: Act) -> str:
        """Why the live peer does not allow an act now; empty: it does; DROP: it never will."""
        raise NotImplementedError

    def send(self, act: Act) -> bool:
        """Put the octets of an act into `out`; whether that was all of it."""
        raise NotImplementedError

    def settle_down(self, now: float) -> None:
        """Nothing more can be sent now: what politeness asks for."""

    def beat(self, now: float) -> None:
        """Send a heartbeat if one is due, and set `wake`."""

    def finish_politely(self) -> None:
        """The script is at its end and the connection is open: close it."""

    # listening

    def receive(self, octets: bytes, now: float) -> None:
        """Take octets of the live peer, and each frame that they complete."""
        if self.guard is not None:
            self.guard.now = now
            self.guard.hear(octets)
        data, at = self._incomplete + octets, 0
        while not self.over:
            size = self.measure(data, at)
            if size == MORE or (size != DAMAGED and at + size > len(data)):
                break
            if size == DAMAGED:
                shown = f"octets {data[at : at + 16].hex(' ')}"
                self.diverge("extra", None, "octets that are not a frame", shown)
                self.over = "fin"
                return
            at += size
            self.take(data[at - size : at])
        self._incomplete = data[at:]

    # playing

    @property
    def played(self) -> bool:
        """Nothing more is to be sent."""
        return not self.lanes

    @property
    def complete(self) -> bool:
        """All was sent, and all has come."""
        return self.played and self.first_missing() is None

    def proceed(self, now: float) -> None:
        """Send all that may be sent now."""
        if self.guard is not None:
            self.guard.now = now
        self.wake, self.reason, self.waiting = None, "", None
        self.wake_for_time = False
        if self.ready and not self.over:
            self._play(now)
            if not self.over:
                self.settle_down(now)
        self.beat(now)

    def _play(self, now: float) -> None:
        heads = [(acts[0].index, lane) for lane, acts in self.lanes.items()]
        heapify(heads)
        blocked: list[Lane] = []
        while heads and not self.over:
            _, lane = heappop(heads)
            acts = self.lanes.get(lane)
            if not acts:
                continue
            act = acts[0]
            if any(are_nested(lane, other) for other in blocked):
                blocked.append(lane)
                continue
            reason = self.delay(act, now)
            if reason and reason is not DROP:
                if self.waiting is None:
                    self.waiting, self.reason = act, reason
                if not self.loose:
                    return
                blocked.append(lane)
                continue
            if reason is DROP:
                self.unsent += 1
            else:
                self.moves += 1
            if reason is DROP or self.try_to_send(act):
                acts.popleft()
            if not acts:
                self.lanes.pop(lane, None)
            else:
                heappush(heads, (acts[0].index, lane))

    def try_to_send(self, act: Act) -> bool:
        """Send an act, unless it cannot be written again or is not legal; whether it is done."""
        self.playing = act
        try:
            return self.send(act)
        except (Refused, *UNWRITABLE) as error:
            self.add_note(f"frame {act.frame.number} is left out: {error}")
            self.unsent += 1
            self.forgo(act)
            self.forgo_error(act.frame)
            return True
        finally:
            self.playing = None

    def put(self, raw: bytes) -> Finding | None:
        """Send a frame, if the rules allow it; why they do not, which a script may not ignore."""
        finding = None if self.guard is None else self.guard.refusal(raw)
        if finding is None:
            self.out += raw
        elif self.playing is not None:
            raise Refused(finding)
        return finding

    def forgo(self, act: Act) -> None:
        """An act is left out: expect no answer to it."""

    def forgo_error(self, frame: Frame) -> None:
        """A frame is left out: do not wait for the error that the recorded peer answered with."""
        for cue in self.cues:
            if cue.left > 0 and cue.frame.number > frame.number and self.is_error(cue.frame):
                cue.left, cue.moot = 0, True
                return

    def is_error(self, frame: Frame) -> bool:
        """Whether a frame ends something, and says what was wrong."""
        return False

    def delay(self, act: Act, now: float) -> str:
        """Why an act is not sent now; empty if it is."""
        reason = self.obstacle(act)
        if reason is DROP:
            return reason
        reason = self.missing_cue(act) or reason
        if reason:
            return reason
        if self.choices.speed and act.due is None:
            act.due = now + act.pause / self.choices.speed
        due = act.due or 0.0
        reason = self.precedent(act) if self.precedent is not None and due <= now else ""
        if reason:
            return reason
        if act.message and self.choices.rate:
            due = max(due, self._next_message)
            if due <= now:
                self._next_message = max(self._next_message, now - CATCH_UP) + 1 / self.choices.rate
        if due > now:
            self.wake = due if self.wake is None else min(self.wake, due)
            self.wake_for_time = True
            return "its time as recorded"
        return ""

    def missing_cue(self, act: Act) -> str:
        """What the recorded peer had done before this act, and the live one has not."""
        light = act.light and self.eager
        at = self._met[light]
        cues = self.cues
        while at < len(cues) and (cues[at].left <= 0 or cues[at].odd or (light and cues[at].soft)):
            at += 1
        self._met[light] = at
        if at >= act.cues or act.released:
            return ""
        cue = self.prerequisite(act) if self.overtaking and act.light else cues[at]
        return "" if cue is None else f"{cue.where} (frame {cue.frame.number})"

    def prerequisite(self, act: Act) -> Cue | None:
        """What a light act has to wait for, also when nothing moves: what it may follow from."""
        return self.next_cue(act)

    def origin(self, act: Act) -> Cue | None:
        """The first that has not come of what a message may follow from."""
        if self._origins is None:
            self._origins = self.find_origins()
        known = self._origins.found.get(act.index)
        if known is None:
            return self.first_cause(act, 0)
        return first_pending(known) or self.first_cause(act, 1)

    def first_cause(self, act: Act, kind: int) -> Cue | None:
        """The first message (0) or commit (0, 1) before an act that has not come."""
        at, cues = self._caused[kind], self.cues
        while at < len(cues) and (
            cues[at].left <= 0 or not (cues[at].commits or (not kind and cues[at].message))
        ):
            at += 1
        self._caused[kind] = at
        return cues[at] if at < act.cues else None

    def find_origins(self) -> Origins:
        """What our messages follow from."""
        origins, at = Origins(), 0
        for act in self.acts:
            for cue in self.cues[at : act.cues]:
                came = self.passed(cue.about) if cue.message else None
                if came is not None:
                    origins.receive(cue, came)
            at = act.cues
            sent = self.passed(act.about) if act.message else None
            if sent is not None:
                origins.send(act, sent)
        return origins

    def passed(self, about: object) -> Passed | None:
        """What tells the message of an act or cue from others."""
        return None

    def next_cue(self, act: Act) -> Cue:
        """The cue that `missing_cue` has just found missing."""
        return self.cues[self._met[act.light and self.eager]]

    # when nothing moves

    @property
    def recorded_pause(self) -> float:
        """How long the recorded peers were silent before what is waited for now."""
        cue = self.first_missing()
        if cue is None:
            return 0.0
        at, time = cue.frame.number, cue.frame.time
        frames = [act.frame for act in self.acts] + [each.frame for each in self.cues]
        before = [frame.time for frame in frames if frame.number < at]
        return (time - max(before)) / NANOSECONDS if before else 0.0

    def hasten(self) -> bool:
        """The live peer does not answer one by one as the recorded one did: do not wait for it."""
        if self.eager or self.side == CLIENT:
            return False
        self.eager = True
        self.eager = any(
            acts[0].light and not self.obstacle(acts[0]) and not self.missing_cue(acts[0])
            for acts in self.lanes.values()
        )
        return self.eager

    def loosen(self) -> bool:
        """Nothing moves: let acts go ahead of what they do not depend on; whether that may help."""
        helped = not self.overtaking
        self.loose = self.overtaking = True
        self.eager = self.eager or self.side != CLIENT
        for acts in self.lanes.values():
            act = acts[0]
            early, late = self.divided(act)
            if early is not None:
                helped = True
                self.try_to_send(Act(act.kind, act.frame, act.lane, early))
                act.about = late
        return helped

    def hurry(self) -> None:
        """What is waited for is late: messages do not wait for outcomes, nor for other clients."""
        self.eager = True
        self.precedent = None

    def divided(self, act: Act) -> tuple[object, object]:
        """What an act is about, cut into what can be sent now and what waits; None: all waits."""
        return None, None

    def blockers(self, act: Act) -> list[Cue]:
        """What an act waits for beyond the cues before it."""
        return []

    def give_up(self) -> bool:
        """What is waited for will not come: go on without it; whether there is a way on."""
        if not self.ready:
            self.refuse_setup("does not answer")
            return False
        act = self.waiting
        if act is None:
            first = self.first_missing()
            if first is None:
                before = len(self.out)
                self.finish_politely()
                return len(self.out) > before
            self.abandon(self.cues[first.turn :])
            return True
        blockers = [] if self.missing_cue(act) else self.blockers(act)
        for cue in blockers:
            self.miss(cue)
        if blockers:
            return True
        if not self.missing_cue(act):
            where = f"{act.kind} waits for {self.reason}"
            self.diverge("stuck", act.frame, where)
            self.drop_lane(act)
            return True
        if act.light and not act.released and not self.obstacle(act):
            act.released = True
            return True
        for cue in self.cues[: act.cues]:
            self.miss(cue)
        return True

    def drop_lane(self, act: Act) -> None:
        """Leave out an act that cannot be sent, and those like it behind it."""
        acts = self.lanes[act.lane]
        while acts and acts[0].kind == act.kind:
            acts.popleft()
            self.unsent += 1
        if not acts:
            del self.lanes[act.lane]

    def waits_for(self) -> str:
        """What the conversation waits for now, in words."""
        if self.waiting is not None:
            act = self.waiting
            return f"{act.kind} of frame {act.frame.number} waits for {self.reason}"
        if not self.ready:
            return f"the {PEERS[1 - self.side]} to set up the connection"
        cue = self.first_missing()
        if cue is None:
            return f"the {PEERS[1 - self.side]} to end the connection"
        return f"{cue.where} (frame {cue.frame.number})"
