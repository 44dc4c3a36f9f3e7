"""Ways to make one frame of AMQP 0-9-1 illegal."""

from functools import partial

from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_heartbeat,
    encode_method,
)
from kit.sharpness import mutation

FAR = 4711
"""More than any tag or channel that is used."""

changes = partial(mutation.changes, v0_9=True)
adds = partial(mutation.adds, v0_9=True)


# helpers of operators


def method(each, name, channel=None, **fields):
    """A method, in the dialect of a unit and on its channel."""
    fields = {key.replace("_", "-"): value for key, value in fields.items()}
    place = each.channel if channel is None else channel
    return encode_method(each.unit.dialect, name, fields, place)


def changed(each, channel=None, **fields):
    """A method with other arguments, and perhaps on another channel."""
    said = {name.replace("-", "_"): value for name, value in each.unit.fields()}
    return method(each, each.name, channel, **{**said, **fields})


def moved(each, channel):
    """A frame on another channel."""
    return each.raw[:1] + channel.to_bytes(2, "big") + each.raw[3:]


def is_method(each):
    return each.unit.label == "method" and not each.unit.faults


def free_channel(scene):
    used = {each.channel for each in scene.before + scene.after}
    return next(number for number in range(1, 65536) if number not in used)


def on_channel(scene, each, *names):
    """Units of both peers on a channel, since it was opened."""
    found = []
    for other in scene.before:
        if other.channel == each.channel:
            if other.name == "channel.open":
                found = []
            if other.name in names:
                found.append(other)
    return found


def complete(scene, each):
    """No content of the sender waits for its rest on the channel, before and behind a unit."""
    if each.unit.label in {"content-header", "content-body"}:
        return False
    return each.name not in {"basic.publish", "basic.deliver", "basic.get-ok", "basic.return"}


def opened(scene, each):
    return any(other.channel == each.channel for other in scene.said(1, "channel.open-ok"))


# frames


@changes("any", "A09-FRM-08")
def frame_end_wrong(scene, each):
    return None if each.name == "header" else each.raw[:-1] + b"\x00"


@changes("any", "A09-FRM-07")
def frame_type_unknown(scene, each):
    return None if each.name == "header" or each.channel else b"\x0c" + each.raw[1:]


@changes("queue.declare queue.bind basic.consume basic.qos exchange.declare", "A09-FRM-22")
def method_unknown(scene, each):
    return each.raw[:9] + b"\x03\xe7" + each.raw[11:]


@changes("queue.declare queue.bind basic.consume basic.publish exchange.declare", "A09-FRM-25")
def arguments_cut_short(scene, each):
    size = int.from_bytes(each.raw[3:7], "big") - 1
    return each.raw[:3] + size.to_bytes(4, "big") + each.raw[7:-2] + b"\xce"


@changes("connection.tune-ok connection.open connection.start-ok connection.tune", "A09-FRM-12")
def connection_method_off_channel_zero(scene, each):
    return moved(each, 1)


@changes("queue.declare queue.bind basic.consume basic.qos exchange.declare", "A09-FRM-13")
def channel_method_on_channel_zero(scene, each):
    return moved(each, 0)


@adds("channel.open-ok queue.declare queue.declare-ok", "A09-FRM-16 A09-FRM-15", mild=True)
def heartbeat_off_channel_zero(scene, each):
    return encode_heartbeat(each.channel)


@adds("queue.declare-ok", "A09-FRM-24")
def method_of_the_client_by_the_server(scene, each):
    return method(each, "queue.declare", queue="q")


@adds("queue.declare", "A09-FRM-24")
def method_of_the_server_by_the_client(scene, each):
    return method(each, "basic.deliver", consumer_tag="c", delivery_tag=1)


# the handshake


@adds("connection.start", "A09-CON-01")
def start_twice(scene, each):
    return each.raw


@adds("connection.start-ok", "A09-CON-01")
def open_before_tune_ok(scene, each):
    return method(each, "connection.open", virtual_host="/")


@adds("connection.tune", "A09-CON-01")
def open_ok_before_open(scene, each):
    return method(each, "connection.open-ok")


@changes("connection.start-ok", "A09-CON-02")
def mechanism_not_offered(scene, each):
    return changed(each, mechanism="NOBODY-KNOWS-IT")


