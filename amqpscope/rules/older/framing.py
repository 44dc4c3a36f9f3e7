"""Protocol headers and the outside of frames (A09-FRM-01 to 21, 35, 36; 4.2.2, 4.2.3, 4.2.7-9)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.event import GRACE
from amqpscope.model.older import connection as stages
from amqpscope.model.older import event as kinds
from amqpscope.model.older.event import OlderEvent
from amqpscope.rules import ERROR, IMPLIED, INFO, MUST, WARNING
from amqpscope.rules.older import OlderReporter, rule
from amqpscope.rules.older.versions import rabbit_since
from amqpscope.stream import CLIENT, PEERS, SERVER
from dissectors.errors import Damage
from dissectors.v0_9.dialects import VERSIONS
from dissectors.v0_9.framing import FRAME_END, OOB_BODY, OOB_METHOD, SHORT_HEARTBEAT

RANKS: Final = {
    # what connection.start says as its version: how new that is
    (10, 3): 0,
    (8, 0): 1,
    (0, 8): 1,
    (0, 9): 2,
    (0, 91): 2,
    (9, 1): 2,
    (0, 10): 3,
    (1, 0): 4,
}
RANK_OF: Final = {"10-3": 0, "0-8": 1, "0-9": 2, "0-9-1": 2}
"""The same of what a client's header asks for."""
BAD_FRAMES: Final = frozenset(("A09-FRM-07", "A09-FRM-08"))


def asked(event: OlderEvent) -> str:
    """The dialect that the client's header asks for; empty for one that nobody knows."""
    header = event.connection.ends[CLIENT].header
    return "" if header is None else VERSIONS.get(bytes(header), "")


@rule("A09-FRM-01", "not-amqp-header", "4.2.2, 2.2.4", MUST, ERROR, on="frame")
def not_amqp_header(event: OlderEvent, report: OlderReporter) -> None:
    """The first that a client sends is a protocol header of eight octets.

    Without it the server cannot know which version the client speaks, and closes.

    Bad:
        client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-FRM-01
        client: FIN
        server: FIN

    Good (header):
        server: header AMQP 0.9.1
        server: FIN
        client: FIN
    """
    own = event.own
    if event.peer == CLIENT and not own.frames and own.anchored and not event.frame.cut:
        report.sure(event, f"the client begins with {event.name}, not with a protocol header")


@rule("A09-FRM-02", "unknown-amqp-version", "4.2.2, 1.5.2", IMPLIED, WARNING, on="header")
def unknown_amqp_version(event: OlderEvent, report: OlderReporter) -> None:
    """The client asks for a version that exists.

    All eight octets count: `1 1` and a version of two numbers up to 0-10, and from 0-9-1 on a zero
    and a version of three. Texts of 0-9 show other numbers in an example; no broker knows them.

    Bad:
        client: header 1 1.0.11   # <- A09-FRM-02
        server: header AMQP 0.9.1
        server: FIN
        client: FIN

    Good:
        client: header 1 1.9.1
        server: header AMQP 0.9.1
        server: FIN
        client: FIN
    """
    header = event.unit.header
    if event.peer != CLIENT or header is None or event.own.header is not None:
        return
    if bytes(header) not in VERSIONS:
        said = " ".join(map(str, header))
        report.sure(event, f"the client asks for AMQP {said}, which is no version", "header")


@rule("A09-FRM-03", "unsupported-version-answer-broken", "4.2.2", MUST, WARNING, on="finished")
def unsupported_version_answer_broken(event: OlderEvent, report: OlderReporter) -> None:
    """A server that does not speak the client's version says which one it does, and closes.

    Closed without a word, the client cannot tell a wrong version from a server that is down. What
    closes may also be a load balancer before it.

    Bad (header):
        server: FIN   # <- A09-FRM-03
        client: FIN

    Good (header):
        server: header AMQP 0.9.1
        server: FIN
        client: FIN
    """
    own, connection = event.own, event.connection
    if event.peer != SERVER or own.finished != "fin" or own.frames or not own.anchored:
        return
    if connection.stage == stages.HDR and not event.partner.finished:
        text = "the server closes upon the client's header without saying which version it speaks"
        report.suspect(event, text, "header", mark=event.partner.header_mark)


