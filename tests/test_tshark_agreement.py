"""What we read agrees with tshark, frame by frame and field by field, but for its known errors.

tshark prints its tree (PDML); our values are put into the words that tshark would use for them.
A frame is compared by its packet, size, kind, channel, performative, fields and message sections.
"""

import math
import re
import subprocess
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.values import Array, Char, Described, Map, Timestamp, Uuid

CAPTURES = Path(__file__).parent.parent / "captures"
PORTS = (5680, 5682, 5685, 5771, 5772, 5872, 47672, 47680)
"""Where the brokers of the captures listen; tshark finds AMQP on 5672 and 5671 alone."""
DECRYPTED = {"v10_uamqp-rabbitmq-tls_basic.pcapng": 5671}
"""A proxy recorded what it had decrypted, on a port where tshark expects TLS."""

# ---------------------------------------------------------------- where Wireshark is wrong

NOT_COMPARED = {
    "dmg_snap128-v10_proton-labbroker_large512.pcap":
        "Wireshark does not go on after a frame that was not captured whole: it takes payload for"
        " frame headers",
    "v10_rhea-rabbitmq_large.pcap.zst":
        "Wireshark takes the parts of a message for messages, here in 60 MB of tree;"
        " v10_proton-labbroker_large is the same and shorter",
    "v10_ws-rhea-rhea.pcap": "Wireshark finds no AMQP inside WebSocket",
}  # fmt: skip

OUT_OF_ORDER = {"dmg_outoforder-v10_proton-rabbitmq_manylinks.pcap"}
"""Wireshark shows a frame at the packet that filled the hole before it, we where its octets are."""

FRAME, FIELDS, SECTIONS_OF = "frame", "fields", "sections"

_ARRAY = "an array of elements without octets (empty lists, true, uint0) ends Wireshark's reading"
_ULONG = "of a message-id that is a ulong Wireshark reads the first four octets alone"
_AFTER = "an empty binary in the frame before stops Wireshark for the rest of the packet"
_POLICY = "Wireshark names a lifetime policy by its type and drops the key of the map"
_EMPTY = "PDML shows an empty address as one that is not there"
_DAMAGE = "octets of this frame are damaged"

KNOWN = {
    # capture: {number of the frame (ours): what is not compared, and why}
    "dmg_bitflip-v10_proton-rabbitmq_manylinks.pcap": {
        183: (FIELDS, _DAMAGE), 389: (FRAME, _DAMAGE),
    },
    "v10_amqp10js-rabbitmq_outcomes.pcapng": {12: (FIELDS, _EMPTY)},
    "v10_proton-labbroker_types.pcap": {
        21: (SECTIONS_OF, _ARRAY), 27: (SECTIONS_OF, _ULONG), 33: (FRAME, _AFTER),
        38: (SECTIONS_OF, _ARRAY), 44: (SECTIONS_OF, _ULONG), 53: (FRAME, _AFTER),
    },
    "v10_proton-rhea_types.pcap": {
        21: (SECTIONS_OF, _ARRAY), 27: (SECTIONS_OF, _ULONG), 33: (FRAME, _AFTER),
        44: (SECTIONS_OF, _ULONG), 55: (FRAME, _AFTER),
    },
    "v10_protoncpp-qpidd_tx.pcapng": {
        21: (SECTIONS_OF, _ULONG), 22: (SECTIONS_OF, _ULONG), 23: (SECTIONS_OF, _ULONG),
    },
    "v10_rhea-rabbitmq_dynamic.pcap": {6: (FIELDS, _POLICY)},
}  # fmt: skip


def split(step):
    """Wireshark takes the payload of each transfer for a whole message: it joins none."""
    delivery = step.event.delivery
    return delivery is not None and (delivery.transfers > 1 or step.frame.unit.body.more)


def unseen(section, value):
    """Wireshark leaves out an amqp-value that is described (also declare, discharge) or nothing."""
    return section.name == "amqp-value" and (
        isinstance(value, Described | Body) or value is None or value == b""
    )


