"""The outside of frames: type, channel, size and end (A09-FRM-07 to 14, 35, 36; 4.2.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.foreign import speaks_otherwise
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import rabbit_since
from amqpscope.stream.types import CLIENT, PEERS
from dissectors.errors import Damage
from dissectors.v0_9.framing import FRAME_END

BAD_FRAMES: Final = frozenset(("A09-FRM-07", "A09-FRM-08"))


@rule(
    "A09-FRM-07", "4.2.3", MUST, ERROR, on="special | request | response | header", needs="trusted"
)
def frame_type_undefined(event: Event, report: Reporter) -> None:
    """The type of a frame is one that the version has.

    A receiver cannot skip what it does not know, and must close. A protocol header where a frame
    should come is read as one of type 65.

    Bad (channel):
        client: frame-0-x type=77 channel=1 0x00   # <- A09-FRM-07

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: header AMQP 0.9.1   # <- A09-FRM-07

    Good (v0_9):
        client: frame-0-x type=7 channel=0 0x00
    """
    unit = event.unit
    if unit.header is not None:
        report_header(event, report)
        return
    if unit.type in unit.dialect.frame_types or unit.label == "heartbeat":
        return
    if event.connection.announced and ends_right(event):
        text = f"{unit.dialect.protocol} has no frame type {unit.type}"
        report.sure(event, text, "type")


def report_header(event: Event, report: Reporter) -> None:
    """Report a protocol header of a peer whose frames should follow."""
    own, refused = event.own, event.connection.stage == stages.REFUSED
    if not own.frames or not own.anchored or refused:
        return
    related = ((own.header_mark or own.last_mark, "what it began with"),)
    text = f"the {PEERS[event.peer]} sends a protocol header where a frame should come"
    report.sure(event, text, "type", related)


def ends_right(event: Event) -> bool:
    """The frame ends where its size says, with the octet that ends frames."""
    return not any(fault.kind is Damage.FRAME for fault in event.unit.faults)


@rule("A09-FRM-08", "4.2.3", MUST, ERROR, on="malformed", needs="trusted")
def frame_end_octet_missing(event: Event, report: Reporter) -> None:
    """A frame ends with the octet 0xCE, right where its size puts the end.

    It is there to find out at once that sender and receiver count differently: two threads that
    write without a lock, a size that is not that of the payload, a buffer sent twice.

    Bad (channel):
        client: queue.declare[1 end=0x00] queue="q"   # <- A09-FRM-08
        client: heartbeat

    Good (channel):
        client: queue.declare[1] queue="q"
    """
    unit, raw = event.unit, event.frame.raw
    if ends_right(event):
        return
    if event.peer == CLIENT and not event.frame.offset and speaks_otherwise(raw):
        return
    known = unit.label if unit.label != "malformed" else "what should be a frame"
    head, size = unit.head, unit.size
    if len(raw) == head + size + 1:
        text = f"{known} ends with 0x{raw[-1]:02x}, not 0x{FRAME_END:02x}"
    elif len(raw) > head:
        text = f"no frame ends where a size of {size} puts its end: {raw[:8].hex(' ')} ..."
    else:
        text = f"{raw.hex(' ')} is not a frame"
    report.sure(event, text, "frame-end")


@rule("A09-FRM-09", "4.2.3", MUST, INFO, on="tick frame | answers")
def data_after_bad_frame(event: Event, report: Reporter) -> None:
    """Who gets a frame that is none closes, and sends nothing more.

    Many send a connection.close first, which is of use and does no harm. Others read on.

    Bad (channel):
        client: queue.declare[1 end=0x00] queue="q"   # <- A09-FRM-08
        client: heartbeat
        @3s server: queue.declare-ok[1] queue="q"   # <- A09-FRM-09

    Good (channel):
        client: queue.declare[1] queue="q"
        @3s server: queue.declare-ok[1] queue="q"
    """
    if event.name in ("connection.close", "connection.close-ok"):
        return
    for fault in event.connection.faults:
        bad = fault.rule in BAD_FRAMES and fault.sure and fault.peer != event.peer
        late = event.knew(fault.mark) and event.since(fault.mark) > GRACE
        if bad and late and report.once(event.own):
            text = f"the {PEERS[event.peer]} goes on after octets that are not a frame"
            report.suspect(event, text, "", ((fault.mark, "the bad frame"),))
            return


@rule("A09-FRM-10", "4.2.3, 2.3.3", MUST, ERROR, on="oversize")
def frame_above_frame_max(event: Event, report: Reporter) -> None:
    """No frame is larger than the frame-max that both agreed on.

    The limit counts the whole frame: eight octets more than its payload. Bodies can be cut in
    several frames; a method or a content header cannot, so headers that grow on the way (such as
    x-death) can make a broker break the limit. The receiver closes the connection, with all of its
    channels.

    Bad (started connection.start.server-properties={product="RabbitMQ"}):
        server: connection.tune frame-max=4096
        client: connection.tune-ok frame-max=4096
        client: connection.open virtual-host="/"
        server: connection.open-ok
        client: channel.open[1]
        server: channel.open-ok[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=4089
        client: content-body[1] 0x00*4089   # <- A09-FRM-10

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=4089
        client: content-body[1] 0x00*4089
    """
    connection = event.connection
    limit = event.own.frame_limit
    if event.frame.cut:
        return
    tune, tune_ok = connection.tune, connection.tune_ok
    related = (
        (None if tune is None else tune.mark, "the server's tune"),
        (None if tune_ok is None else tune_ok.mark, "the client's tune-ok"),
    )
    text = f"{event.name} of {event.size} octets, frame-max is {limit}"
    report.sure(event, text, "size", related)


@rule("A09-FRM-11", "tune frame-max minimum", MUST, WARNING, on="handshake")
def frame_above_minimum_before_tune(event: Event, report: Reporter) -> None:
    """Before a frame-max was agreed on, frames have at most 4096 octets.

    RabbitMQ takes 8192 from 4.1 on, because tokens do not fit otherwise.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
                response=0x00*4096   # <- A09-FRM-11

    Good (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="b" version="1" platform="p" copyright="c"
                information="i"}
        client: connection.start-ok mechanism="PLAIN" locale="en_US" client-properties={
                product="c" version="1" platform="p" copyright="c" information="i"}
    """
    connection = event.connection
    if connection.tune_ok is not None or connection.stage == stages.UNKNOWN:
        return
    least = 8192 if rabbit_since(connection, 4, 1) else stages.FRAME_MIN_SIZE
    if event.size > least:
        text = f"{event.name} of {event.size} octets before a frame-max was agreed, {least} at most"
        report.sure(event, text, "size")


@rule("A09-FRM-12", "4.2.3, 4.2.1", MUST, ERROR, on="wrong-channel connection.*", needs="trusted")
def connection_method_off_channel_zero(event: Event, report: Reporter) -> None:
    """Methods of the connection are on channel 0.

    Bad (channel):
        client: connection.close[1] reply-code=200 reply-text="bye"   # <- A09-FRM-12

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    report.sure(event, f"{event.name} on channel {event.unit.channel}, not 0", "channel")


@rule("A09-FRM-13", "4.2.3", MUST, ERROR, on="wrong-channel method", needs="trusted")
def channel_method_on_channel_zero(event: Event, report: Reporter) -> None:
    """Methods of all other classes are on a channel other than 0.

    Bad (opened):
        client: channel.open[0]   # <- A09-FRM-13

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    if not event.name.startswith("connection."):
        report.sure(event, f"{event.name} on channel 0, which is the connection's own", "channel")


@rule(
    "A09-FRM-14",
    "4.2.6.1",
    MUST,
    ERROR,
    on="wrong-channel content-header | wrong-channel content-body",
    needs="trusted",
)
def content_frame_on_channel_zero(event: Event, report: Reporter) -> None:
    """The header and the bodies of a content are not on channel 0.

    Bad (channel):
        client: content-header[0] class=basic body-size=0   # <- A09-FRM-14

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    report.sure(event, f"{event.name} on channel 0, which carries no contents", "channel")


@rule("A09-FRM-35", "2.3.1", IMPLIED, WARNING, on="finished")
def stream_ends_inside_frame(event: Event, report: Reporter) -> None:
    """A peer ends its stream between two frames.

    Bad (channel):
        client: octets 0x01000100000010003c
        client: FIN   # <- A09-FRM-35
        server: FIN

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
        client: FIN
        server: FIN
    """
    own, frame = event.own, event.frame
    if not frame.cut or frame.sender != event.peer or own.finished != "fin":
        return
    if own.anchored or own.sound > kinds.TRUSTED:
        text = f"the {PEERS[event.peer]} closes inside a frame, {len(frame.raw)} octets into it"
        report.sure(event, text)


@rule("A09-FRM-36", "2.2.4", IMPLIED, WARNING, on="after-close", needs="trusted")
def frame_after_close_ok(event: Event, report: Reporter) -> None:
    """Who has answered a connection.close sends nothing more.

    Bad (channel):
        server: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
        client: channel.open[2]   # <- A09-FRM-36

    Good (channel):
        server: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
        client: heartbeat
        server: FIN
        client: FIN
    """
    own = event.own
    if own.close_ok_mark is None or event.name in ("heartbeat", "connection.close-ok"):
        return
    if report.once(own):
        text = f"the {PEERS[event.peer]} sends {event.name} after its close-ok"
        report.sure(event, text, "", ((own.close_ok_mark, "its close-ok"),))
