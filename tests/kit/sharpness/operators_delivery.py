"""Ways to make one frame of AMQP 1.0 illegal: transfers, dispositions and messages."""

from dissectors.notation import parse
from dissectors.v1_0.encode import As, encode_frame
from dissectors.v1_0.message import walk
from kit.sharpness.mutation import adds, changes, leads
from kit.sharpness.performatives import (
    FAR,
    changed,
    copy,
    going_on,
    handles,
    payload,
    same_link,
    sound,
    transfers,
)

# deliveries


@changes("transfer", "DLV-007", mild=True)
def delivery_id_not_the_next(scene, each):
    if going_on(scene, each) or not transfers(scene, each) or each.body.delivery_id is None:
        return None
    return changed(each, delivery_id=each.body.delivery_id + FAR)


@changes("transfer", "DLV-001", mild=True)
def delivery_id_missing(scene, each):
    return None if going_on(scene, each) else changed(each, delivery_id=None)


@changes("transfer", "DLV-002", mild=True)
def delivery_tag_missing(scene, each):
    if going_on(scene, each) or each.body.settled:
        return None
    return changed(each, delivery_tag=None)


@changes("transfer", "TYP-019")
def delivery_tag_too_long(scene, each):
    return None if going_on(scene, each) else changed(each, delivery_tag=bytes(33))


@changes("transfer", "TYP-001")
def transfer_without_handle(scene, each):
    return changed(each, handle=None)


@changes("transfer", "TYP-002")
def transfer_with_more_as_number(scene, each):
    return changed(each, more=As(0x70, 7))


@changes("transfer", "DLV-004")
def delivery_id_differs_within(scene, each):
    return changed(each, delivery_id=FAR) if going_on(scene, each) else None


@changes("transfer", "DLV-005")
def delivery_tag_differs_within(scene, each):
    return changed(each, delivery_tag=b"another") if going_on(scene, each) else None


@leads("transfer", "DLV-009 DLV-004", mild=True)
def delivery_never_completed(scene, each):
    following = scene.next_said(each.sender)
    if each.body.more or each.body.aborted or following is None or following.name != "transfer":
        return None
    other = following.channel == each.channel and same_link(following, each)
    if not other or following.body.delivery_id in {None, each.body.delivery_id}:
        return None
    return changed(each, more=True)


@changes("transfer", "DLV-006")
def message_format_differs_within(scene, each):
    return changed(each, message_format=77) if going_on(scene, each) else None


@adds("transfer", "DLV-007 DLV-018 DLV-019")
def transfer_twice(scene, each):
    if going_on(scene, each) or each.body.more or each.body.delivery_id is None:
        return None
    return each.raw


@adds("attach", "FLW-016 FLW-017")
def transfer_before_credit(scene, each):
    body = each.body
    if body.role is not False or not sound(each) or type(body.target).__name__ != "Target":
        return None
    if any(one.name == "attach" and one.body.name == body.name for one in scene.before):
        return None
    first = transfers(scene, each)
    return (
        parse(
            f"transfer[{each.channel}] handle={body.handle}"
            f' delivery-id={len(first) and first[-1].body.delivery_id + 1} delivery-tag=b"early"'
            ' message-format=0 | data(b"x")'
        )
        if not first or first[-1].body.delivery_id is not None
        else None
    )


@changes("transfer", "DLV-014")
def unsettled_in_settled_mode(scene, each):
    link = handles(scene, each).get(each.body.handle)
    wrong = link is not None and link.snd_settle_mode == 1 and not each.body.more
    return changed(each, settled=False) if wrong and not going_on(scene, each) else None


@changes("transfer", "DLV-015")
def settled_in_unsettled_mode(scene, each):
    link = handles(scene, each).get(each.body.handle)
    wrong = link is not None and link.snd_settle_mode == 0 and not each.body.more
    return changed(each, settled=True) if wrong and not going_on(scene, each) else None


def deliveries(scene, each):
    """The deliveries that the sender of a transfer has begun on its link, with this one."""
    firsts = {other.body.delivery_id for other in transfers(scene, each) if same_link(other, each)}
    return len(firsts - {None} | {each.body.delivery_id})


def granted(scene, each):
    """The highest delivery-count that any flow of the receiver allows; None if not clear."""
    ours = handles(scene, each).get(each.body.handle)
    if ours is None or ours.initial_delivery_count != 0 or len(handles(scene, each)) > 1:
        return None
    theirs = [other.body for other in scene.said(1 - each.sender, "flow")]
    limits = [
        flow.delivery_count + flow.link_credit for flow in theirs if flow.delivery_count is not None
    ]
    return max(limits, default=None)


def another(each):
    """One more delivery behind a transfer that completes one."""
    number = each.body.delivery_id
    if number is None or each.body.more or each.body.aborted:
        return None
    return changed(each, delivery_id=number + 1, delivery_tag=b"one more")


@adds("transfer", "FLW-016")
def transfer_beyond_credit(scene, each):
    limit = granted(scene, each)
    if limit is None or deliveries(scene, each) < limit:
        return None
    return another(each)


# dispositions


@changes("disposition", "DSP-001 DSP-003")
def disposition_of_the_other_role(scene, each):
    return None if transfers(scene, each) else changed(each, role=not each.body.role)


@changes("disposition", "DSP-002")
def disposition_of_an_inverted_range(scene, each):
    return changed(each, first=each.body.first + 9, last=each.body.first)


@changes("disposition", "DSP-003")
def disposition_of_the_future(scene, each):
    return changed(each, first=each.body.first + FAR, last=None)


@changes("disposition", "TYP-001")
def disposition_without_role(scene, each):
    return changed(each, role=None)


@changes("disposition", "TYP-002")
def disposition_with_first_as_text(scene, each):
    return changed(each, first="one")


@changes("disposition", "OUT-002 TYP-002")
def disposition_with_a_state_of_no_kind(scene, each):
    return changed(each, state="done")


# messages


def whole(scene, each):
    """The sections of a client's message in one transfer; a server may pass on what is wrong."""
    link = handles(scene, each).get(each.body.handle)
    if each.sender or link is None or type(link.target).__name__ != "Target":
        return None
    if each.body.more or each.body.aborted or going_on(scene, each):
        return None
    data = payload(each)
    found, fault = walk(data)
    if fault is not None or not found:
        return None
    return [data[section.start : section.stop] for section in found]


def with_sections(each, sections):
    return encode_frame(copy(each, {}), each.channel, b"".join(sections))


@changes("transfer", "MSG-001 MSG-004")
def sections_out_of_order(scene, each):
    sections = whole(scene, each)
    if sections is None or len(sections) < 2 or sections[0][:3] == sections[-1][:3]:
        return None
    return with_sections(each, [*sections[1:], sections[0]])


@changes("transfer", "MSG-002 MSG-005")
def section_repeated(scene, each):
    sections = whole(scene, each)
    if sections is None or sections[0][2] in {0x75, 0x76}:
        return None
    return with_sections(each, [sections[0], *sections])


@changes("transfer", "MSG-004 MSG-001 MSG-005")
def bodies_of_two_kinds(scene, each):
    sections = whole(scene, each)
    if sections is None or sections[-1][2] not in {0x75, 0x76, 0x77}:
        return None
    other = b"\0\x53\x75\xa0\1x" if sections[-1][2] != 0x75 else b"\0\x53\x77\x41"
    return with_sections(each, [*sections, other])


@changes("transfer", "MSG-007 MSG-008 ENC-002")
def octets_behind_the_message(scene, each):
    sections = whole(scene, each)
    return None if sections is None else with_sections(each, [*sections, b"\0\x53"])