# ---------------------------------------------------------------- tshark's side


def tshark(path):
    """The AMQP 1.0 frames by packet, as tshark shows them."""
    command = ["tshark", "-r", path, "-T", "pdml", "-J", "frame amqp"]
    if path.name in OUT_OF_ORDER:  # not for all: with it, one lost segment hides all that follow
        command += ["-o", "tcp.reassemble_out_of_order:TRUE"]
    keys = path.with_suffix(".keys")
    if keys.exists():
        command += ["-o", f"tls.keylog_file:{keys}"]
    for port in (*PORTS, DECRYPTED.get(path.name, PORTS[0])):
        command += ["-d", f"tcp.port=={port},amqp"]
    # A capture that is cut short makes it exit with 2, after everything that can be read.
    made = subprocess.run(command, capture_output=True, check=False, timeout=60).stdout
    clean = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"?", made).decode("utf-8", "replace")
    packets = {}
    for packet in ET.fromstring(clean):
        protos = {proto: proto.get("name") for proto in packet}
        number = next(
            int(field.get("show"))
            for proto, name in protos.items()
            if name == "frame"
            for field in proto
            if field.get("name") == "frame.number"
        )
        frames = [their_frame(proto) for proto, name in protos.items() if name == "amqp"]
        if any(frames):
            packets[number] = [frame for frame in frames if frame]
    return packets


def their_frame(proto):
    """One frame: kind or performative, channel, size, fields, sections."""
    fields = {field.get("name"): field for field in proto}
    if "amqp.init.version_revision" in fields:
        names = ("id", "version_major", "version_minor", "version_revision")
        return ("header", None, 8, [fields[f"amqp.init.{name}"].get("show") for name in names], [])
    if "amqp.doff" not in fields:
        return None
    channel = int(fields["amqp.channel"].get("show"))
    size = int(fields["amqp.length"].get("show"))
    told = fields.get("amqp.performative", fields.get("amqp.sasl.method"))
    if told is None:
        return ("empty", channel, size, [], [])
    name = told.get("showname").split(": ")[1].split(" (")[0].replace("sasl.", "sasl-")
    arguments = fields.get("amqp.method.arguments")
    sections = [their_node(field) for field in proto if field.get("name") in SECTIONS]
    return (name, channel, size, their_nodes(arguments), sections)


SECTIONS = {
    "amqp.header": "header",
    "amqp.deliveryAnnotations": "delivery-annotations",
    "amqp.messageAnnotations": "message-annotations",
    "amqp.properties": "properties",
    "amqp.applicationProperties": "application-properties",
    "amqp.data": "data",
    "amqp.sequence": "amqp-sequence",
    "amqp.value": "amqp-value",
    "amqp.footer": "footer",
}
RENAMED = {
    # their name: the specification's
    "accepted": "state", "rejected": "state", "released": "state", "modified": "state",
    "received": "state", "declared": "state", "transactional-state": "state",
    "capabilities_sym": "capabilities",
    "incoming-locales_sym": "incoming-locales",
    "outgoing-locales_sym": "outgoing-locales",
    "expiry-time": "absolute-expiry-time",
    "idle-timeout": "idle-time-out",
    "init-delivery-count": "initial-delivery-count",
    "init-response": "initial-response",
    "mechanisms": "sasl-server-mechanisms",
    "sasl-code": "code",
    "terminus-durable": "durable",
}  # fmt: skip


BOOLEANS = {"True": "1", "False": "0"}
"""How tshark shows a boolean since 4.2, and how it did before."""
BOOLEAN_SIZE = 2
"""Octets of a boolean at the most: more of them are a text."""
BINARY = {"amqp.data", "delivery-tag", "initial-response", "txn-id", "user-id"}


def their_nodes(parent):
    if parent is None:
        return []
    keyed = "(map of " in (parent.get("showname") or "")
    return [their_node(field, keyed) for field in parent if said(field)]


