"""Ways to make one frame of AMQP 1.0 illegal."""

from mutation import adds, changes, drops

from dissectors.notation import parse
from dissectors.v1_0.encode import As, encode, encode_frame
from dissectors.v1_0.message import walk
from dissectors.v1_0.values import Symbol

FAR = 4711
"""Further than anything on the way could reach."""
SESSION = "attach flow transfer disposition detach"


# helpers of operators


def payload(each):
    return each.raw[each.unit.payload :]


def copy(each, fields):
    """The performative of a unit with other fields, by the spec's names with underscores."""
    values = list(each.body.values)
    names = [field.name.replace("-", "_") for field in each.body.row.fields]
    values += [None] * (len(names) - len(values))
    for name, value in fields.items():
        values[names.index(name)] = value
    return type(each.body)(values=values)


def changed(each, channel=None, **fields):
    """A unit with other fields, and perhaps on another channel."""
    place = each.channel if channel is None else channel
    return encode_frame(copy(each, fields), place, payload(each), type=each.unit.type)


def sound(each):
    """The unit was read without faults: what is made of it is illegal in one way only."""
    return each.unit.faults == [] and not each.body.wrong


def free_channel(scene, sender, least=0):
    used = {each.channel for each in scene.before + scene.after if each.sender == sender}
    return next(number for number in range(least, 65536) if number not in used)


def handles(scene, each):
    """The links that the sender has attached on the session, by handle."""
    found = {}
    for other in scene.before:
        if other.sender != each.sender or other.channel != each.channel:
            continue
        if other.name == "attach":
            found[other.body.handle] = other.body
        elif other.name == "detach":
            found.pop(other.body.handle, None)
        elif other.name in {"begin", "end"}:
            found = {}
    return found


def begun(scene, each):
    """The begin of the sender's session; None before it and after its end."""
    found = None
    for other in scene.said(each.sender, "begin", "end"):
        if other.channel == each.channel:
            found = other if other.name == "begin" else None
    return found


def partner_open(scene, each):
    """The partner's open, if the sender had read it."""
    known = units_of(scene, 1 - each.sender)[: each.known]
    return next((other.body for other in known if other.name == "open"), None)


def units_of(scene, sender):
    return [other for other in scene.before if other.sender == sender]


def transfers(scene, each):
    """The sender's transfers on the session."""
    start = begun(scene, each)
    return [
        other
        for other in scene.said(each.sender, "transfer")
        if other.channel == each.channel and start is not None and other.time >= start.time
    ]


def going_on(scene, each):
    """The transfer continues a delivery."""
    same = [other for other in transfers(scene, each) if other.body.handle == each.body.handle]
    return bool(same) and bool(same[-1].body.more) and not same[-1].body.aborted


def flow_text(each, more=""):
    return parse(
        f"flow[{each.channel}] next-incoming-id=0 incoming-window=9 next-outgoing-id=0"
        f" outgoing-window=9 {more}"
    )


# handshake


@drops("header", "VER-001 SAS-001")
def header_missing(scene, each):
    following = scene.next_said(each.sender)
    return None if scene.before or following is None or following.name == "header" else b"-"


@adds("open", "VER-013")
def header_after_open(scene, each):
    return parse("header AMQP 1.0.0")


@drops("open", "CON-001")
def open_missing(scene, each):
    following = scene.next_said(each.sender)
    return None if following is None or following.name in {"close", "header"} else b"-"


@adds("open", "CON-003")
def open_twice(scene, each):
    return each.raw


@changes("open", "CON-002")
def open_off_channel_zero(scene, each):
    return changed(each, channel=3)


@changes("open", "CON-005")
def max_frame_size_below_512(scene, each):
    return changed(each, max_frame_size=200)


@changes("open", "TYP-001")
def open_without_container_id(scene, each):
    return changed(each, container_id=None)


@changes("open", "TYP-002")
def open_with_hostname_as_number(scene, each):
    return changed(each, hostname=As(0x70, 5))


@adds("header", "CON-023 VER-001 FRM-005 SAS-003")
def empty_frame_before_open(scene, each):
    return parse("empty") if each.unit.header.id == 0 else None


# SASL


@changes("sasl-init", "SAS-014")
def mechanism_not_offered(scene, each):
    return changed(each, mechanism=Symbol("X-NOBODY-KNOWS-IT"))