@changes("connection.tune-ok", "A09-CON-10")
def frame_max_above_offer(scene, each):
    offered = scene.said(1, "connection.tune")[-1].unit.method.get("frame-max")
    return changed(each, frame_max=offered + 1) if offered else None


@changes("connection.tune-ok", "A09-CON-08")
def channel_max_above_offer(scene, each):
    offered = scene.said(1, "connection.tune")[-1].unit.method.get("channel-max")
    return changed(each, channel_max=offered + 1) if 0 < offered < 65535 else None


@changes("connection.tune connection.tune-ok", "A09-CON-11")
def frame_max_below_minimum(scene, each):
    return changed(each, frame_max=100)


@adds("connection.open-ok", "A09-CON-01 A09-CON-32")
def open_ok_twice(scene, each):
    return each.raw


# channels


@changes("basic.qos basic.consume queue.declare queue.bind exchange.declare", "A09-CHN-02")
def method_on_a_channel_not_open(scene, each):
    return moved(each, free_channel(scene))


@adds("channel.open-ok", "A09-CHN-05")
def open_ok_of_a_channel_twice(scene, each):
    return each.raw


@adds("queue.declare queue.bind basic.qos basic.consume", "A09-CHN-03")
def channel_opened_twice(scene, each):
    return method(each, "channel.open") if opened(scene, each) else None


@adds("queue.declare-ok queue.bind-ok basic.qos-ok", "A09-CHN-05")
def reply_twice(scene, each):
    return each.raw


@adds("queue.declare-ok basic.qos-ok", "A09-CHN-05")
def close_ok_unasked(scene, each):
    return method(each, "channel.close-ok")


@adds("channel.close", "A09-CHN-10")
def method_after_own_channel_close(scene, each):
    return method(each, "queue.declare", queue="q") if each.sender == 0 else None


@adds("connection.close", "A09-CON-26")
def method_after_own_close(scene, each):
    return method(each, "channel.open", 1)


# contents


@adds("queue.declare queue.bind queue.declare-ok basic.qos-ok", "A09-FRM-48")
def content_header_without_a_method(scene, each):
    return encode_content_header(each.unit.dialect, "basic", 5, {}, each.channel)


@adds("queue.declare queue.bind queue.declare-ok basic.qos-ok", "A09-FRM-48")
def content_body_without_a_method(scene, each):
    return encode_body(b"hello", each.channel)


@adds("basic.publish", "A09-FRM-40 A09-FRM-41")
def method_where_a_content_header_is_due(scene, each):
    return method(each, "queue.declare", queue="q")


@changes("content-header", "A09-FRM-44")
def content_header_of_another_class(scene, each):
    return each.raw[:7] + (50).to_bytes(2, "big") + each.raw[9:]


@changes("content-header", "A09-FRM-45")
def content_weight_not_zero(scene, each):
    return each.raw[:9] + b"\0\7" + each.raw[11:]


@changes("content-body", "A09-FRM-43")
def content_body_too_long(scene, each):
    return encode_body(each.raw[7:-1] + b"and more", each.channel)


# consumers, deliveries, acknowledgements


@changes("basic.ack", "A09-BAS-10 A09-CNF-03")
def ack_of_a_tag_not_delivered(scene, each):
    return changed(each, delivery_tag=FAR, multiple=False)


@adds("basic.ack", "A09-BAS-11 A09-BAS-10")
def ack_twice(scene, each):
    return each.raw if each.sender == 0 else None


@changes("basic.deliver", "A09-BAS-06")
def deliver_to_nobody(scene, each):
    return changed(each, consumer_tag="nobody")


@changes("basic.deliver basic.get-ok", "A09-BAS-08")
def delivery_tag_zero(scene, each):
    return changed(each, delivery_tag=0)


@adds("basic.consume", "A09-BAS-03")
def consumer_tag_in_use(scene, each):
    return each.raw if each.unit.method.get("consumer-tag") else None


@adds("basic.qos-ok queue.declare-ok", "A09-BAS-20 A09-CHN-05")
def get_empty_unasked(scene, each):
    return method(each, "basic.get-empty")


# transactions


@adds("queue.declare queue.bind", "A09-TX-01")
def commit_without_select(scene, each):
    return None if on_channel(scene, each, "tx.select") else method(each, "tx.commit")