def said(field):
    return not field.get("name").startswith(("_ws.", "amqp.invalid", "amqp.unknown"))


def their_node(field, keyed=False):
    """One field: name, value (None when it has parts), parts."""
    name, show = field.get("name"), field.get("show")
    parts = their_nodes(field)
    if name == "amqp.list":
        label, value = value_of(field.get("showname"))
        return (label if keyed else "", value, parts)
    label = SECTIONS.get(name) or spec_name(name)
    if name in BINARY or label in BINARY or name.endswith(".bytes"):
        return (label, field.get("value") or "", parts)
    if name == "amqp.value":
        return (label, value_of(field.get("showname"))[1], parts)
    if int(field.get("size") or 0) <= BOOLEAN_SIZE:
        show = BOOLEANS.get(show, show)
    return (label, show.removesuffix(" UTC") or None, parts)


def spec_name(name):
    """`amqp.performative.arguments.containerId`, as the specification writes it."""
    last = re.sub(r"^amqp\.(performative\.arguments|[a-z-]+(?:\.arguments)?)\.", "", name)
    last = re.sub(r"\.(string|uint|ulong|guid|bytes)$", "", last)
    hyphened = re.sub(r"(?<=[a-z])([A-Z])", lambda m: "-" + m[1].lower(), last)
    return RENAMED.get(hyphened, hyphened)


def value_of(text):
    """`key (encoding): value` of an element; the value is None when it has parts."""
    text = text.removeprefix(" [truncated]").removeprefix("[…] ")  # before 4.2, and since
    if text.endswith(": (null)"):
        return text.removesuffix(": (null)"), "null"
    if match := re.fullmatch(r"(.*) \((?:list|map|array) of \d+ elements?\)", text, re.S):
        return match[1], None
    match = re.fullmatch(r"(.*?) \(([\w-]+)\): (.*)", text, re.S)
    return match[1], match[3]


# ---------------------------------------------------------------- our side


def ours(path):
    """Our Steps by packet."""
    keys = path.with_suffix(".keys")
    analyzer = Analyzer()
    packets = {}
    keylogs = [keys.read_bytes()] if keys.exists() else []
    with Pieces(str(path), keylogs=keylogs) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    if step.conversation.protocol == "amqp-1.0":
                        packets.setdefault(step.frame.packet, []).append(step)
    return packets


def our_frame(step):
    unit, size = step.frame.unit, len(step.frame.raw) + step.frame.missing
    if unit.header is not None:
        return ("header", None, 8, [str(part) for part in unit.header], [])
    fields = [] if unit.body is None else our_fields(unit.body)
    return (unit.name, unit.channel, size, fields, our_sections(step))


def our_sections(step):
    message = step.event.message
    if not message:
        return []
    found, _ = walk(message)
    values = [(section, read_section(message, section)[0]) for section in found]
    return [
        our_node(section.name, value) for section, value in values if not unseen(section, value)
    ]


def our_fields(body):
    named = zip(body.row.fields, body, strict=False)
    return [our_node(field.name, value) for field, value in named if value is not None]


def our_node(name, value):
    """One field as tshark would have it."""
    if isinstance(value, Body):
        name = "state" if name in {"outcome", "default-outcome"} else name
        name = "coordinator" if value.row.name == "coordinator" else name
        return (name, None, our_fields(value))
    if isinstance(value, Map):
        return (name, None, [our_element(text(key), item) for key, item in value])
    if isinstance(value, Array):
        return (name, None, [our_element("", item) for item in value])
    if isinstance(value, list):
        return (name, None, [our_element("", item) for item in value])
    if isinstance(value, bool):
        return (name, "1" if value else "0", [])
    if isinstance(value, bytes) and not isinstance(value, Uuid):
        return (name, value.hex(), [])
    return (name, text(value), [])


LONGEST_BINARY = 36


