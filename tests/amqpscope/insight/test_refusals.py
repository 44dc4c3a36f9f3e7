"""What counts as refused, and what does not."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.insight.refusals import Refusals, RefusedMessages, refusal, with_thieves
from amqpscope.insight.stuck import StuckWatch, held_by, standing
from amqpscope.model.v1_0.refusal import SASL_CODES, refused_by
from dissectors.v1_0.bodies import Close, Error, SaslOutcome
from dissectors.v1_0.tables import RESTRICTED_TYPE
from dissectors.v1_0.values import Symbol
from kit.talks_v0_9 import OPENED, TALK

SENT = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=5 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=2
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
"""


def steps(path):
    analyzer = Analyzer()
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                yield from analyzer.feed(piece)


def refusals(path):
    return [found.full for step in steps(path) if (found := refusal(step)) is not None]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("server: disposition role=receiver first=0 settled=true state=accepted()", []),
        ("server: disposition role=receiver first=0 settled=true state=released()", []),
        ("server: disposition role=receiver first=0 settled=true state=rejected()", ["rejected"]),
        (
            "server: disposition role=receiver first=0 settled=true state=rejected("
            'error=error(condition=:amqp:not-allowed description="no"))',
            ['rejected: amqp:not-allowed "no"'],
        ),
        ("server: detach handle=0 closed=true", []),
        (
            "server: detach handle=0 error=error(condition=:amqp:link:detach-forced)",
            ["detached: amqp:link:detach-forced"],
        ),
        ("client: end error=error(condition=:amqp:x)", ["session ended: amqp:x"]),
        (
            "server: close error=error(condition=:amqp:connection:forced)",
            ["closed: amqp:connection:forced"],
        ),
        ("server: close", []),
    ],
)
def test_refusals_of_1_0(opened, line, told):
    assert refusals(opened(SENT + line)) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('server: channel.close[1] reply-code=404 reply-text="NOT_FOUND - no queue"',
         ["channel closed: 404 NOT_FOUND - no queue"]),
        ('client: channel.close[1] reply-code=200 reply-text="bye"', []),
        ('client: connection.close reply-code=200 reply-text="bye"', []),
        ('server: connection.close reply-code=320 reply-text="CONNECTION_FORCED"',
         ["connection closed: 320 CONNECTION_FORCED"]),
        ("client: basic.reject[1] delivery-tag=1", ["rejected"]),
        ("server: basic.nack[1] delivery-tag=1", ["nacked"]),
        ('server: basic.return[1] reply-code=312 reply-text="NO_ROUTE"',
         ["returned: 312 NO_ROUTE"]),
    ],
)  # fmt: skip
def test_refusals_of_0_9_1(recorded, line, told):
    assert refusals(recorded(TALK + line)) == told


def test_every_sasl_code_but_ok_has_a_meaning():
    codes = [name for name, _ in RESTRICTED_TYPE["sasl-code"].choices]
    assert [code for code in codes if code not in SASL_CODES] == ["ok"]


def test_a_reason_is_explained_where_it_is_known():
    def closed(condition):
        return refused_by(Close(error=Error(condition=Symbol(condition))))

    assert closed("amqp:not-found").meaning.startswith("There is no such node")
    assert refused_by(SaslOutcome(code=1)).meaning.startswith("The server does not accept")
    assert closed("acme:odd").meaning == ""


def test_messages_are_counted_by_link(opened):
    line = "server: disposition role=receiver first=0 last=1 settled=true state=rejected()"
    counted = RefusedMessages()
    for step in steps(opened(SENT + line)):
        counted.take(step)
    ((key, refused),) = counted.known.items()
    assert key == (1, "link", "s", 0)
    assert (refused.times, refused.brief) == (2, "2 rejected")


@pytest.mark.parametrize(
    ("line", "brief"),
    [
        ('server: basic.return[1] reply-code=312 reply-text="NO_ROUTE"', "1 returned"),
        ("server: basic.nack[1] delivery-tag=5", "1 nacked"),
    ],
)
def test_what_is_refused_of_a_publish_that_was_not_seen_counts_for_its_channel(
    recorded, line, brief
):
    confirms = "client: confirm.select[1]\nserver: confirm.select-ok[1]\n"
    counted = RefusedMessages()
    for step in steps(recorded(OPENED + confirms + line)):
        counted.take(step)
    assert {key: refused.brief for key, refused in counted.known.items()} == {
        (1, "channel", "channel 1", 0): brief
    }


def test_frames_are_found_in_order():
    found = Refusals()
    found.frames.extend((3, 7))
    assert (found.after(1), found.after(3), found.after(7)) == (3, 7, 0)
    assert (found.before(9), found.before(7), found.before(3)) == (7, 3, 0)
    assert 3 in found
    assert 4 not in found


def held_in(path):
    talks = {step.conversation.number: step.conversation for step in steps(path)}
    return with_thieves([one for talk in talks.values() for one in held_by(talk, {})])


