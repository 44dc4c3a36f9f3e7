"""Transfers and the deliveries that they make up (DLV; spec 2.6.12, 2.6.14, 2.7.5).

`v1_0.fast_paths` says what an ordinary transfer is; these rules look at the others. Whether a
transfer begins a delivery or continues one is known only where all that its sender wrote on
the session was seen, so elsewhere they are silent.
"""

from __future__ import annotations

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Transfer


def placed_link(event: Event) -> LinkEnd | None:
    """The link of a transfer whose place in its delivery is known; else None."""
    link, session = event.link, event.session
    if link is None or session is None or link.attach is None or link.sending.lost or link.role:
        return None
    if not session.whole or event.damaged:
        return None
    return link


def hex_tag(tag: bytes | None) -> str:
    """A delivery-tag as shown."""
    return "none" if tag is None else f"0x{tag.hex()}" if tag else "empty"


@rule("DLV-001", "2.7.5", MUST, ERROR, on="odd-transfer first", needs="!wrong")
def delivery_id_missing(event: Event, report: Reporter, body: Transfer) -> None:
    """The first transfer of a delivery carries its delivery-id.

    Without it no disposition can name the delivery. The text asks for it where a delivery takes
    several transfers; on a single one its absence is a warning, or a note if that is settled.

    Bad (sending):
        client: transfer[0] handle=0 delivery-tag=b"0" message-format=0 settled=true more=true
                | data(b"0")   # <- DLV-001
        client: transfer[0] handle=0 | data(b"1")

    Good (sent delivery-id=7 settled=true more=true):
        client: transfer[0] handle=0 | data(b"1")
    """
    if body.delivery_id is not None:
        return
    link = placed_link(event)
    if link is None:
        return
    text = f"sender {link.label()} begins a delivery without delivery-id"
    if body.more and not body.aborted:
        text = f"{text}, and more transfers are to follow"
        report.sure(event, text, "transfer.delivery-id")
    elif report.once(link):
        milder = INFO if body.settled else WARNING
        report.sure(event, text, "transfer.delivery-id", severity=milder)


@rule("DLV-002", "2.7.5", MUST, ERROR, on="odd-transfer first", needs="!wrong")
def delivery_tag_missing(event: Event, report: Reporter, body: Transfer) -> None:
    """The first transfer of a delivery carries its delivery-tag.

    The tag is the delivery's name beyond the session; without one it can be neither resumed nor
    told from its copy. Some services leave it out of single settled transfers, which is a warning,
    told once for a link. An empty tag is one.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 message-format=0 settled=true more=true
                | data(b"0")   # <- DLV-002
        client: transfer[0] handle=0 | data(b"1")

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 message-format=0 | data(b"0")   # <- DLV-002
        client: transfer[0] handle=0 delivery-id=1 message-format=0 | data(b"1")   # <- DLV-002

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"" message-format=0 settled=true
                | data(b"0")
    """
    if body.delivery_tag is not None:
        return
    link = placed_link(event)
    if link is None:
        return
    text = f"sender {link.label()} begins a delivery without delivery-tag"
    if body.more and not body.aborted:
        text = f"{text}, and more transfers are to follow"
        report.sure(event, text, "transfer.delivery-tag")
    elif not body.settled and not body.aborted:
        report.sure(event, f"{text}, unsettled", "transfer.delivery-tag")
    elif report.once(link):
        report.sure(event, text, "transfer.delivery-tag", severity=WARNING)


@rule("DLV-003", "2.7.5", MUST, WARNING, on="odd-transfer first", needs="!wrong")
def message_format_missing(event: Event, report: Reporter, body: Transfer) -> None:
    """The first transfer of a delivery says in which format the message is.

    A receiver that is not told has to guess that it is the standard's. Where several transfers make
    up a message it is an error; on single ones many stacks leave it out, and that is only noted,
    once per link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true more=true
                | data(b"0")   # <- DLV-003
        client: transfer[0] handle=0 | data(b"1")

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 | data(b"1")
    """
    if body.message_format is not None:
        return
    link = placed_link(event)
    if link is None or body.aborted:
        return
    text = f"sender {link.label()} begins a message without message-format"
    if body.more:
        text = f"{text}, and more transfers are to follow"
        report.sure(event, text, "transfer.message-format", severity=ERROR)
    elif report.once(link):
        report.sure(event, text, "transfer.message-format", severity=INFO)


