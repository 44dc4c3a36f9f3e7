"""Messages by their sections: which there are, in what order, and what they hold (MSG; spec 3.2).

Only messages of the standard's own format are judged (message-format 0 to 255), once their last
transfer was seen and nothing of them is missing.
"""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.message._flaws import report_flaws


@rule("MSG-001", "3.2", IMPLIED, ERROR, on="odd-message")
def section_out_of_order(event: Event, report: Reporter) -> None:
    """Sections come in one order: header, annotations, properties, body, footer.

    Receivers read a message from front to back. One that meets a section where it expects a later
    one drops the rest, takes the message for malformed or, worse, overlooks the section. The order
    is drawn in the specification rather than put in words; all implementations keep to it, and
    a footer before the body has been seen to vanish at the receiver.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | footer({:x-opt-sum=uint 1}) data(b"x")   # <- MSG-001

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true) delivery-annotations({}) message-annotations({}) properties()
                application-properties({}) data(b"x") data(b"y") footer({})
    """
    report_flaws(event, report)


@rule("MSG-002", "3.2", MUST, ERROR, on="odd-message")
def section_repeated(event: Event, report: Reporter) -> None:
    """Header, annotations, properties and footer are in a message once at most.

    Which of two headers counts is nowhere said, so two receivers may see two different messages.
    The cause is mostly two messages that a sender has written into one delivery.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="a") properties(subject="b") data(b"x")   # <- MSG-002

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="a") data(b"x")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | properties(subject="b") data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-003", "3.2", MUST, WARNING, on="odd-message")
def body_missing(event: Event, report: Reporter) -> None:
    """A message has a body, if only an empty one.

    An empty message is an amqp-value of null or a data section of no octets. Many senders leave
    the section out all the same; some brokers shrug, others end the session with a decode
    error, so the fault shows only when the broker changes. A delivery without a single
    octet is left to DLV-022.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="empty")   # <- MSG-003

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="empty") amqp-value(null)
    """
    report_flaws(event, report)


@rule("MSG-004", "3.2", MUST, ERROR, on="odd-message")
def body_kinds_mixed(event: Event, report: Reporter) -> None:
    """A body is made of data sections, or of sequences, or is one value; never of several kinds.

    A receiver decides by the first body section how to hand the body to its application, and
    has no place to put a section of another kind.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"x") amqp-value("x")   # <- MSG-004

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-sequence([1]) amqp-sequence([2 3])
    """
    report_flaws(event, report)


@rule("MSG-005", "3.2", MUST, ERROR, on="odd-message")
def amqp_value_repeated(event: Event, report: Reporter) -> None:
    """A body that is a value is one value.

    Data and sequence sections may be repeated, amqp-value may not. Several values belong in a list
    or in an amqp-sequence.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value("x") amqp-value("y")   # <- MSG-005

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value(["x" "y"])
    """
    report_flaws(event, report)


@rule("MSG-006", "3.2", IMPLIED, WARNING, on="odd-message")
def section_unknown(event: Event, report: Reporter) -> None:
    """A message of the standard's format consists of the nine standard sections only.

    Routers have put sections of their own into messages, and receivers outside their network
    failed on them. A sender with other sections would announce another message-format.
    A section may be named by its number in any width or by its symbol. Numbers below 2**32 belong
    to the standard, which has no such section: there it is an error.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | @:example:trace:list ["r1"] data(b"x")   # <- MSG-006

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | @ulong 0x79 ["r1"] data(b"x")   # <- MSG-006

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | @:amqp:data:binary b"x"
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=1048576
                settled=true | @:example:trace:list ["r1"]
    """
    report_flaws(event, report)


@rule("MSG-007", "3.2", IMPLIED, ERROR, on="odd-message")
def message_truncated_or_trailing_octets(event: Event, report: Reporter) -> None:
    """A message is a whole number of well-formed sections, with nothing left over.

    The receiver cannot decode what is cut off, or reads octets as sections that are none. Usual
    causes are a size that was written before its contents grew, a payload that was sent without
    any section around it, and a last transfer that was lost or sent with `more` unset too early.
    Values inside a section are looked at too: a string that is not UTF-8, a list whose count is
    wrong. Judged only when all transfers of the delivery were seen.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | raw 0x005375a00568656c6c   # <- MSG-007

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | raw 0x68656c6c6f   # <- MSG-007

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                settled=true | raw 0x005375a00568656c6c
        client: transfer[0] handle=0 settled=true | raw 0x6f
    """
    report_flaws(event, report)


@rule("MSG-008", "3.2", MUST, ERROR, on="odd-message")
def section_type_wrong(event: Event, report: Reporter) -> None:
    """Each section holds the type that it is defined by: a list, a map or binary.

    A null is none of them: an empty body is a data section with no octets, not one that holds
    null, which has crashed receivers. Only amqp-value holds any type.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | @ulong 0x75 null   # <- MSG-008

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | amqp-value(null)
    """
    report_flaws(event, report)


@rule("MSG-009", "1.5", IMPLIED, WARNING, on="odd-message")
def section_descriptor_reserved(event: Event, report: Reporter) -> None:
    """A section is named by an ulong or a symbol; descriptors of other types are reserved.

    A receiver that compares types as well as numbers, as it should, finds no section here. Every
    width of ulong is right, also the full one of eight octets.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | @uint 0x75 b"x"   # <- MSG-009

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data'80(b"x")
    """
    report_flaws(event, report)
