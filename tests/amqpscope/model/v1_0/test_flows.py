"""Windows, credit and delivery-counts as flows change them."""

from __future__ import annotations

import pytest

from amqpscope.model.knowledge import MAX_UNREAD
from amqpscope.model.v1_0.link import LinkEnd
from kit.exchange import Played, play

FLOW = "incoming-window=100 outgoing-window=100"
PART = 'delivery-tag=b"0" message-format=0 settled=true more=true | data(b"0")'


def sender(played: Played) -> LinkEnd:
    """The client's sending link."""
    session = played.steps[-1].conversation.talk.tracker.connection.ends[0].channels[0]
    return session.handles[0]


def count(played: Played) -> tuple[int | None, int | None]:
    sending = sender(played).sending
    return sending.count_low, sending.count_high


def one(number: int, more: str = "") -> str:
    return (
        f'client: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{number}"'
        f' message-format=0 settled=true {more} | data(b"0")\n'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (one(0), (1, 1)),
        (one(0, "more=true"), (0, 1)),
        (one(0, "more=true") + "client: transfer[0] handle=0 aborted=true", (0, 1)),
        (one(0, "more=true") + 'client: transfer[0] handle=0 | data(b"1")', (1, 1)),
    ],
)
def test_a_delivery_counts_from_its_beginning_or_its_end(text, expected):
    assert count(play(text, "sending")) == expected


@pytest.mark.parametrize("said", [0, 1])
def test_a_count_told_inside_a_delivery_leaves_open_whether_it_is_in_it(said):
    flow = f"client: flow[0] next-incoming-id=0 next-outgoing-id=1 {FLOW} handle=0"
    text = f"{one(0, 'more=true')}{flow} delivery-count={said} link-credit=9\n"
    assert count(play(text, "sending")) == (said, said + 1)
    text += 'client: transfer[0] handle=0 | data(b"1")'
    assert count(play(text, "sending")) == (said, said + 1)


def test_a_drained_sender_has_the_count_that_it_says():
    text = f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {FLOW} handle=0 delivery-count=0
                link-credit=5 drain=true
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {FLOW} handle=0 delivery-count=5
                link-credit=0 drain=true
        """
    assert count(play(text, "sending")) == (5, 5)


def test_counts_go_on_past_their_wrap():
    text = f"""
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=4294967295
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {FLOW} handle=0
                delivery-count=4294967295 link-credit=5
        {one(0)}
        client: flow[0] next-incoming-id=0 next-outgoing-id=1 {FLOW} handle=0 delivery-count=0
                link-credit=4
        """
    played = play(text, "session")
    assert count(played) == (1 << 32, 1 << 32)
    assert played.findings == []


def test_credit_without_a_count_starts_from_the_initial_one():
    text = f"""
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=50
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {FLOW} handle=0 link-credit=5
        """
    receiver = sender(play(text, "session")).pair
    assert receiver is not None
    assert [grant.limit for grant in receiver.receiving.credit.entries] == [55]


def test_credit_from_before_the_attach_counts_in_the_kinder_reading():
    text = f"""
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {FLOW} handle=0 delivery-count=0
                link-credit=5
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=50
        """
    receiver = sender(play(text, "session")).pair
    assert receiver is not None
    assert [grant.limit for grant in receiver.receiving.credit.entries] == [55]


def test_a_gap_makes_counts_unknown_until_a_flow_tells_them():
    text = f"{one(0)}client: GAP\n{one(3)}"
    assert count(play(text, "sending")) == (None, None)
    text += (
        f"client: flow[0] next-incoming-id=0 next-outgoing-id=4 {FLOW} handle=0 delivery-count=4"
    )
    played = play(text + " link-credit=6", "sending")
    assert count(played) == (4, 4)
    assert played.findings == []


def test_what_was_sent_is_kept_in_bounds():
    text = "".join(one(number) for number in range(3 * MAX_UNREAD))
    played = play(
        f"server: flow[0] next-incoming-id=0 next-outgoing-id=0 incoming-window=99999\
 outgoing-window=9 handle=0 delivery-count=0 link-credit=99999\n{text}",
        "sending",
    )
    session, sending = sender(played).session, sender(played).sending
    assert len(session.sending.unread) <= MAX_UNREAD
    assert len(sending.unread) <= MAX_UNREAD
    assert len(session.deliveries.live) + len(sending.unsettled) == 0
    assert len(session.deliveries.done) <= 512
