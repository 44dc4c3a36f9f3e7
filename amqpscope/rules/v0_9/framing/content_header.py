"""Content headers: class, weight, flags and properties (A09-FRM-44 to 46, 49, 50; 4.2.6.1)."""

from __future__ import annotations

from amqpscope.model.v0_9.content import Content
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.framing.methods import find_misfit
from dissectors.errors import Damage
from dissectors.v0_9.message import ContentHeader

FLAGS = "content-header.property-flags"


@rule("A09-FRM-44", "content_02", MUST, ERROR, on="odd-header", needs="trusted !entangled")
def content_class_differs(
    event: Event, report: Reporter, header: ContentHeader, content: Content
) -> None:
    """The class of a content header is that of its method.

    Bad (v0_9):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=stream body-size=0   # <- A09-FRM-44

    Good (v0_9):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
    """
    method = content.method
    if method is not None and header.class_id != method.plan.row.class_id:
        text = f"content header of class {header.class_name} after {method.plan.name}"
        related = ((content.mark, f"the {method.plan.name}"),)
        report.sure(event, text, "content-header.class-id", related)


@rule("A09-FRM-45", "[lost page]", MUST, ERROR, on="odd-header", dialects="0-9", needs="trusted")
def content_weight_not_zero(event: Event, report: Reporter, header: ContentHeader) -> None:
    """The weight of a content header is zero.

    It once counted contents within a content, which no version from 0-9 on has.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic weight=1 body-size=0   # <- A09-FRM-45

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic weight=0 body-size=0
    """
    if header.weight:
        report.sure(event, f"weight is {header.weight}, not 0", "content-header.weight")


@rule("A09-FRM-46", "4.2.6.3", MUST, WARNING, on="method", dialects="10-3 0-8")
def child_contents_miscounted(event: Event, report: Reporter) -> None:
    """A structured content has as many contents within it as its weight says.

    Bad (v0_8):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic weight=2 body-size=0
        client: content-header[1] class=basic body-size=0
        client: basic.get[1] queue="q"   # <- A09-FRM-46

    Good (v0_8):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic weight=1 body-size=0
        client: content-header[1] class=basic body-size=0
        client: basic.get[1] queue="q"
    """
    assembly = event.assembly
    if assembly is None or not assembly.weight or assembly.weight == assembly.children:
        return
    text = f"contents within a content: {assembly.children}, its weight says {assembly.weight}"
    report.suspect(event, text)


@rule("A09-FRM-49", "4.2.6.1", MUST, ERROR, on="malformed content-header", needs="trusted")
def property_flags_undefined(event: Event, report: Reporter) -> None:
    """Property flags name only properties that the class has.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: frame-0-x type=2 channel=1 0x003c000000000000000000000002   # <- A09-FRM-49

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 content-type="text/plain"
    """
    for fault in event.unit.faults:
        if fault.kind is Damage.UNKNOWN_CODE and fault.path == FLAGS:
            report.sure(event, fault.reason, fault.path)
            return


@rule("A09-FRM-50", "[lost page]", MUST, ERROR, on="malformed content-header", needs="trusted")
def property_list_does_not_fit(event: Event, report: Reporter) -> None:
    """The properties of a content header fill its frame, no more and no less.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: frame-0-x type=2 channel=1 0x003c0000000000000000000000000000   # <- A09-FRM-50

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 content-type="text/plain"
    """
    fault = find_misfit(event)
    if fault is not None:
        report.sure(event, f"the properties do not fit: {fault.reason}", fault.path)
