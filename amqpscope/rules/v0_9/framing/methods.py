"""Methods as frames: whether they exist, who sends them, and their arguments (A09-FRM-22 to 29)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.tables._field_tables import values_of
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT, PEERS
from dissectors.errors import Damage, Malformed
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import METHOD, REQUEST, RESPONSE
from dissectors.v0_9.rows import SHORTSTR
from dissectors.v0_9.values import Unreadable, Value

VENDOR: Final = 0xF000
"""The first of the class numbers that vendors may use as they like."""
FOR_METHODS: Final = frozenset((METHOD, REQUEST, RESPONSE))
"""Types of frames with methods in them."""
FITTING: Final = frozenset((Damage.TRUNCATED, Damage.TRAILING))
TABLE_SIZE: Final = "table claims"
"""How a fault begins that says that a table is larger than what contains it: A09-TBL-07."""


@rule("A09-FRM-22", "4.2.4", MUST, ERROR, on="unknown-method", needs="intact")
def method_undefined(event: Event, report: Reporter) -> None:
    """A method is one that the version has.

    The numbers of vendors begin at class 0xF000. Below that, a number that nobody knows mostly
    means that sender and receiver have lost each other, or speak different versions.

    Bad (channel):
        client: frame-0-x type=1 channel=1 0x003c0063   # <- A09-FRM-22

    Good (channel):
        client: basic.get[1] queue="q"
    """
    unit = event.unit
    if unit.class_id < VENDOR and event.connection.announced:
        text = f"{unit.dialect.protocol} has no method {event.name}"
        text += f" (class {unit.class_id}, method {unit.method_id})"
        report.sure_if(version_said(event), event, text, "method-id")


@rule("A09-FRM-23", "4.2.4", MUST, INFO, on="unknown-method", needs="intact")
def vendor_class(event: Event, report: Reporter) -> None:
    """Classes from 0xF000 on are a vendor's own, and are shown as octets here.

    Bad (channel):
        client: frame-0-x type=1 channel=1 0xf000000a   # <- A09-FRM-23

    Good (channel):
        client: basic.get[1] queue="q"
    """
    unit = event.unit
    if unit.class_id >= VENDOR:
        text = f"a method of a vendor's class, 0x{unit.class_id:04x}, is not understood here"
        report.sure(event, text, "class-id")


@rule("A09-FRM-24", "2.2.1, 3.2.1", MUST, ERROR, on="wrong-way", needs="intact")
def method_direction_wrong(event: Event, report: Reporter, method: Method) -> None:
    """A method is sent by the peer that may send it.

    Bad (channel):
        server: basic.publish[1] routing-key="q"   # <- A09-FRM-24

    Good (unconfirmed):
        server: basic.ack[1] delivery-tag=1
    """
    if event.connection.zero.assumed:
        return  # its start was not seen, so who is the client was guessed
    whose = method.plan.row.sender
    report.sure(event, f"the {PEERS[event.peer]} sends {event.name}, which only a {whose} may")


def find_misfit(event: Event) -> Malformed | None:
    """The fault that arguments or properties do not fit their frame, if there is one."""
    for fault in event.unit.faults:
        if fault.kind not in FITTING or fault.reason.startswith(TABLE_SIZE):
            continue
        # One part more than the unit's name: an argument itself, not something within a table.
        if fault.path.removeprefix(event.name).count(".") <= 1 and "[" not in fault.path:
            return fault
    return None


@rule("A09-FRM-25", "4.2.4", MUST, ERROR, on="malformed", needs="trusted")
def method_arguments_do_not_fit(event: Event, report: Reporter) -> None:
    """The arguments of a method fill its frame, no more and no less.

    Where a variant of the version has other fields under the same number, these were tried too.

    Bad (channel):
        client: frame-0-x type=1 channel=1 0x0032000a000001710000000000ff   # <- A09-FRM-25

    Bad (channel):
        client: frame-0-x type=1 channel=1 0x003c00   # <- A09-FRM-25

    Good (channel):
        client: queue.declare[1] queue="q"
    """
    if event.unit.method is None:
        report_without_number(event, report)
        return
    fault = find_misfit(event)
    if fault is not None and event.connection.announced:
        text = f"the arguments of {event.name} do not fit: {fault.reason}"
        report.sure_if(version_said(event), event, text, fault.path)


def report_without_number(event: Event, report: Reporter) -> None:
    """Report a frame for a method that is too short to say which."""
    unit = event.unit
    if unit.type not in FOR_METHODS or unit.class_id or unit.cut:
        return
    for fault in unit.faults:
        if fault.kind is Damage.TRUNCATED and event.connection.announced:
            report.sure(event, f"a frame of {unit.size} octets for a method: {fault.reason}")
            return


def version_said(event: Event) -> bool:
    """The version was said, and not found by trying: what differs may not have come before."""
    connection = event.connection
    return connection.start is not None or connection.ends[CLIENT].header is not None


def short_strings(event: Event) -> Iterator[tuple[str, Value]]:
    """The short strings of a frame with their paths."""
    for name, kind, value in values_of(event):
        if kind == SHORTSTR and value is not None:
            yield f"{event.name}.{name}", value


@rule("A09-FRM-26", "4.2.5.3", MUST, WARNING, on="odd-text", needs="trusted")
def short_string_with_nul(event: Event, report: Reporter) -> None:
    """A short string has no zero octets.

    Some put octets that are no text into a correlation-id or a consumer tag. Others cut such a
    string at the zero octet.

    Bad (channel):
        client: queue.declare[1] queue="a\\0b"   # <- A09-FRM-26

    Good (channel):
        client: queue.declare[1] queue="ab"
    """
    for path, value in short_strings(event):
        octets = value.octets if isinstance(value, Unreadable) else value.encode()
        if b"\0" in octets:
            report.sure(event, f"a short string with a zero octet: {octets!r}", path)
            return


@rule("A09-FRM-27", "4.2.5.3", IMPLIED, INFO, on="odd-text", default=False)
def short_string_not_utf8(event: Event, report: Reporter) -> None:
    """A short string is UTF-8.

    Raw octets of a uuid in a correlation-id are common, and most brokers let them pass.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 correlation-id=0xff01   # <- A09-FRM-27

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 correlation-id="ff01"
    """
    for path, value in short_strings(event):
        if isinstance(value, Unreadable):
            report.sure(event, f"a short string that is not UTF-8: {value.octets!r}", path)
            return


@rule("A09-FRM-28", "4.2.5.2", IMPLIED, INFO, on="method", default=False)
def packed_bits_not_zero(event: Event, report: Reporter, method: Method) -> None:
    """Bits that no field uses are zero.

    Bad (channel):
        client: frame-0-x type=1 channel=1 0x0014001480   # <- A09-FRM-28

    Good (channel):
        client: channel.flow[1] active=true
        server: channel.flow-ok[1] active=true
    """
    if method.spare:
        text = f"{event.name} has bits set that no field uses: 0x{method.spare:02x}"
        report.sure(event, text)


@rule("A09-FRM-29", "reserved-n", MUST, INFO, on="method", default=False, dialects=NEW)
def reserved_field_set(event: Event, report: Reporter, method: Method) -> None:
    """Fields that are reserved are zero or empty.

    Older clients still put an access ticket there.

    Bad (channel):
        client: queue.declare[1] queue="q" reserved-1=101   # <- A09-FRM-29

    Good (channel):
        client: queue.declare[1] queue="q"
    """
    for name, value in zip(method.plan.names, method.values, strict=True):
        if name.startswith("reserved-") and value:
            report.sure(event, f"{name} is {value!r}, not zero or empty", f"{event.name}.{name}")
            return
