"""Fields and keys in the sections of a message: types and names (MSG; spec 3.2.1 to 3.2.15)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import (
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    Message,
)
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.message._flaws import flaws_of, passed_on, report_flaws, report_section
from dissectors.v1_0.bodies import Header
from dissectors.v1_0.names import annotation_note
from dissectors.v1_0.values import Map, Symbol, Ulong, Value

ANNOTATED: Final = (DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, FOOTER)
"""The sections whose keys the standard shares out."""


@rule("MSG-010", "3.2.1", MUST, ERROR, on="odd-message")
def header_field_type_wrong(event: Event, report: Reporter) -> None:
    """The header's fields have their types: durable boolean, priority ubyte, ttl uint and so on.

    A priority sent as uint or a ttl sent as ulong makes strict receivers refuse the message, and
    lenient ones misread it. Widths of one type are equal; types are not.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true priority=uint 5) data(b"x")   # <- MSG-010

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true'56 priority=5 ttl=0'70 first-acquirer=false delivery-count=0)
                data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-011", "1.4", IMPLIED, WARNING, on="odd-message")
def section_extra_fields(event: Event, report: Reporter, message: Message) -> None:
    """Header and properties have no more items than the standard defines.

    What follows the last field has no meaning for anybody else. A later revision could give
    it one, so this is a warning; surplus items that are all null are merely noted.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true priority=4 ttl=1 first-acquirer=false delivery-count=0 +["x"])
                data(b"x")   # <- MSG-011

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true delivery-count=null) properties(reply-to-group-id=null)
                data(b"x")
    """
    for flaw in flaws_of(message):
        if flaw.rule == "MSG-011":
            section = message.find(flaw.code)
            body = None if section is None else message.value(section)
            surplus = () if body is None else body[len(body.row.fields) :]
            idle = all(item is None for item in surplus)
            report_flaws(event, report, INFO if idle else "")
            return


@rule("MSG-019", "3.2.1", IMPLIED, INFO, on="odd-message", needs="!discarded")
def delivery_count_set_by_publisher(
    event: Event, report: Reporter, message: Message, link: LinkEnd
) -> None:
    """A message that is first published has not been delivered before.

    The count of failed deliveries is the node's own; a publisher that sets it makes brokers
    dead-letter the message sooner. Bridges that move messages from one broker to another do this
    knowingly, so it is only a note.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(delivery-count=3) data(b"x")   # <- MSG-019

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(delivery-count=3) data(b"x")
    """
    if event.peer != 0 or passed_on(event):
        return
    section = message.find(HEADER)
    header = None if section is None else message.value(section)
    if not isinstance(header, Header) or 4 in header.wrong or not header.delivery_count:
        return
    if report.once(link):
        text = f"a publisher sets delivery-count to {header.delivery_count}"
        report_section(event, report, HEADER, text, "header.delivery-count")


@rule("MSG-020", "3.2.10", MUST, ERROR, on="odd-message")
def annotation_key_type_wrong(event: Event, report: Reporter) -> None:
    """Keys of annotations and of the footer are symbols or ulongs.

    A string with the same letters is another key: receivers that look for the symbol do not find
    it, and strict ones refuse the message. Language bindings that turn a plain map
    into annotations are where string keys come from.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | message-annotations({"x-opt-trace"="1"}) data(b"x")   # <- MSG-020

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | delivery-annotations({:x-opt-a=1}) message-annotations({:x-opt-b={"any"="key"}})
                application-properties({"x-opt-trace"="1"}) data(b"x")
    """
    report_flaws(event, report)


def keys_outside(message: Message, prefix: str) -> tuple[int, Value] | None:
    """The first annotation key that does not begin so and that nobody is known to use."""
    for section in message.sections:
        if section.code not in ANNOTATED:
            continue
        value = message.value(section)
        if not isinstance(value, Map):
            continue
        for key, _ in value:
            if isinstance(key, Ulong):
                if prefix == "x-":
                    return section.code, key
            elif isinstance(key, Symbol) and not known_key(str(key), section.code, prefix):
                return section.code, key
    return None


def known_key(key: str, code: int, prefix: str) -> bool:
    """Whether a key begins as it should, or is known all the same."""
    if prefix == "x-":
        return key.startswith("x-") or (code == DELIVERY_ANNOTATIONS and key == "rejected")
    return key.startswith("x-opt-") or not key.startswith("x-") or bool(annotation_note(key))


@rule("MSG-021", "3.2.10", IMPLIED, INFO, on="keys | odd-message", needs="!discarded")
def annotation_key_reserved(
    event: Event, report: Reporter, message: Message, link: LinkEnd
) -> None:
    """Numbers, and names that do not begin with x-, are not free for everybody's annotations.

    They are kept for the standard and what is registered with it. RabbitMQ ends the session when
    it meets one; other products ignore it. The registry changes, so this is a note, made once on
    a link and only where the message is published.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | message-annotations({:operation="read"}) data(b"x")   # <- MSG-021

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | message-annotations({:x-opt-operation="read"}) data(b"x")
    """
    if passed_on(event):
        return
    found = keys_outside(message, "x-")
    if found is not None and report.once(link):
        code, key = found
        text = f"the annotation key {key!s} is reserved for the standard"
        report_section(event, report, code, text, annotations_name(code), False)


