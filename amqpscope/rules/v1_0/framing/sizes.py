"""Sizes of frames and of their headers, and the limits for them (FRM; spec 2.3.1, 2.7.1).

The limits of a direction are those that its receiver announced in its open: there is no smaller
of the two. What was sent before that open could be seen is judged when it comes.
"""

from __future__ import annotations

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import MIN_MAX_FRAME_SIZE, NO_LIMIT
from amqpscope.model.v1_0.event import FINISHED, Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.version.headers import frames_of_0_9
from amqpscope.stream.types import PEERS
from dissectors.errors import Damage
from dissectors.v1_0.bodies import Open, Transfer
from dissectors.wire import u32


def header_damage(event: Event) -> int:
    """Where in a frame's own header the damage lies; -1 if there is none, or none to trust."""
    unit = event.frame.unit
    if not unit.faults or unit.faults[0].kind != Damage.FRAME:
        return -1
    if not event.own.anchored or not event.trusted:
        return -1
    # Before a header nothing says that these are frames at all.
    return unit.faults[0].offset if event.own.headers else -1


@rule("FRM-001", "2.3.1", MUST, ERROR, on="malformed")
def frame_size_too_small(event: Event, report: Reporter) -> None:
    """The size of a frame counts its own header, so it is at least 8.

    Behind such a size nobody can tell where the next frame begins: the direction is lost. Writes
    of two threads that went into each other look like this.

    Bad (opened):
        client: octets 0x0000000702000000   # <- FRM-001

    Good (opened):
        client: octets 0x0000000802000000
    """
    raw = event.frame.raw
    if header_damage(event) == 0 and len(raw) >= 4 and u32(raw, 0) < 8:
        report.sure(event, f"frame size is {u32(raw, 0)}, the frame header alone has 8", "size")


@rule("FRM-002", "2.3.1", IMPLIED, ERROR, on="malformed")
def doff_too_small(event: Event, report: Reporter) -> None:
    """The data offset of a frame is at least 2: the body begins after the frame header.

    Bad (opened):
        client: octets 0x0000000c0100000000534045   # <- FRM-002

    Good (opened):
        client: begin[0 extended=0x00000000] next-outgoing-id=0 incoming-window=1 outgoing-window=1
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=1 outgoing-window=1
    """
    doff = event.frame.unit.head // 4
    if header_damage(event) == 4 and doff < 2:
        report.sure(event, f"data offset is {doff}, the least is 2", "doff")


@rule("FRM-003", "2.3.1", IMPLIED, ERROR, on="malformed")
def doff_beyond_frame(event: Event, report: Reporter) -> None:
    """The body of a frame begins within the frame: four times the data offset is at most its size.

    Bad (opened):
        client: octets 0x0000000803000000   # <- FRM-003

    Good (opened):
        client: octets 0x0000000c0300000000000000
    """
    doff, size = event.frame.unit.head // 4, len(event.frame.raw)
    if header_damage(event) == 4 and doff * 4 > size:
        report.sure(event, f"data offset {doff} is octet {doff * 4}, the frame has {size}", "doff")


@rule("FRM-006", "2.7.1", MUST, ERROR, on="oversize | open | malformed", needs="anchored")
def frame_exceeds_peer_max(event: Event, report: Reporter) -> None:
    """A frame is no larger than the max-frame-size in its receiver's open.

    Receivers allocate by it and close with amqp:connection:framing-error, or hang. Most often a
    message was not split over several transfers. The sender's own max-frame-size has no part in
    it, 512 is always allowed, and SASL frames have a limit of their own.

    Bad (headers):
        server: open container-id="s" max-frame-size=512
        client: open container-id="c" properties={
                :a="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :b="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :c="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :d="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :e="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :f="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                }   # <- FRM-006

    Good (headers):
        server: open container-id="s" max-frame-size=1024
        client: open container-id="c" max-frame-size=512 properties={
                :a="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :b="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :c="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :d="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :e="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :f="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                }
    """
    frame, partner = event.frame, event.partner
    if frame.missing or frame.cut:
        return
    size = frame_size(event)
    if size > partner.frame_limit and frame.unit.type == 0 and event.own.layer == 0:
        limit, granted = partner.frame_limit, partner.open_mark
        too_large(event, report, size, limit, event.peer, event.mark, granted)
    body = event.body
    if isinstance(body, Open) and event.own.open is None and not frame.unit.faults:
        limit = announced_frame_size(body)
        if partner.early.size > limit and partner.anchored:
            early = partner.early.size
            too_large(event, report, early, limit, partner.peer, partner.early.mark, event.mark)