@pytest.mark.parametrize(
    ("text", "kind", "detail", "peer"),
    [
        ("client: header AMQP 1.0.0", "opening not finished", "no answer to the header", 1),
        (
            "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\n"
            'client: open container-id="c"', "opening not finished", "no open", 1,
        ),
        (
            "client: header SASL 1.0.0\nserver: header SASL 1.0.0\n"
            "server: sasl-mechanisms sasl-server-mechanisms=:PLAIN", "opening not finished",
            "the login is not finished", 0,
        ),
        (
            "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\n"
            'client: open container-id="c"\nserver: open container-id="s"', "no link", "", 0,
        ),
    ],
)  # fmt: skip
def test_a_connection_without_a_link_tells_how_far_it_came(recorded, text, kind, detail, peer):
    (held,) = held_in(recorded(text))
    assert (held.what, held.bound.kind, held.bound.detail, held.bound.peer) == (
        "connection", kind, detail, peer,
    )  # fmt: skip


def test_a_login_that_a_server_of_0_9_1_refuses_is_told(root):
    held = held_in(root / "captures" / "v091_pika_connerr-rabbitmq.pcap")
    assert any("ACCESS_REFUSED" in one.refused.refusal.text for one in held if one.refused)


def test_what_held_a_consumer_of_0_9_1_until_its_end_is_known(recorded):
    text = (
        TALK.rpartition("@3s")[0]
        + """
    @9s client: connection.close reply-code=200 reply-text="" class-id=0 method-id=0
    """
    )
    consumer = next(one for one in held_in(recorded(text)) if one.what == "consumer")
    assert (consumer.before.kind, consumer.bound.ending.how) == ("prefetch reached", "close")


CANCELLED = """
@7s client: basic.cancel[1] consumer-tag="t1"
    server: basic.cancel-ok[1] consumer-tag="t1"
@8s client: channel.close[1] reply-code=200 reply-text="" class-id=0 method-id=0
    server: channel.close-ok[1]
"""


def test_a_consumer_that_is_cancelled_with_deliveries_unacked_still_says_what_held_it(recorded):
    tag = TALK.partition('consumer-tag="')[2].partition('"')[0]
    text = TALK.rpartition("@3s")[0] + CANCELLED.replace("t1", tag)
    (consumer,) = (one for one in held_in(recorded(text)) if one.what == "consumer")
    assert (consumer.before.kind, consumer.bound.ending.how) == ("prefetch reached", "cancel")
    assert consumer.bound.time - consumer.before.time > 3_000_000_000


def test_a_consumer_whose_channel_closes_with_deliveries_unacked_is_known_afterwards(recorded):
    text = TALK.rpartition("@3s")[0] + "@8s" + CANCELLED.partition("@8s")[2]
    (consumer,) = (one for one in held_in(recorded(text)) if one.what == "consumer")
    assert (consumer.before.kind, consumer.bound.ending.how) == ("prefetch reached", "close")


def test_a_stack_trace_as_a_reason_is_one_short_text(recorded):
    trace = "Reader error:" + "\\n        {file,112}," * 40
    text = f'''{SENT}server: close
        error=error(condition=:amqp:internal-error description="{trace}")'''
    (told,) = refusals(recorded(text))
    assert told.startswith('closed: amqp:internal-error "Reader error: {file,112}, {file,112},')
    assert told.endswith('…"')
    assert len(told) < 250


def test_a_transaction_that_is_rolled_back_counts_after_its_channel_is_closed(recorded):
    text = """
    client: tx.select[1]
    server: tx.select-ok[1]
    client: basic.publish[1] exchange="" routing-key="q"
    client: content-header[1] class=basic body-size=0
    client: tx.rollback[1]
    server: tx.rollback-ok[1]
    client: channel.close[1] reply-code=200 reply-text="" class-id=0 method-id=0
    server: channel.close-ok[1]
    """
    watch = StuckWatch()
    for step in steps(recorded(OPENED + text)):
        watch.take(step)
    (held,) = watch.held_places()
    assert (held.what, standing(held), held.refused.refusal.what) == (
        "channel", "given up", "rolled back",
    )  # fmt: skip


def test_a_message_that_goes_back_to_its_queue_is_not_called_rejected(recorded):
    text = TALK.replace("client: basic.ack[1]", "client: basic.nack[1] requeue=true")
    assert refusals(recorded(text)) == ["requeued"]


def test_a_consumer_whose_filter_nothing_has_passed_is_named(opened):
    source = 'source(address="q" filter={:selector=@:apache.org:selector-filter:string "a = 1"})'
    text = f"""
    client: attach name="r" handle=0 role=receiver source={source} target=target()
    server: attach name="r" handle=0 role=sender source={source} target=target()
            initial-delivery-count=0
    client: flow next-incoming-id=0 incoming-window=5 next-outgoing-id=0 outgoing-window=100
            handle=0 delivery-count=0 link-credit=2
    """
    (held,) = held_in(opened(text))
    assert (held.bound.kind, held.bound.detail) == (
        "nothing passed its filter", 'credit 2, selector "a = 1"',
    )  # fmt: skip
    assert held.bound.waits_for is None


def test_a_server_that_answers_a_header_with_tls_is_said_to_expect_it(tmp_path):
    path = tmp_path / "plain.pcap"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5671))
        talk.open(1)
        talk.data(0, 2, b"AMQP\x00\x00\x09\x01")
        talk.data(1, 3, bytes.fromhex("15030100020246"))
        talk.reset(1, 4)
    (held,) = held_in(path)
    assert "answered with TLS" in held.bound.ending.text