@rule("A09-FRM-04", "data-after-refusal-header", "4.2.2", MUST, ERROR, on="header | frame")
def data_after_refusal_header(event: OlderEvent, report: OlderReporter) -> None:
    """A server that answers with a header sends nothing else.

    Bad (header):
        server: header 1 1.8.0
        server: connection.start version-major=8 mechanisms="PLAIN" locales="en_US" # <- A09-FRM-04

    Good (header):
        server: header 1 1.8.0
        server: FIN
        client: FIN
    """
    own = event.own
    if event.peer == SERVER and own.header is not None and own.anchored:
        related = ((own.header_mark, "its header"),)
        report.sure(event, f"the server refuses with a header and then sends {event.name}",
                    "", related)  # fmt: skip


@rule("A09-FRM-05", "client-data-after-refusal", "4.2.2", MUST, WARNING, on="header | frame")
def client_data_after_refusal(event: OlderEvent, report: OlderReporter) -> None:
    """A client that was refused sends nothing more on this connection.

    What was under way when the refusal came is not meant, so a second has to pass.

    Bad (header):
        server: header 1 1.8.0
        @2s client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-FRM-05

    Good (header):
        server: header 1 1.8.0
        client: FIN
        server: FIN
    """
    partner = event.partner
    if event.peer != CLIENT or event.connection.stage != stages.REFUSED:
        return
    if event.knew(partner.header_mark) and event.since(partner.header_mark) > GRACE:
        related = ((partner.header_mark, "the refusal"),)
        report.suspect(event, f"the client sends {event.name} after it was refused", "", related)


@rule("A09-FRM-06", "start-version-above-request", "1.1.1.1", MUST, ERROR, on="connection.start")
def start_version_above_request(event: OlderEvent, report: OlderReporter) -> None:
    """The server does not start a later version than the client asked for.

    Bad:
        client: header 1 1.8.0
        server: connection.start version-major=0 version-minor=10 mechanisms="PLAIN"
                locales="en_US"   # <- A09-FRM-06

    Good:
        client: header 1 1.8.0
        server: connection.start version-major=8 version-minor=0 mechanisms="PLAIN"
                locales="en_US" server-properties={product="b" version="1" platform="p"
                copyright="c" information="i"}
    """
    method, wanted = event.unit.method, RANK_OF.get(asked(event))
    if method is None or wanted is None or event.unit.faults:
        return
    version = (method.get("version-major"), method.get("version-minor"))
    if RANKS.get(version, 0) > wanted:
        text = f"the server starts {version[0]}-{version[1]}, the client asked for {asked(event)}"
        related = ((event.partner.header_mark, "the client's header"),)
        report.sure(event, text, "connection.start.version-minor", related)


@rule("A09-FRM-07", "frame-type-undefined", "4.2.3", MUST, ERROR, on="special | request | response")
def frame_type_undefined(event: OlderEvent, report: OlderReporter) -> None:
    """The type of a frame is one that the version has.

    A receiver cannot skip what it does not know, and must close.

    Bad (channel):
        client: frame-0-x type=77 channel=1 0x00   # <- A09-FRM-07

    Good (v0_9):
        client: frame-0-x type=7 channel=0 0x00
    """
    unit = event.unit
    if not event.trusted or unit.type in unit.dialect.frame_types or unit.label == "heartbeat":
        return
    if not ends_right(event):
        return
    text = f"frame type {unit.type} is not of {unit.dialect.protocol}"
    report.sure(event, text, "type")


def ends_right(event: OlderEvent) -> bool:
    """The frame ends where its size says, with the octet that ends frames."""
    return not any(fault.kind is Damage.FRAME for fault in event.unit.faults)


@rule("A09-FRM-08", "frame-end-octet-missing", "4.2.3", MUST, ERROR, on="malformed")
def frame_end_octet_missing(event: OlderEvent, report: OlderReporter) -> None:
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
    if not event.trusted or ends_right(event):
        return
    known = unit.label if unit.label != "malformed" else "what should be a frame"
    head, size = unit.doff, unit.size
    if len(raw) == head + size + 1:
        text = f"{known} ends with 0x{raw[-1]:02x}, not 0x{FRAME_END:02x}"
    elif len(raw) > head:
        text = f"no frame ends where a size of {size} puts its end: {raw[:8].hex(' ')} ..."
    else:
        text = f"{raw.hex(' ')} is no frame"
    report.sure(event, text, "frame-end")


@rule("A09-FRM-09", "data-after-bad-frame", "4.2.3", MUST, INFO, on="tick frame")
def data_after_bad_frame(event: OlderEvent, report: OlderReporter) -> None:
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
    if event.name in ("connection.close", "connection.close-ok") or "09" in event.own.told:
        return
    for fault in event.connection.faults:
        bad = fault.rule in BAD_FRAMES and fault.sure and fault.peer != event.peer
        if bad and event.knew(fault.mark) and event.since(fault.mark) > GRACE:
            event.own.told.add("09")
            text = f"the {PEERS[event.peer]} goes on after octets that are no frame"
            report.suspect(event, text, "", ((fault.mark, "the bad frame"),))
            return


