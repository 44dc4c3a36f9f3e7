"""Heartbeats, traces and out-of-band frames as frames (A09-FRM-15 to 21; 4.2.7 to 4.2.9)."""

from __future__ import annotations

from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import NEW, OLD
from amqpscope.wording import plural
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import OOB_BODY, OOB_METHOD, SHORT_HEARTBEAT


@rule("A09-FRM-15", "4.2.9", MUST, WARNING, on="wrong-channel heartbeat", needs="trusted")
def heartbeat_off_channel_zero(event: Event, report: Reporter) -> None:
    """A heartbeat is on channel 0.

    It is the connection that is alive, not a channel. Brokers have tolerated it.

    Bad (channel):
        client: heartbeat[1]   # <- A09-FRM-15

    Good (channel):
        client: heartbeat
    """
    report.sure(event, f"heartbeat on channel {event.unit.channel}, not 0", "channel")


@rule("A09-FRM-16", "4.2.1", IMPLIED, WARNING, on="heartbeat", needs="trusted")
def heartbeat_with_payload(event: Event, report: Reporter) -> None:
    """A heartbeat has no payload.

    Bad (channel):
        client: frame-0-x type=8 channel=0 0x00   # <- A09-FRM-16

    Good (channel):
        client: heartbeat
    """
    if event.unit.size:
        report.sure(
            event, f"heartbeat with a payload of {plural(event.unit.size, 'octet')}", "size"
        )


@rule("A09-FRM-17", "4.2.1", IMPLIED, WARNING, on="heartbeat", needs="trusted")
def heartbeat_short_form(event: Event, report: Reporter) -> None:
    """A heartbeat has eight octets, as every frame without a payload.

    One grammar of 0-9 leaves its size out. Whoever reads the next octets as that size is lost.

    Bad (v0_9):
        client: heartbeat'short   # <- A09-FRM-17
        client: channel.open[2]

    Good (v0_9):
        client: heartbeat
        client: channel.open[2]
    """
    if event.frame.raw == SHORT_HEARTBEAT:
        report.sure(event, "heartbeat of 4 octets: it has no size, most will misread it", "size")


@rule("A09-FRM-18", "4.2.3", IMPLIED, WARNING, on="heartbeat", dialects=NEW, needs="trusted")
def heartbeat_type_misprint(event: Event, report: Reporter) -> None:
    """The type of a heartbeat is 8.

    The text of 0-9-1 says 4 in one place, and 8 in its grammar and everywhere else.

    Bad (channel):
        client: frame-0-x type=4 channel=0 0x   # <- A09-FRM-18

    Good (channel):
        client: heartbeat
    """
    if event.unit.type == OOB_METHOD:
        report.sure(event, "heartbeat of type 4, a misprint: its type is 8", "type")


@rule("A09-FRM-19", "4.2.8", MUST, ERROR, on="special", dialects=OLD, needs="trusted")
def trace_off_channel_zero(event: Event, report: Reporter) -> None:
    """A trace frame is on channel 0.

    Bad (v0_9):
        client: frame-0-x type=7 channel=1 0x00   # <- A09-FRM-19

    Good (v0_9):
        client: frame-0-x type=7 channel=0 0x00
    """
    if event.unit.label == "trace" and event.unit.channel:
        report.sure(event, f"trace frame on channel {event.unit.channel}, not 0", "channel")


@rule("A09-FRM-20", "4.2.8", MUST, INFO, on="connection.close", needs="!closed")
def unsupported_frame_not_discarded(event: Event, report: Reporter, method: Method) -> None:
    """A peer that does not know heartbeats or traces drops them without an error.

    A close about a frame that was not understood, right after such a frame, looks as if that one
    was meant. It may be chance.

    Bad (channel):
        client: heartbeat
        server: connection.close reply-code=501 reply-text="FRAME_ERROR"   # <- A09-FRM-20

    Good (channel):
        client: heartbeat
        server: connection.close reply-code=320 reply-text="CONNECTION_FORCED"
        client: connection.close-ok
    """
    partner = event.partner
    newest = (partner.heartbeat_mark, partner.trace_mark)
    if partner.last_mark not in newest or not event.knew(partner.last_mark):
        return
    if partner.damaged is None and method.get("reply-code") in (501, 502, 503, 505, 540):
        text = f"closes with {method.get('reply-code')} upon a frame that is to be dropped"
        related = ((partner.last_mark, "the frame before"),)
        report.suspect(event, text, "connection.close.reply-code", related)


@rule("A09-FRM-21", "4.2.7, 2.3.5.3", IMPLIED, WARNING, on="special", dialects=OLD, needs="trusted")
def out_of_band_not_agreed(event: Event, report: Reporter) -> None:
    """Out-of-band frames are on a channel that was opened with an out-of-band transport.

    Bad (v0_9):
        client: frame-0-x type=4 channel=1 size=9 0x   # <- A09-FRM-21

    Good (v0_9):
        client: frame-0-x type=7 channel=0 0x00
    """
    unit = event.unit
    channel = event.connection.channels.get(unit.channel)
    if not OOB_METHOD <= unit.type <= OOB_BODY or channel is None:
        return
    if channel.sure and not channel.out_of_band:
        text = f"out-of-band frame on channel {unit.channel}, which was opened without a transport"
        report.sure(event, text, "type", ((channel.mark, "its open"),))
