"""Ways to make one frame of AMQP 1.0 illegal: headers, SASL, encodings, open and close."""

from dissectors.notation import parse
from dissectors.v1_0.encode import As, encode
from dissectors.v1_0.values import Symbol
from kit.sharpness.mutation import adds, changes, drops
from kit.sharpness.performatives import SESSION, changed, flow_text, partner_open, payload

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
