"""Messages: legal ones in all their shapes, and who is to blame for others."""

from __future__ import annotations

import pytest

from amqpscope.rules.v1_0.scenes import SCENES
from kit.exchange import play

HEAD = 'handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true'


def sent(sections: str, setup: str = "sending", peer: str = "client", head: str = HEAD):
    """The findings about one message in one transfer."""
    return play(f"{peer}: transfer[0] {head} | {sections}", setup).findings


@pytest.mark.parametrize(
    "sections",
    [
        'data(b"")',
        "amqp-value(null)",
        'header() properties() amqp-value("x")',
        "header'80'd0(durable=true'56 ttl=uint 5'70) data'symbol(b\"x\"'b0)",
        '@:amqp:properties:list ["id"] @:amqp:amqp-value:* "x"',
        "amqp-sequence([]) amqp-sequence([1 [2]])",
        'delivery-annotations({:x-opt-lock=uuid 12345678-1234-1234-1234-123456789abc}) data(b"x")',
        'message-annotations({:x-opt-deaths=[{:queue="q"}]}) application-properties({}) data(b"x")',
        'application-properties({"ä"="ü" "n"=null "c"=char "ß"}) amqp-value("größe")',
        'amqp-value({null=1 1=1 int 1=1 true=1 1.0=1 :a=1 "a"=1})',
        "amqp-value(array uint[1 2])",
        'properties(message-id=ulong 0 group-sequence=0) data(b"x") footer({:x-opt-sum=b"1"})',
    ],
)
def test_a_legal_message_is_not_remarked_upon(sections):
    assert sent(sections) == []


@pytest.mark.parametrize(
    ("sections", "rule"),
    [
        ('header(durable="yes") data(b"x")', "MSG-010"),
        ('header(ttl=ulong 5) data(b"x")', "MSG-010"),
        ('properties(correlation-id=int 5) data(b"x")', "MSG-030"),
        ('properties(creation-time=long 5) data(b"x")', "MSG-032"),
        ('properties(subject=:s) data(b"x")', "MSG-032"),
        ('properties(group-sequence=ulong 5) data(b"x")', "MSG-032"),
        ('delivery-annotations({"x-opt-a"=1}) data(b"x")', "MSG-020"),
        ('data(b"x") footer({null=1})', "MSG-020"),
        ('application-properties({null=1}) data(b"x")', "MSG-051"),
        ('application-properties({"a"={}}) data(b"x")', "MSG-052"),
        ('application-properties({"a"=array uint[1]}) data(b"x")', "MSG-052"),
        ('message-annotations({:x-opt-a=1 :x-opt-a=2}) data(b"x")', "MSG-053"),
        ("amqp-value(raw 0xc1040140a10161)", "MSG-007"),
        ('data(b"x") properties()', "MSG-001"),
        ('header() data(b"x") header()', "MSG-002"),
        ("amqp-value(1) amqp-sequence([1])", "MSG-004"),
        ('@ulong 0x74 [] data(b"x")', "MSG-008"),
        ("raw 0x005377", "MSG-007"),
    ],
)
def test_each_fault_is_told_once(sections, rule):
    errors = [finding for finding in sent(sections) if finding.severity == "error"]
    assert [(f.rule, f.certainty, f.peer) for f in errors] == [(rule, "sure", "client")]


def test_keys_in_a_message_are_compared_with_the_types_inside():
    keys = "raw 0x727fc00001=1 raw 0x727fc00002=2 @:a int 1=3 @:a long 1=4"
    assert sent(f"amqp-value({{{keys}}})") == []


def test_what_a_broker_hands_on_may_be_anothers_fault():
    [finding] = sent('application-properties({:a=1}) data(b"x")', "receiving", "server")
    assert (finding.rule, finding.severity, finding.certainty) == ("MSG-051", "warning", "suspect")
    assert "sent by or through" in finding.message


def test_the_header_is_the_brokers_own():
    [finding] = sent('header(priority=uint 1) data(b"x")', "receiving", "server")
    assert (finding.rule, finding.severity, finding.certainty) == ("MSG-010", "error", "sure")


def test_without_a_message_format_nothing_is_certain():
    head = 'handle=0 delivery-id=0 delivery-tag=b"0" settled=true'
    found = [f for f in sent('header() data(b"x") header()', head=head) if f.rule[:3] == "MSG"]
    assert [(f.rule, f.certainty) for f in found] == [("MSG-002", "suspect")]


@pytest.mark.parametrize("fields", ["message-format=2147563264", "message-format=256"])
def test_other_formats_are_not_judged(fields):
    head = f'handle=0 delivery-id=0 delivery-tag=b"0" settled=true {fields}'
    assert [f for f in sent("raw 0x68656c6c6f", head=head) if f.rule[:3] == "MSG"] == []


def test_a_message_is_judged_over_all_its_transfers():
    text = """
    client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
            more=true | properties() raw 0x00
    client: transfer[0] handle=0 settled=true | raw 0x53734500 raw 0x5375a00131
    """
    [finding] = play(text, "sending").findings
    assert finding.rule == "MSG-002"
    assert finding.related[0][1] == "the delivery begins here"


def test_an_aborted_delivery_is_not_judged():
    text = """
    client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
            | raw 0x0053
    client: transfer[0] handle=0 aborted=true
    """
    assert [f for f in play(text, "sending").findings if f.rule[:3] == "MSG"] == []


def test_a_delivery_with_a_hole_is_not_judged():
    text = f"""
    {SCENES.opening("sending").units}
    client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
            settled=true | raw 0x005375a005
    client: GAP
    client: transfer[0] handle=0 settled=true | raw 0x6f
    """
    lines = "\n".join(line[4:] if line.startswith("    ") else line for line in text.split("\n"))
    assert [f for f in play(lines).findings if f.rule[:3] == "MSG"] == []


def test_notes_are_made_once_on_a_link():
    text = """
    client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
            | message-annotations({:x-mine=1}) data(b"x")
    client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
            | message-annotations({:x-mine=1}) data(b"x")
    """
    assert [f.rule for f in play(text, "sending").findings] == ["MSG-024"]


def test_an_attach_whose_question_was_not_seen_makes_nobody_the_author():
    # The client's direction is missing: the broker's attach looks as if it had set up the link.
    begin = "next-outgoing-id=0 incoming-window=100 outgoing-window=100"
    text = f"""
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: begin[0] remote-channel=0 {begin}
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value("x") properties(subject="late")
        """
    findings = [each for each in play(text, complete=False).findings if each.rule == "MSG-001"]
    assert [each.severity for each in findings] == ["warning"]


def test_a_map_that_is_too_short_for_its_items_is_named_and_not_what_follows_from_it():
    # map8 says 5 octets; its two items take more, so the next section seems to begin inside of it.
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | raw 0x005374c10502a1016ba1036f6e65 data(b"x")
        """
    (finding,) = play(text, "sending").findings
    assert finding.rule == "MSG-007"
    assert finding.path.startswith("application-properties")