@rule("A09-FRM-10", "frame-above-frame-max", "4.2.3, 2.3.3", MUST, ERROR, on="oversize")
def frame_above_frame_max(event: OlderEvent, report: OlderReporter) -> None:
    """No frame is larger than the frame-max that both agreed on.

    The limit counts the whole frame: eight octets more than its payload. Bodies can be cut in
    several frames; a method or a content header cannot, so headers that grow on the way (such as
    x-death) can make a broker break the limit. The receiver closes the connection, with all of its
    channels.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="RabbitMQ"}
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
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


@rule(
    "A09-FRM-11", "frame-above-minimum-before-tune", "tune frame-max minimum", MUST, WARNING,
    on="handshake",
)  # fmt: skip
def frame_above_minimum_before_tune(event: OlderEvent, report: OlderReporter) -> None:
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


@rule(
    "A09-FRM-12", "connection-method-off-channel-zero", "4.2.3, 4.2.1", MUST, ERROR,
    on="wrong-channel method connection.*",
)  # fmt: skip
def connection_method_off_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
    """Methods of the connection are on channel 0.

    Bad (channel):
        client: connection.close[1] reply-code=200 reply-text="bye"   # <- A09-FRM-12

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    if event.trusted:
        report.sure(event, f"{event.name} on channel {event.unit.channel}, not 0", "channel")


@rule(
    "A09-FRM-13", "channel-method-on-channel-zero", "4.2.3", MUST, ERROR, on="wrong-channel method"
)
def channel_method_on_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
    """Methods of all other classes are on a channel other than 0.

    Bad (opened):
        client: channel.open[0]   # <- A09-FRM-13

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    if not event.name.startswith("connection.") and event.trusted:
        report.sure(event, f"{event.name} on channel 0, which is the connection's own", "channel")


@rule(
    "A09-FRM-14", "content-frame-on-channel-zero", "4.2.6.1", MUST, ERROR,
    on="wrong-channel content-header | wrong-channel content-body",
)  # fmt: skip
def content_frame_on_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
    """The header and the bodies of a content are not on channel 0.

    Bad (channel):
        client: content-header[0] class=basic body-size=0   # <- A09-FRM-14

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    if event.trusted:
        report.sure(event, f"{event.name} on channel 0, which carries no contents", "channel")


@rule(
    "A09-FRM-15", "heartbeat-off-channel-zero", "4.2.9", MUST, WARNING,
    on="wrong-channel heartbeat",
)  # fmt: skip
def heartbeat_off_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
    """A heartbeat is on channel 0.

    It is the connection that is alive, not a channel. Brokers have tolerated it.

    Bad (channel):
        client: heartbeat[1]   # <- A09-FRM-15

    Good (channel):
        client: heartbeat
    """
    if event.trusted:
        report.sure(event, f"heartbeat on channel {event.unit.channel}, not 0", "channel")


@rule("A09-FRM-16", "heartbeat-with-payload", "4.2.1", IMPLIED, WARNING, on="heartbeat")
def heartbeat_with_payload(event: OlderEvent, report: OlderReporter) -> None:
    """A heartbeat has no payload.

    Bad (channel):
        client: frame-0-x type=8 channel=0 0x00   # <- A09-FRM-16

    Good (channel):
        client: heartbeat
    """
    if event.unit.size and event.trusted:
        report.sure(event, f"heartbeat with a payload of {event.unit.size} octets", "size")


@rule("A09-FRM-17", "heartbeat-short-form", "4.2.1", IMPLIED, WARNING, on="heartbeat")
def heartbeat_short_form(event: OlderEvent, report: OlderReporter) -> None:
    """A heartbeat has eight octets, as every frame without a payload.

    One grammar of 0-9 leaves its size out. Whoever reads the next octets as that size is lost.

    Bad (v0_9):
        client: heartbeat'short   # <- A09-FRM-17
        client: channel.open[2]

    Good (v0_9):
        client: heartbeat
        client: channel.open[2]
    """
    if event.frame.raw == SHORT_HEARTBEAT and event.trusted:
        report.sure(event, "heartbeat of 4 octets: it has no size, most will misread it", "size")