def our_element(key, value):
    """A member of a map, list or array."""
    if isinstance(value, Described):
        # A vendor's numeric descriptor is not shown.
        described = isinstance(value.descriptor, str)
        key, value = f"{key} : {value.descriptor}" if described else key, value.value
    elif isinstance(value, Body):
        key, value = f"{key} : {value.row.symbol}", list(value)
    if isinstance(value, bool):
        return (key, "true" if value else "false", [])
    if isinstance(value, Map | Array | list):
        return (key, None, our_node(key, value)[2])
    if isinstance(value, bytes) and not isinstance(value, Uuid) and len(value) > LONGEST_BINARY:
        return (key, value[:LONGEST_BINARY].hex() + "…", [])
    return (key, text(value), [])


def text(value):
    """A value in tshark's words."""
    if value is None:
        return "null"
    if isinstance(value, Timestamp):
        # Before 1970 Wireshark rounds the seconds up and gives the fraction a sign.
        seconds = int(value / 1000)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        fraction = (value - seconds * 1000) * 1_000_000
        return f"{moment:%b} {moment.day:2}, {moment:%Y %H:%M:%S}.{fraction:09}"
    if isinstance(value, float):
        return f"{value:f}" if math.isfinite(value) else str(float(value))
    if isinstance(value, Decimal):
        return "(not supported)"
    if isinstance(value, bytes) and not isinstance(value, Uuid):
        return value.hex()
    if isinstance(value, Char | str):
        # What XML cannot hold, and what its attributes do not keep.
        return re.sub(r"[\t\n\r]", " ", re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", value))
    return str(value)


# ---------------------------------------------------------------- the comparison


NAMES = sorted(
    p.name for p in CAPTURES.iterdir() if ".pcap" in p.name and not p.name.startswith("v091_")
)


@pytest.mark.tshark
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_COMPARED])
def test_frames_agree_with_tshark(name):
    theirs, own = tshark(CAPTURES / name), ours(CAPTURES / name)
    if name in OUT_OF_ORDER:
        theirs, own = at_one_packet(theirs, repr), at_one_packet(own, lambda s: repr(our_frame(s)))
    assert sum(map(len, own.values())) > 0
    assert list(differences(name, own, theirs)) == []


def test_exceptions_name_captures_that_are_there():
    named = NOT_COMPARED.keys() | KNOWN.keys() | DECRYPTED.keys() | OUT_OF_ORDER
    assert named <= set(NAMES)


def at_one_packet(packets, key):
    return {0: sorted((frame for frames in packets.values() for frame in frames), key=key)}


def differences(name, own, theirs):
    known = KNOWN.get(name, {})
    for packet in sorted(own.keys() | theirs.keys()):
        steps = own.get(packet, [])
        seen = [step for step in steps if known.get(step.frame.number, "")[:1] != (FRAME,)]
        for step, their in zip_longest(seen, theirs.get(packet, [])):
            our = None if step is None else our_frame(step)
            without = set() if step is None else left_out(step, known)
            if not same(our, their, without):
                yield f"packet {packet}: {our}, tshark: {their}"
            elif step.frame.number in known and same(our, their, set()):
                yield f"frame {step.frame.number} agrees and is no exception any more"


def left_out(step, known):
    """The parts of this frame that cannot be compared."""
    part, _ = known.get(step.frame.number, ("", ""))
    return {part, SECTIONS_OF} if split(step) else {part}


def same(our, their, without):
    if our is None or their is None:
        return False
    parts = (FRAME, FRAME, FRAME, FIELDS, SECTIONS_OF)
    return all(
        alike(a, b) for a, b, part in zip(our, their, parts, strict=True) if part not in without
    )


def alike(our, their):
    """Equal, or the beginning of a text that tshark has cut."""
    if isinstance(our, str) and isinstance(their, str) and len(our) > LONGEST_TEXT:
        return len(their) > LONGEST_TEXT and our.startswith(their)
    if isinstance(our, list | tuple) and isinstance(their, list | tuple):
        return len(our) == len(their) and all(map(alike, our, their))
    return our == their


LONGEST_TEXT = 180
"""Of a longer text tshark shows the beginning, in lists and maps."""