@adds("sasl-init", "SAS-018")
def sasl_init_twice(scene, each):
    return each.raw


@changes("sasl-outcome", "SAS-021 TYP-010")
def outcome_code_unknown(scene, each):
    return changed(each, code=77)


@adds("sasl-init", "SAS-019")
def response_without_challenge(scene, each):
    return parse('sasl-response response=b"x"')


@adds("sasl-outcome", "SAS-020 SAS-003 FRM-005")
def sasl_frame_after_outcome(scene, each):
    return parse('sasl-challenge challenge=b"x"')


@changes("sasl-mechanisms", "SAS-009 SAS-010 SAS-019")
def challenge_instead_of_mechanisms(scene, each):
    return parse('sasl-challenge challenge=b"x"')


@changes("sasl-init", "SAS-010 SAS-009")
def outcome_instead_of_init(scene, each):
    return parse("sasl-outcome code=0")


@changes("sasl-init sasl-mechanisms sasl-outcome", "SAS-003 FRM-005 FRM-008 SAS-007")
def sasl_in_frame_of_type_0(scene, each):
    return each.raw[:5] + b"\0" + each.raw[6:]


# frames


@changes("any", "FRM-002")
def doff_below_2(scene, each):
    return None if each.name in {"header", "empty"} else each.raw[:4] + b"\1" + each.raw[5:]


@changes("any", "FRM-003")
def doff_beyond_the_frame(scene, each):
    if each.name == "header" or len(each.raw) >= 4 * 0xFF:
        return None
    return each.raw[:4] + b"\xff" + each.raw[5:]


@changes(f"begin end {SESSION}", "FRM-004")
def frame_type_unknown(scene, each):
    return each.raw[:5] + b"\7" + each.raw[6:]


@changes(f"begin end {SESSION}", "FRM-008")
def performative_unknown(scene, each):
    return each.raw[:8] + each.raw[8:].replace(b"\x53" + bytes((each.unit.code,)), b"\x53\x66", 1)


@adds("begin", "FRM-006")
def frame_too_large(scene, each):
    other = partner_open(scene, each)
    size = None if other is None else other.max_frame_size
    if size is None or size > 200_000:
        return None
    return flow_text(each, f'properties={{:x=b"{"x" * size}"}}')


@adds("begin", "FRM-011")
def channel_above_channel_max(scene, each):
    other = partner_open(scene, each)
    highest = None if other is None else other.channel_max
    if highest is None or highest >= 65535:
        return None
    return changed(each, channel=highest + 1, remote_channel=None)


# encodings


@changes(f"begin open {SESSION}", "ENC-001 ENC-010 TYP-002")
def format_code_unknown(scene, each):
    at = each.unit.doff * 4 + 3
    at += {0xC0: 3, 0xD0: 9}.get(each.raw[at], 0)
    return (
        None
        if each.raw[each.unit.doff * 4 + 1] != 0x53
        else each.raw[:at] + b"\xd7" + each.raw[at + 1 :]
    )


@changes(f"begin open {SESSION}", "ENC-002 ENC-003 ENC-004 ENC-013 TYP-008")
def list_longer_than_the_frame(scene, each):
    at = each.unit.doff * 4 + 3
    if each.raw[at - 2] != 0x53 or each.raw[at] != 0xC0 or payload(each):
        return None
    return each.raw[: at + 1] + b"\xff" + each.raw[at + 2 :]


@changes(f"begin open {SESSION}", "ENC-004 ENC-003 ENC-002 TYP-001 TYP-002")
def list_with_a_wrong_count(scene, each):
    at = each.unit.doff * 4 + 3
    if each.raw[at - 2] != 0x53 or each.raw[at] != 0xC0:
        return None
    return each.raw[: at + 2] + bytes((each.raw[at + 2] + 3,)) + each.raw[at + 3 :]


@changes("attach", "TYP-024")
def name_not_utf8(scene, each):
    name = encode(each.body.name)
    wrong = name[:2] + b"\xff" + name[3:]
    return each.raw.replace(name, wrong, 1) if len(name) in range(3, 250) else None


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


# the end


@adds("close", "CON-014 CON-009")
def close_twice(scene, each):
    return each.raw


@adds("close", "CON-009")
def flow_after_close(scene, each):
    return flow_text(each)


@adds("close", "CON-024 CON-009")
def empty_frame_after_close(scene, each):
    return parse("empty")
