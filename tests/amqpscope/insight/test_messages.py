"""Where messages are, by the frames of all connections."""

import pytest

from amqpscope.insight import message_list
from amqpscope.insight.message_list import NEWEST, REDELIVERED, SLOWEST, explain, list_messages
from amqpscope.insight.message_states import EXPIRED, LOST, UNKNOWN
from amqpscope.insight.messages import Followed
from amqpscope.runs.run import Run
from kit.exchange_broker import write
from kit.stories import AGAIN, LOST_ONE, deliver, publish


@pytest.fixture
def follow(tmp_path):
    """The messages of an exchange, and their list when all of it has passed."""

    def run(text, scene="through", letters="ABC", **options):
        path = tmp_path / "followed.pcapng"
        write(text, scene, path, letters)
        followed, frame, now = Followed(), 0, 0
        with Run(str(path)) as run:
            for batch in run:
                for step in batch.steps:
                    followed.take(step)
                    frame, now = step.frame.number, step.frame.time
                if batch.end is not None:
                    followed.end(batch.end.conversation, batch.end.reason)
        return followed, list_messages(followed, frame, now, **options)

    return run


def states(found):
    return {listed.message.id: listed.state for listed in found.rows}


def test_a_message_that_others_have_overtaken_may_be_lost_and_comes_first(follow):
    found = follow(LOST_ONE)[1]
    assert states(found) == {"m1": LOST, "m3": "settled", "m2": "settled", "m0": "settled"}
    assert found.rows[0].message.id == "m1"
    assert found.total == 4


def test_while_more_is_to_come_one_that_was_overtaken_just_now_is_waiting(follow):
    text = publish(0) + publish(1) + deliver(1, 0, 1.0, "")
    assert states(follow(text, final=False)[1])["m0"] == "waiting"
    assert states(follow(text)[1])["m0"] == LOST


def test_of_the_unsettled_those_come_first_that_are_so_for_the_longest_time(follow):
    text = publish(0) + deliver(0, 0, 1.0, "") + publish(1, 2.0) + publish(2, 3.0, state="")
    found = follow(text)[1]
    assert [(each.message.id, each.state) for each in found.rows] == [
        ("m0", "held"), ("m1", "waiting"), ("m2", "unanswered"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (publish(0, state=""), "unanswered"),
        (publish(0, state="rejected"), "refused"),
        (publish(0), "waiting"),
        (publish(0) + deliver(0, 0, state=""), "held"),
        (publish(0) + deliver(0, 0, state="released"), "waiting"),
        (publish(0) + deliver(0, 0, state="rejected"), "rejected"),
        (publish(0) + deliver(0, 0), "settled"),
        (deliver(0, 0), "settled"),
        (publish(0, head="header(ttl=500)") + publish(1, 2.0), EXPIRED),
        (publish(0, head="header(ttl=500)") + deliver(0, 0), "settled"),
    ],
)
def test_where_a_message_is(follow, text, state):
    assert states(follow(text)[1])["m0"] == state


def test_what_a_consumer_held_waits_again_when_its_link_ends(follow):
    text = publish(0) + deliver(0, 0, state="") + "@3s B.client: detach[0] handle=0 closed=true\n"
    [listed] = follow(text)[1].rows
    assert listed.state == "waiting"
    assert listed.message.passages[-1].text.endswith("ended without an outcome")


def test_attempts_and_times_are_counted(follow):
    [listed] = follow(AGAIN)[1].rows
    message = listed.message
    assert (message.delivered, message.redelivered) == (3, 2)
    assert message.latency == 5_000_000_000
    assert message.settle == 500_000_000
    words = [passage.text for passage in message.passages]
    assert words == [
        "published to q", "accepted by the broker",
        "delivered from q", "released by the consumer",
        "delivered from q", "released by the consumer",
        "delivered from q", "accepted by the consumer",
    ]  # fmt: skip


@pytest.mark.parametrize(("order", "first"), [(REDELIVERED, "m0"), (SLOWEST, "m0"), (NEWEST, "m1")])
def test_others_may_come_first(follow, order, first):
    found = follow(AGAIN + publish(1, 8.0) + deliver(1, 3, 9.0), order=order)[1]
    assert found.rows[0].message.id == first


def test_messages_that_are_alike_are_one_line_that_counts_them(follow):
    text = "".join(
        f"""
        A.client: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}" settled=true | data(b"x")
        """
        for n in range(3)
    )
    [listed] = follow(text)[1].rows
    assert (listed.state, listed.message.published, listed.message.missing) == ("waiting", 3, 3)
    assert any("3 messages" in each for each in explain(listed, 0))


def test_a_message_of_0_9_1_is_followed_with_all_its_frames(follow):
    text = """
    A.client: basic.publish[1] routing-key="q"
    A.client: content-header[1] class=basic body-size=2 message-id="m1"
    A.client: content-body[1] "aa"
    A.server: basic.ack[1] delivery-tag=1
    @1s B.server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" redelivered=true
    B.server: content-header[1] class=basic body-size=2 message-id="m1"
    B.server: content-body[1] "aa"
    @2s B.client: basic.nack[1] delivery-tag=1 requeue=false
    """
    [listed] = follow(text, "confirming")[1].rows
    first, _, delivered, _ = listed.message.passages
    assert (first.last - first.frame, delivered.last - delivered.frame) == (2, 2)
    assert delivered.redelivered
    assert listed.state == "rejected"


def test_of_settled_messages_the_newest_are_kept(follow, monkeypatch):
    monkeypatch.setattr(Followed.__init__, "__defaults__", (2,))
    followed, found = follow(LOST_ONE)
    assert (len(followed.messages), len(found.rows), found.total) == (3, 3, 4)
    assert found.counts == ((LOST, 1), ("settled", 3))
    assert found.rows[0].state == LOST


def test_a_list_has_a_limit_and_says_how_many_there_are(follow, monkeypatch):
    monkeypatch.setattr(message_list, "MAX_LISTED", 2)
    found = follow(LOST_ONE)[1]
    assert (len(found.rows), found.total) == (2, 4)


def test_what_is_not_followed_any_more_is_not_called_lost(follow):
    followed, found = follow(LOST_ONE)
    [lost] = [listed.message for listed in found.rows if listed.state == LOST]
    lost.journey.over = True
    assert followed.suspicion(lost, found.time, final=True) == UNKNOWN
