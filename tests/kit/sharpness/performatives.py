"""What operators of 1.0 need to know of a scene, and how they write the frame that they want."""

from dissectors.notation import parse
from dissectors.v1_0.encode import encode_frame

FAR = 4711
"""Further than anything on the way could reach."""
SESSION = "attach flow transfer disposition detach"


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


def same_link(one, other):
    return one.body.handle == other.body.handle