@rule("MSG-024", "3.2.10", ADVISORY, INFO, on="keys", needs="!discarded")
def annotation_key_fatal_if_unknown(
    event: Event, report: Reporter, message: Message, link: LinkEnd
) -> None:
    """Annotations of one's own are best named x-opt-, which a receiver may ignore.

    A receiver that does not know a key with x- alone has to detach the link. Few do, and some
    brokers use such keys by design (RabbitMQ's x-exchange), which are not mentioned. Noted
    once on a link, where the message is published.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | message-annotations({:x-shard="7"}) data(b"x")   # <- MSG-024

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | message-annotations({:x-opt-shard="7" :x-routing-key="k"}) data(b"x")
    """
    if passed_on(event):
        return
    found = keys_outside(message, "x-opt-")
    if found is not None and report.once(link):
        code, key = found
        text = f"a receiver that does not know the annotation {key!s} has to detach the link"
        report_section(event, report, code, text, annotations_name(code))


def annotations_name(code: int) -> str:
    """The name of a section with annotations."""
    return ("delivery-annotations", "message-annotations", "footer")[ANNOTATED.index(code)]


@rule("MSG-025", "3.2.2", MUST, ERROR, on="odd-message | keys")
def rejected_annotation_not_error(event: Event, report: Reporter) -> None:
    """The delivery annotation `rejected` holds an error.

    It tells why the message was rejected before; a receiver that reads it expects the composite
    with condition and description, not a text. A null is as good as no entry.

    Bad (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | delivery-annotations({:rejected="too large"}) data(b"x")   # <- MSG-025

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | delivery-annotations({:rejected=error(condition=:amqp:not-allowed)}) data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-030", "3.2.4", MUST, ERROR, on="odd-message")
def message_id_type_wrong(event: Event, report: Reporter) -> None:
    """message-id and correlation-id are ulong, uuid, binary or string.

    An id of another type cannot be compared by those who only know the four: replies find no
    request, duplicates are not recognised. A described value might be an extension's, so that is
    only suspected.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(message-id=long 7) data(b"x")   # <- MSG-030

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(message-id=ulong 7 correlation-id=b"\\x07") data(b"x")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | properties(message-id=uuid 12345678-1234-1234-1234-123456789abc
                correlation-id="7") data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-031", "3.2.4", MUST, ERROR, on="odd-message")
def user_id_not_binary(event: Event, report: Reporter) -> None:
    """user-id is binary.

    It looks like a name, so it is sent as a string now and then; brokers that check it against
    the login then refuse the message or lose the value.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(user-id="guest") data(b"x")   # <- MSG-031

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(user-id=b"guest") data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-032", "3.2.4", MUST, ERROR, on="odd-message")
def property_type_wrong(event: Event, report: Reporter) -> None:
    """Each property has its own type: content-type a symbol, subject a string, times timestamps.

    The usual slips are a content-type sent as a string, and a time sent as a long or ulong.
    Receivers that check types refuse such a message, others see the property as unset.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type="text/plain") data(b"x")   # <- MSG-032

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(subject="s" content-type=:text/plain group-id="g" group-sequence=0)
                data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-033", "3.2.4", MUST, WARNING, on="odd-message")
def property_address_not_string(event: Event, report: Reporter) -> None:
    """The properties `to` and `reply-to` hold an address, and the only kind defined is a string.

    An extension could define another kind of address, so this is only suspected; in practice
    a symbol or binary here is an address that nobody can route to.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(reply-to=:replies) data(b"x")   # <- MSG-033

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(to="q" reply-to="replies") data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-051", "3.2.5", MUST, ERROR, on="odd-message")
def application_property_key_not_string(event: Event, report: Reporter) -> None:
    """Keys of application-properties are strings.

    Selectors and header tables of receivers are keyed by strings: a symbol of the same letters is
    not found, and a null or a number has no place at all.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({:color="red"}) data(b"x")   # <- MSG-051

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({"color"=:red "größe"=uint 4}) data(b"x")
    """
    report_flaws(event, report)


@rule("MSG-052", "3.2.5", MUST, ERROR, on="odd-message")
def application_property_value_not_simple(event: Event, report: Reporter, message: Message) -> None:
    """Values of application-properties are simple: no map, list or array.

    JMS and most filters only know simple values there; structured data belongs in the body or in
    an annotation. Whether a described simple value counts as simple is not said: a note.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({"tags"=["a" "b"]}) data(b"x")   # <- MSG-052

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({"tags"="a b" "n"=null "t"=timestamp 0}) data(b"x")
    """
    sure = [flaw for flaw in flaws_of(message) if flaw.rule == "MSG-052" and flaw.sure]
    report_flaws(event, report, "" if sure else INFO)


@rule("MSG-053", "1.6.23", MUST, ERROR, on="odd-message")
def message_map_malformed(event: Event, report: Reporter) -> None:
    """No map in a message has a key twice, or a key without a value.

    Which of two equal keys counts depends on the receiver, so two readers of one message disagree.
    Keys are equal if type and value are, in whatever width they are written; a symbol and a string
    of the same letters are two keys.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({"a"=1 "a"'b1=2}) data(b"x")   # <- MSG-053

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value([{uint 1="x" uint 1'70="y"}])   # <- MSG-053

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | application-properties({"a"=1 "A"=1}) amqp-value({"a"=1 :a=1 1=1 true=1 int 1=1})
    """
    report_flaws(event, report)
