"""What follows from one peer's violation is no error of the other."""

import pytest

from amqpscope.check.selection import Selection
from amqpscope.rules.all import load
from amqpscope.rules.v0_9 import consequences as v0_9
from amqpscope.rules.v1_0.consequences import (
    HARMLESS,
    ON_CONNECTION,
    ON_LINK,
    ON_SESSION,
    ON_TERMS,
    OWN,
)
from amqpscope.runs.lint import CheckSettings, check
from kit.exchange import play

TABLES = {
    "OWN": OWN,
    "ON_CONNECTION": ON_CONNECTION,
    "ON_SESSION": ON_SESSION,
    "ON_LINK": ON_LINK,
    "ON_TERMS": ON_TERMS,
    "HARMLESS": HARMLESS,
    "v0_9 OWN": v0_9.OWN,
    "v0_9 ON_CONNECTION": v0_9.ON_CONNECTION,
    "v0_9 HARMLESS": v0_9.HARMLESS,
}

SECOND_BEGIN = """
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
EARLY = """
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true |
        data(b"0")
"""
"""A transfer before any credit."""


def errors(text, setup="session"):
    return {(f.rule, f.peer) for f in play(text, setup).findings if f.severity == "error"}


def of(text, rule, setup="session"):
    (found,) = [finding for finding in play(text, setup).findings if finding.rule == rule]
    return found


@pytest.mark.parametrize("name", TABLES)
def test_each_word_of_a_table_means_a_rule(name):
    rules = load()
    assert not [word for word in TABLES[name] if not any(id.startswith(word) for id in rules)]


def test_a_violation_alone_is_an_error():
    assert errors(EARLY) == {("FLW-017", "client")}


def test_what_may_follow_from_the_partners_violation_is_suspect_and_says_from_which():
    found = of(SECOND_BEGIN + EARLY, "FLW-017")
    assert (found.severity, found.certainty) == ("warning", "suspect")
    assert found.message.endswith("; may follow from the server's SES-002 in frame 7")
    assert (7, "the violation that it may follow from") in found.related


def test_the_guilty_peer_is_still_named_for_all_it_does():
    again = 'server: transfer[0] handle=5 delivery-id=0 delivery-tag=b"0" | data(b"0")'
    assert {("SES-002", "server"), ("LNK-005", "server")} <= errors(SECOND_BEGIN + again)


@pytest.mark.parametrize(
    ("own", "rule"),
    [
        ("client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9", "SES-002"),
        ("client: detach[0] handle=9", "LNK-006"),
        ("client: attach[0] handle=0 role=sender", "TYP-001"),
        ("client: octets 0x0000000801000000", "FRM-002"),
        ('client: open container-id="c"', "CON-003"),
    ],
)
def test_what_the_own_frames_of_the_accused_prove_stays_an_error(own, rule):
    assert (rule, "client") in errors(SECOND_BEGIN + own)


OTHER_SESSION = """
client: begin[1] next-outgoing-id=0 incoming-window=9 outgoing-window=9
server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=9 outgoing-window=9
"""


def test_a_violation_in_another_session_excuses_nothing():
    assert ("FLW-017", "client") in errors(
        SECOND_BEGIN + OTHER_SESSION + EARLY.replace("[0]", "[1]")
    )


def test_a_violation_in_an_earlier_session_on_the_channel_excuses_nothing():
    anew = """
client: end[0]
server: end[0]
client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
"""
    unattached = "server: detach[0] handle=9"
    assert ("FLW-017", "client") not in errors(unattached + EARLY)
    assert ("FLW-017", "client") in errors(unattached + anew + EARLY)


def test_a_frame_on_a_channel_that_was_not_begun_may_be_meant_for_any_session():
    nowhere = (
        "server: flow[7] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9"
    )
    found = of(nowhere + EARLY, "FLW-017")
    assert found.certainty == "suspect"


UNREADABLE = "server: frame type=9 channel=0 0x00"


def test_an_unreadable_frame_may_have_said_anything():
    assert of(UNREADABLE + EARLY, "FLW-017").certainty == "suspect"


def test_a_violation_on_one_link_does_not_excuse_what_is_done_on_another():
    two = """
client: attach[0] name="a" handle=0 role=receiver source=source(address="q") target=target()
server: attach[0] name="a" handle=0 role=sender source=source(address="q") target=target()
        initial-delivery-count=0
server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true |
        data(b"0")
client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true |
        data(b"0")
"""
    assert errors(two) == {("FLW-017", "server"), ("FLW-017", "client")}


def test_a_message_that_is_wrong_excuses_nothing():
    wrong = """
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true |
        footer({}) data(b"x")
server: flow[0] next-incoming-id=9 incoming-window=100 next-outgoing-id=0 outgoing-window=100
"""
    assert errors(wrong, "sending") == {("MSG-001", "client"), ("FLW-006", "server")}


def test_fields_of_open_that_are_wrong_excuse_nothing_in_a_session():
    text = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
    assert errors(text + EARLY, "") == {("TYP-001", "server"), ("FLW-017", "client")}


def test_limits_of_an_open_that_is_wrong_prove_nothing():
    text = f"""
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s" max-frame-size=200
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100 properties={{:x="{
        "x" * 600
    }"}}
"""
    assert errors(text, "") == {("CON-005", "server")}
    assert of(text, "FRM-006", "").certainty == "suspect"


def test_a_wrong_outcome_excuses_no_wrong_count():
    text = """
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
client: disposition[0] role=sender first=0 state=received(section-number=0 section-offset=0)
server: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=9 link-credit=10
"""
    assert errors(text, "sending") == {("OUT-004", "client"), ("FLW-014", "server")}


def test_what_is_not_selected_is_still_known_to_be_broken(root):
    path = root / "captures/accused/R9-cascade-second-begin-of-server-FLW-017-client.pcap"
    found = check(str(path), CheckSettings(Selection(select=("FLW",)))).findings
    assert {(f.rule, f.severity) for f in found} == {("FLW-017", "warning")}