@rule("DLV-004", "2.7.5", IMPLIED, ERROR, on="odd-transfer continuation")
def continuation_delivery_id_differs(
    event: Event, report: Reporter, body: Transfer, delivery: Delivery
) -> None:
    """A further transfer of a delivery has the same delivery-id, or none.

    A stack that raises the id with every transfer frame loses all messages that take more than
    one.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 delivery-id=1 | data(b"1")   # <- DLV-004

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 delivery-id=0 more=true | data(b"1")
        client: transfer[0] handle=0 | data(b"2")
    """
    if body.delivery_id is None:
        return
    if delivery.delivery_id is None or body.delivery_id == delivery.delivery_id:
        return
    # Where the first id was wrong, and told, the right one now is no fault of its own.
    if body.delivery_id != delivery.due_id and placed_link(event) is not None:
        report.sure(
            event,
            f"continues delivery {delivery.delivery_id} under delivery-id {body.delivery_id}",
            "transfer.delivery-id",
            ((delivery.mark, "the first transfer of the delivery"),),
        )


@rule("DLV-005", "2.7.5", IMPLIED, ERROR, on="odd-transfer continuation")
def continuation_delivery_tag_differs(
    event: Event, report: Reporter, body: Transfer, delivery: Delivery
) -> None:
    """A further transfer of a delivery has the same delivery-tag, or none.

    Another tag under the same id looks like parts of two messages mixed, and receivers drop the
    link for it.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 delivery-tag=b"1" | data(b"1")   # <- DLV-005

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 delivery-tag=b"0" | data(b"1")
    """
    if body.delivery_tag is None:
        return
    if delivery.tag is None or body.delivery_tag == delivery.tag or placed_link(event) is None:
        return
    report.sure(
        event,
        f"continues the delivery with tag {hex_tag(delivery.tag)} under tag"
        f" {hex_tag(body.delivery_tag)}",
        "transfer.delivery-tag",
        ((delivery.mark, "the first transfer of the delivery"),),
    )


@rule("DLV-006", "2.7.5", IMPLIED, ERROR, on="odd-transfer continuation")
def continuation_message_format_differs(
    event: Event, report: Reporter, body: Transfer, delivery: Delivery
) -> None:
    """A further transfer of a delivery has the same message-format, or none.

    A message has one format.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 message-format=1 | data(b"1")   # <- DLV-006

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 message-format=0 | data(b"1")
    """
    if body.message_format is None:
        return
    told = delivery.message_format
    if told is None or body.message_format == told or placed_link(event) is None:
        return
    report.sure(
        event,
        f"continues a message of format {told:#x} as one of format {body.message_format:#x}",
        "transfer.message-format",
        ((delivery.mark, "the first transfer of the delivery"),),
    )


@rule("DLV-011", "2.6.14", IMPLIED, INFO, on="aborted first")
def aborted_on_first_transfer(event: Event, report: Reporter) -> None:
    """A delivery is aborted after it was begun.

    An abort on the first transfer does no harm; it uses up a delivery-id, and maybe credit, for
    nothing. To give up a delivery that cannot be resumed it is prescribed.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                aborted=true   # <- DLV-011

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 aborted=true
    """
    body, link = event.body, placed_link(event)
    if link is not None and isinstance(body, Transfer) and not body.resume:
        text = f"sender {link.label()} aborts a delivery with its first transfer"
        report.suspect(event, text, "transfer.aborted")


@rule("DLV-012", "2.7.5", SHOULD, WARNING, on="aborted")
def aborted_with_more(event: Event, report: Reporter) -> None:
    """A transfer that aborts its delivery does not announce more of it.

    Aborted wins, so the flag is ignored; it shows a sender that does not know what it wants.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 more=true aborted=true   # <- DLV-012

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 more=false aborted=true
    """
    body = event.body
    if isinstance(body, Transfer) and body.more:
        report.sure(event, "a transfer that aborts its delivery sets more too", "transfer.more")
