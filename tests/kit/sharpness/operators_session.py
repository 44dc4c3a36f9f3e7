"""Ways to make one frame of AMQP 1.0 illegal: sessions, links and their flows."""

from dissectors.notation import parse
from dissectors.v1_0.encode import As
from kit.sharpness.mutation import adds, changes
from kit.sharpness.performatives import (
    FAR,
    SESSION,
    begun,
    changed,
    flow_text,
    free_channel,
    going_on,
    handles,
    sound,
)

# sessions


@adds("begin", "SES-002")
def begin_twice(scene, each):
    return each.raw if begun(scene, each) is None else None


@changes("begin", "TYP-001")
def begin_without_incoming_window(scene, each):
    return changed(each, incoming_window=None)


@changes("begin", "TYP-002")
def begin_with_window_as_text(scene, each):
    return changed(each, outgoing_window="many")


@changes("begin", "SES-003")
def remote_channel_of_nothing(scene, each):
    if each.body.remote_channel is not None or scene.said(1 - each.sender, "begin"):
        return None
    return changed(each, remote_channel=9)


@changes("begin", "SES-004", mild=True)
def remote_channel_missing(scene, each):
    return None if each.body.remote_channel is None else changed(each, remote_channel=None)


@changes("begin", "SES-005")
def remote_channel_wrong(scene, each):
    return None if each.body.remote_channel is None else changed(each, remote_channel=FAR)


@changes(SESSION, "SES-001 SES-009")
def on_a_channel_not_begun(scene, each):
    return changed(each, channel=free_channel(scene, each.sender)) if sound(each) else None


@adds("end", "SES-010 SES-009 SES-001")
def end_twice(scene, each):
    return each.raw


@adds("end", "SES-009 SES-001")
def flow_after_end(scene, each):
    return flow_text(each)


@adds("begin", "SES-016")
def handle_above_handle_max(scene, each):
    other = each.body.remote_channel
    theirs = [one for one in scene.said(1 - each.sender, "begin") if one.channel == other]
    if other is None or not theirs or theirs[-1].body.handle_max in {None, 0xFFFFFFFF}:
        return None
    return parse(
        f'attach[{each.channel}] name="too-high" handle={theirs[-1].body.handle_max + 1}'
        ' role=sender source=source() target=target(address="q") initial-delivery-count=0'
    )


# links


@adds("attach", "LNK-001")
def handle_in_use(scene, each):
    return changed(each, name=f"{each.body.name}-2")


@changes("attach", "TYP-001")
def attach_without_role(scene, each):
    return changed(each, role=None)


@changes("attach", "TYP-001")
def attach_without_handle(scene, each):
    return changed(each, handle=None)


@changes("attach", "TYP-002")
def attach_with_name_as_number(scene, each):
    return changed(each, name=As(0x70, 5))


@changes("attach", "LNK-017")
def initial_delivery_count_missing(scene, each):
    return None if each.body.role is not False else changed(each, initial_delivery_count=None)


@changes("attach", "SRC-001 TYP-002")
def source_of_another_type(scene, each):
    return changed(each, source="q")


@changes("transfer", "LNK-005")
def transfer_on_a_handle_not_attached(scene, each):
    return changed(each, handle=FAR)


@changes("flow", "LNK-004")
def flow_on_a_handle_not_attached(scene, each):
    return None if each.body.handle is None else changed(each, handle=FAR)


@changes("detach", "LNK-006")
def detach_of_a_handle_not_attached(scene, each):
    return changed(each, handle=FAR)


@adds("detach", "LNK-006")
def detach_twice(scene, each):
    return each.raw


@changes("transfer", "LNK-028 LNK-005")
def transfer_by_the_receiver(scene, each):
    ours = [handle for handle, attach in handles(scene, each).items() if attach.role]
    return changed(each, handle=ours[0]) if ours and not going_on(scene, each) else None


# flows


@changes("flow", "TYP-001")
def flow_without_incoming_window(scene, each):
    return changed(each, incoming_window=None)


@changes("flow", "TYP-002")
def flow_with_window_as_text(scene, each):
    return changed(each, incoming_window="wide")


@changes("flow", "FLW-003")
def next_outgoing_id_wrong(scene, each):
    return changed(each, next_outgoing_id=each.body.next_outgoing_id + FAR)


@changes("flow", "FLW-006 FLW-008")
def next_incoming_id_leads(scene, each):
    if each.body.next_incoming_id is None:
        return None
    return changed(each, next_incoming_id=each.body.next_incoming_id + FAR)


@changes("flow", "FLW-005")
def next_incoming_id_missing(scene, each):
    start, stated = begun(scene, each), scene.said(each.sender, "flow")
    # TCP's ACK does not prove that a peer has read its partner's begin: what it has said does.
    proved = any(
        other.channel == each.channel and other.body.next_incoming_id is not None
        for other in stated
    )
    if each.body.next_incoming_id is None or start is None:
        return None
    if start.body.remote_channel is None and not proved:
        return None
    return changed(each, next_incoming_id=None)


@changes("flow", "FLW-014 FLW-012")
def receiver_delivery_count_leads(scene, each):
    link = handles(scene, each).get(each.body.handle)
    if link is None or link.role is not True or each.body.delivery_count is None:
        return None
    return changed(each, delivery_count=each.body.delivery_count + FAR)


@changes("flow", "FLW-010")
def sender_delivery_count_missing(scene, each):
    link = handles(scene, each).get(each.body.handle)
    return None if link is None or link.role else changed(each, delivery_count=None)


@changes("flow", "FLW-011")
def sender_delivery_count_wrong(scene, each):
    link = handles(scene, each).get(each.body.handle)
    if link is None or link.role or each.body.delivery_count is None:
        return None
    return changed(each, delivery_count=each.body.delivery_count + FAR)


@changes("flow", "FLW-009")
def link_fields_without_a_handle(scene, each):
    return None if each.body.handle is None else changed(each, handle=None, link_credit=1)