@rule(
    "A09-FRM-18", "heartbeat-type-misprint", "4.2.3", IMPLIED, WARNING, on="heartbeat",
    dialects="0-9-1",
)  # fmt: skip
def heartbeat_type_misprint(event: OlderEvent, report: OlderReporter) -> None:
    """The type of a heartbeat is 8.

    The text of 0-9-1 says 4 in one place, and 8 in its grammar and everywhere else.

    Bad (channel):
        client: frame-0-x type=4 channel=0 0x   # <- A09-FRM-18

    Good (channel):
        client: heartbeat
    """
    if event.unit.type == OOB_METHOD and event.trusted:
        report.sure(event, "heartbeat of type 4, a misprint: its type is 8", "type")


@rule(
    "A09-FRM-19", "trace-off-channel-zero", "4.2.8", MUST, ERROR, on="special",
    dialects="10-3 0-8 0-9=",
)  # fmt: skip
def trace_off_channel_zero(event: OlderEvent, report: OlderReporter) -> None:
    """A trace frame is on channel 0.

    Bad (v0_9):
        client: frame-0-x type=7 channel=1 0x00   # <- A09-FRM-19

    Good (v0_9):
        client: frame-0-x type=7 channel=0 0x00
    """
    if event.unit.label == "trace" and event.unit.channel and event.trusted:
        report.sure(event, f"trace frame on channel {event.unit.channel}, not 0", "channel")


@rule("A09-FRM-20", "unsupported-frame-not-discarded", "4.2.8", MUST, INFO, on="connection.close")
def unsupported_frame_not_discarded(event: OlderEvent, report: OlderReporter) -> None:
    """A peer that does not know heartbeats or traces drops them without an error.

    A close about a frame that was not understood, right after such a frame, looks as if that one
    was meant. It may be chance.

    Bad (channel):
        client: heartbeat
        server: connection.close reply-code=501 reply-text="FRAME_ERROR"   # <- A09-FRM-20
        client: connection.close-ok

    Good (channel):
        client: heartbeat
        server: connection.close reply-code=320 reply-text="CONNECTION_FORCED"
        client: connection.close-ok
    """
    partner, method = event.partner, event.unit.method
    odd = partner.heartbeat_mark or partner.trace_mark
    if method is None or odd is None or partner.damaged is not None or event.own.close is not None:
        return
    newest = (partner.heartbeat_mark, partner.trace_mark)
    if partner.last_mark not in newest or not event.knew(partner.last_mark):
        return
    if method.get("reply-code") in (501, 502, 503, 505, 540):
        text = f"closes with {method.get('reply-code')} upon a frame that is to be dropped"
        related = ((partner.last_mark, "the frame before"),)
        report.suspect(event, text, "connection.close.reply-code", related)


@rule(
    "A09-FRM-21", "out-of-band-not-agreed", "4.2.7, 2.3.5.3", IMPLIED, WARNING, on="special",
    dialects="10-3 0-8 0-9=",
)  # fmt: skip
def out_of_band_not_agreed(event: OlderEvent, report: OlderReporter) -> None:
    """Out-of-band frames are on a channel that was opened with an out-of-band transport.

    Bad (v0_9):
        client: frame-0-x type=4 channel=1 size=9 0x   # <- A09-FRM-21

    Good (v0_9):
        client: channel.open[2] out-of-band="shm"
        server: channel.open-ok[2]
        client: frame-0-x type=4 channel=2 size=9 0x
    """
    unit = event.unit
    channel = event.connection.channels.get(unit.channel)
    if not OOB_METHOD <= unit.type <= OOB_BODY or channel is None or not event.trusted:
        return
    if channel.sure and not channel.out_of_band:
        text = f"out-of-band frame on channel {unit.channel}, which was opened without a transport"
        report.sure(event, text, "type", ((channel.mark, "its open"),))


@rule("A09-FRM-35", "stream-ends-inside-frame", "2.3.1", IMPLIED, WARNING, on="finished")
def stream_ends_inside_frame(event: OlderEvent, report: OlderReporter) -> None:
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
        text = f"the {PEERS[event.peer]} closes inside a frame, {frame.missing} octets early"
        report.sure(event, text)


@rule("A09-FRM-36", "frame-after-close-ok", "2.2.4", IMPLIED, WARNING, on="after-close")
def frame_after_close_ok(event: OlderEvent, report: OlderReporter) -> None:
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
    if own.close_ok_mark is None or event.kinds & kinds.HEARTBEAT or not event.trusted:
        return
    if event.name == "connection.close-ok" or "36" in own.told:
        return
    own.told.add("36")
    text = f"the {PEERS[event.peer]} sends {event.name} after its close-ok"
    report.sure(event, text, "", ((own.close_ok_mark, "its close-ok"),))
