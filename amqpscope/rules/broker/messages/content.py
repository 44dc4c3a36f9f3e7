"""What a broker must not change in a message (BRK-101 to 103, 132; spec 3.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import Envelope, differing
from amqpscope.model.broker.journey import EXACT
from amqpscope.model.broker.moment import Moment, was_forwarded
from amqpscope.rules.broker import IMPLIED, MUST, WARNING, Reporter, also, rule

NAMES: Final = {
    0x73: "properties",
    0x74: "application-properties",
    0x75: "data",
    0x76: "amqp-sequence",
    0x77: "amqp-value",
}
BODIES: Final = b"\x75\x76\x77"


def bare(envelope: Envelope) -> bytes:
    """The descriptors of the immutable sections."""
    return bytes(code for code in envelope.sections if code in NAMES)


def bodies(envelope: Envelope) -> bytes:
    """The descriptors of the sections of the body."""
    return bytes(code for code in envelope.sections if code in BODIES)


def section_names(codes: bytes) -> str:
    """Sections by their names."""
    return ", ".join(NAMES[code] for code in codes) or "none"


@rule("BRK-101", "3.2", MUST, WARNING, on="matched changed | matched reheaded")
def bare_message_changed(moment: Moment, report: Reporter) -> None:
    """A broker hands on the bare message octet by octet.

    Properties, application-properties and body are the sender's; an intermediary neither changes
    nor re-encodes them. The message is recognised by its message-id, on a way that messages with
    the same body are known to take.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" subject="a") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" subject="b") data(b"x")   # <- BRK-101
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" subject="a") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=0) properties(message-id="m1" subject="a") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    publish = moment.publish
    if publish is None or was_forwarded(moment.leg.envelope):
        return
    ours, theirs = moment.leg.envelope, publish.envelope
    before, after = bare(theirs), bare(ours)
    if bodies(ours) != bodies(theirs) or any(code not in before for code in after):
        return  # BRK-102 or BRK-103
    fields = differing(theirs, ours)
    if moment.leg.level == EXACT and not (fields and not ours.has_header):
        return
    same = not fields and ours.says_the_same(theirs)
    how = "is re-encoded, with the same values" if same else "is changed"
    text = (
        f"message {message_name(moment)} {how}: {'; '.join(fields[:3]) or difference(theirs, ours)}"
    )
    report.find(moment, text, sure=True, once=True)


def message_name(moment: Moment) -> str:
    """A message by its id, or by the frame that published it."""
    publish = moment.publish
    place = moment.leg.mark.frame if publish is None else publish.mark.frame
    return moment.leg.envelope.id_text or f"of frame {place}"


def difference(theirs: Envelope, ours: Envelope) -> str:
    """Where two messages begin to differ, as far as their octets are kept."""
    before, after = theirs.octets[len(theirs.head) :], ours.octets[len(ours.head) :]
    for place, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return f"octet {place} of the bare message was 0x{one:02x} and is 0x{other:02x}"
    had, has = theirs.size - len(theirs.head), ours.size - len(ours.head)
    return f"it had {had} octets and has {has}"


@also("BRK-101", on="crossed")
def application_data_changed(moment: Moment, report: Reporter) -> None:
    """What is published in one protocol and delivered in another keeps its application data.

    Other properties have other names then, and bodies that are no octets other encodings; so only
    octets are compared, and nothing is certain.
    """
    publish, leg = moment.publish, moment.leg
    if publish is None or was_forwarded(leg.envelope):
        return
    before, after = publish.envelope.plain_body(), leg.envelope.plain_body()
    if before is None or after is None or before == after:
        return
    text = f"message {message_name(moment)} is delivered in another protocol, with other"
    sizes = f"{len(before)} octets before, {len(after)} after"
    report.find(moment, f"{text} application data: {sizes}", once=True)


@rule("BRK-102", "3.2", MUST, WARNING, on="matched changed")
def bare_section_added(moment: Moment, report: Reporter) -> None:
    """A broker adds no section to the bare message.

    Typical are empty properties or application-properties where the publisher had none.

    Bad (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") application-properties({}) data(b"x")   # <- BRK-102

    Good (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | message-annotations({:x-opt-a=1}) properties(message-id="m1") data(b"x")
    """
    publish = moment.publish
    if publish is None or was_forwarded(moment.leg.envelope):
        return
    before, after = bare(publish.envelope), bare(moment.leg.envelope)
    added = bytes(code for code in after if code not in before and code not in BODIES)
    if added:
        text = f"message {message_name(moment)} is delivered with an additional section: "
        report.find(moment, text + section_names(added), sure=True, once=True)


@rule("BRK-103", "3.2", MUST, WARNING, on="matched changed")
def body_kind_changed(moment: Moment, report: Reporter) -> None:
    """A broker keeps the kind of the body, and how it is split into sections.

    Bad (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") amqp-value("x")   # <- BRK-103

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") amqp-value("x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") amqp-value("x")
    """
    publish = moment.publish
    if publish is None or was_forwarded(moment.leg.envelope):
        return
    before, after = bodies(publish.envelope), bodies(moment.leg.envelope)
    if before != after:
        text = f"message {message_name(moment)} is delivered with another kind of body: "
        change = f"{section_names(after)}, published with {section_names(before)}"
        report.find(moment, text + change, sure=True, once=True)


@rule("BRK-132", "3.2", IMPLIED, WARNING, on="matched changed")
def message_format_or_size_changed(moment: Moment, report: Reporter) -> None:
    """A message is delivered with as many octets as it was published with.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="4f1c9a52-0000-0001") data(b"a longer body")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="4f1c9a52-0000-0001")
                    data(b"a longer")   # <- BRK-132, BRK-101

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="4f1c9a52-0000-0001") data(b"a longer body")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="4f1c9a52-0000-0001") data(b"a longer body")
    """
    publish = moment.publish
    if publish is None or was_forwarded(moment.leg.envelope):
        return
    ours, theirs = moment.leg.envelope, publish.envelope
    (before, had), (after, has) = theirs.data(), ours.data()
    if ours.format != theirs.format:
        text = f"message {message_name(moment)} is delivered with message-format {ours.format},"
        report.find(moment, f"{text} published with {theirs.format}", sure=True, once=True)
    elif before and after and has < had and before[: len(after)] == after[: len(before)]:
        text = f"of the body of message {message_name(moment)} only the first {has} octets are"
        report.find(moment, f"{text} delivered", sure=True, once=True)
