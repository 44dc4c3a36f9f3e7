"""Channel flow, alerts, resuming, and what opens a channel (A09-CHN-15, 17 to 19, 21)."""

from __future__ import annotations

from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import text as said
from amqpscope.rules.v0_9 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import CLIENT, PEERS
from dissectors.v0_9.codec import Method


@rule("A09-CHN-15", "1.1.2.3", IMPLIED, WARNING, on="odd-publish | odd-deliver", needs="sure")
def content_while_flow_stopped(event: Event, report: Reporter, channel: Channel) -> None:
    """Who has agreed to stop the flow of a channel begins no content on it.

    A content that is under way is finished, and a get is answered.

    Bad (stopped):
        client: channel.flow-ok[1] active=false
        client: basic.publish[1] routing-key="q"   # <- A09-CHN-15

    Good (stopped):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: channel.flow-ok[1] active=false
        server: channel.flow[1] active=true
        client: channel.flow-ok[1] active=true
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    if event.name.endswith(".get-ok"):
        return
    flow = channel.flows[1 - event.peer]
    if flow.active or flow.ok_active or flow.ok_mark is None:
        return
    if report.once(flow, flow.ok_mark.frame):
        text = f"{event.name} on channel {channel.number}, where the flow is stopped"
        related = ((flow.mark, "the flow"), (flow.ok_mark, "its flow-ok"))
        report.sure(event, text, "", related)


@rule("A09-CHN-17", "flow-ok active", IMPLIED, WARNING, on="channel.flow-ok", needs="sure")
def flow_ok_state_differs(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """A flow-ok says the same as the flow that it answers.

    Bad (stopped):
        client: channel.flow-ok[1] active=true   # <- A09-CHN-17

    Good (stopped):
        client: channel.flow-ok[1] active=false
    """
    if channel.doubtful[1 - event.peer]:
        return
    asked, answered = bool(request.method.get("active")), bool(method.get("active"))
    if asked != answered:
        text = f"flow-ok says active={str(answered).lower()}, the flow {str(asked).lower()}"
        report.sure(event, text, "channel.flow-ok.active", ((request.mark, "the flow"),))


@rule("A09-CHN-18", "1.1.2.5", IMPLIED, WARNING, on="channel.alert", dialects="10-3 0-8")
def alert_out_of_place(event: Event, report: Reporter) -> None:
    """An alert is sent by the server, on a channel that is open.

    Bad (v0_8):
        client: channel.open[2]
        server: channel.alert[2] reply-code=310 reply-text="lost"   # <- A09-CHN-18

    Good (v0_8):
        server: channel.alert[1] reply-code=310 reply-text="lost"
    """
    channel = event.channel
    if event.peer == CLIENT:
        report.sure(event, "the client sends an alert")
    elif channel is not None and channel.sure and channel.ok_mark is None:
        text = f"an alert on channel {channel.number}, of which the open is not answered"
        report.sure(event, text, "", ((channel.mark, "its open"),))


@rule("A09-CHN-19", "out-of-band assert null", IMPLIED, WARNING, on="channel.open")
def out_of_band_field_set(event: Event, report: Reporter, method: Method) -> None:
    """A channel.open asks for nothing out of band.

    There is no other way than this connection. 0-9-1 has the field reserved, and some clients put
    a "0" there, which is only a note. Reported once for each peer.

    Bad (opened):
        client: channel.open[1] reserved-1="x"   # <- A09-CHN-19

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    for name in ("out-of-band", "reserved-1"):
        value = said(method, name)
        if value and report.once(event.own):
            severity = INFO if name == "reserved-1" else WARNING
            text = f"{name} is {value!r}, not empty"
            report.sure(event, text, f"channel.open.{name}", severity=severity)


@rule("A09-CHN-21", "grammar", MUST, WARNING, on="channel.resume", dialects="0-9=")
def resume_unknown_channel_id(event: Event, report: Reporter, method: Method) -> None:
    """A resume names a channel-id that an open-ok gave.

    That may have been on another connection, so only an empty one is reported.

    Bad (v0_9):
        client: channel.resume[1] channel-id=""   # <- A09-CHN-21

    Good (v0_9):
        client: channel.resume[1] channel-id="c-17"
        server: channel.ok[1]
    """
    if not method.get("channel-id"):
        text = f"the {PEERS[event.peer]} resumes a channel without saying which"
        report.sure(event, text, "channel.resume.channel-id")