def frame_size(event: Event) -> int:
    """A frame's size; of one that is too large for us to hold, the size that it claims."""
    frame = event.frame
    if frame.unit.faults and frame.unit.faults[0].kind == Damage.FRAME and len(frame.raw) == 8:
        return int(u32(frame.raw, 0)) if frame.raw[5] == 0 and frame.raw[4] >= 2 else 0
    return len(frame.raw)


def announced_frame_size(body: Open) -> int:
    """The largest frame that an open lets the partner send."""
    size = body.max_frame_size
    return NO_LIMIT if size is None else max(size, MIN_MAX_FRAME_SIZE)


def too_large(
    event: Event,
    report: Reporter,
    size: int,
    limit: int,
    peer: int,
    mark: Mark | None,
    granted: Mark | None,
) -> None:
    """Report a frame above its receiver's limit."""
    hint = ""
    if mark is event.mark and isinstance(event.body, Transfer):
        hint = ": the message was not split"
    report.sure(
        event,
        f"the {PEERS[peer]} sends a frame of {size} octets, its partner takes {limit}{hint}",
        "size",
        ((granted, "the open with the partner's max-frame-size"),),
        peer=peer,
        mark=mark,
    )


@rule("FRM-007", "2.4.1, 2.8.19", IMPLIED, INFO, on="open | finished")
def frame_exceeds_512_before_open(event: Event, report: Reporter) -> None:
    """Before its partner's open has come, a peer sends no frame of more than 512 octets.

    Nobody has to take more at that time. A peer may know its partner from before, and the open that
    came later allowed the size, so this is a note; a strict partner would have closed. Where the
    partner hangs up without an open, that may be why, and it is a warning.

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c" properties={
                :a="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :b="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :c="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :d="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :e="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :f="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                }   # <- FRM-007
        server: header AMQP 1.0.0
        server: open container-id="s" max-frame-size=65536

    Bad:
        client: header AMQP 1.0.0
        client: open container-id="c" properties={
                :a="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :b="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :c="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :d="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :e="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                :f="0123456789012345678901234567890123456789012345678901234567890123456789012345678"
                }   # <- FRM-007
        server: header AMQP 1.0.0
        server: RST

    Good:
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: header AMQP 1.0.0
        server: open container-id="s" max-frame-size=65536
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    body, partner = event.body, event.partner
    size = partner.early.size
    if size <= MIN_MAX_FRAME_SIZE or event.own.open is not None:
        return
    if event.kinds & FINISHED:
        hung_up(event, report, size)
        return
    if (
        not isinstance(body, Open)
        or event.frame.unit.faults
        or not partner.anchored
        or not event.own.anchored
    ):
        return
    if size <= announced_frame_size(body):
        report.sure(
            event,
            f"the {PEERS[partner.peer]} sent a frame of {size} octets before its partner's open"
            f" could allow more than {MIN_MAX_FRAME_SIZE}",
            "size",
            ((event.mark, "the partner's open, which allows it"),),
            peer=partner.peer,
            mark=partner.early.mark,
        )


def hung_up(event: Event, report: Reporter, size: int) -> None:
    """Report a frame that nobody had to take, where its receiver ends the connection upon it."""
    own, partner = event.own, event.partner
    if own.finished not in ("fin", "rst") or partner.finished or partner.damaged:
        return
    if own.anchored and partner.anchored and event.connection.clean(partner.peer):
        report.suspect(
            event,
            f"the {PEERS[partner.peer]} sent a frame of {size} octets before its partner's open,"
            f" when {MIN_MAX_FRAME_SIZE} is the most, and the {PEERS[own.peer]} hung up",
            "size",
            severity=WARNING,
            peer=partner.peer,
            mark=partner.early.mark,
        )


@rule("FRM-014", "2.3, 2.4.3", IMPLIED, WARNING, on="finished")
def stream_cut_mid_frame(event: Event, report: Reporter) -> None:
    """A peer ends its direction of the TCP connection after a whole frame.

    A process that was killed, or a proxy that gave up, leaves half a frame behind, so this is never
    more than a suspicion.

    Bad (session):
        client: octets 0x00000020020000000053
        client: FIN   # <- FRM-014

    Good (session):
        client: close
        client: FIN
        server: close
        server: FIN
    """
    frame, own = event.frame, event.own
    if not frame.cut or frame.sender != event.peer or own.finished not in {"fin", "rst"}:
        return
    if frame.raw[:4] == b"AMQP"[: len(frame.raw)] or frames_of_0_9(frame.raw):
        return  # VER-014 and VER-012 speak of it.
    have = len(frame.raw)
    rest = f", {frame.missing} are missing" if frame.missing else ""
    report.suspect(
        event,
        f"the {PEERS[event.peer]} ends its stream after {have} octets of a frame{rest}",
        severity=WARNING if own.finished == "fin" else INFO,
    )
