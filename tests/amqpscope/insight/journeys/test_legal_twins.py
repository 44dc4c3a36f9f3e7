"""What looks like a broker's fault and is none: nobody is accused, with others unseen or not."""

from __future__ import annotations

import pytest

from kit.exchange_broker import play

PUBLISH = """
A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
          | properties(message-id="m1") data(b"x")
A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
"""
DELIVER = """
B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
          | properties(message-id="m1") data(b"x")
"""
AGAIN = """
@2s C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | header(delivery-count=1) properties(message-id="m1") data(b"x")
"""
TWINS = {
    "released, then another consumer": (
        "competing",
        PUBLISH + DELIVER + """
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "rejected, then a dead-letter queue": (
        "competing",
        PUBLISH + DELIVER + """
        B.client: disposition[0] role=receiver first=0 settled=true state=rejected()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=99999) message-annotations({:x-opt-deaths=[]})
                    properties(message-id="m1") data(b"x")
        """,
    ),
    "a consumer that is gone without a word": (
        "competing",
        PUBLISH + DELIVER + "\nB.client: FIN\n" + AGAIN,
    ),
    "a link that is closed with the message unsettled": (
        "competing",
        PUBLISH + DELIVER + """
        B.client: detach[0] handle=0 closed=true
        B.server: detach[0] handle=0 closed=true
        """ + AGAIN,
    ),
    "accepted, but the connection broke before the broker can have read it": (
        "competing",
        PUBLISH + DELIVER + """
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: RST
        """ + AGAIN,
    ),
    "a producer that sends again what was not answered": (
        "through",
        """
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: FIN
        C.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="q") initial-delivery-count=0
        C.server: attach[0] name="s" handle=0 role=receiver source=source()
                  target=target(address="q")
        C.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        """,
    ),
    "a topic with two subscribers": (
        "subscribed",
        PUBLISH + DELIVER + """
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "a subscriber that fails, beside one that has not had it yet": (
        "subscribed",
        PUBLISH + DELIVER + """
        B.client: disposition[0] role=receiver first=0 settled=true
                  state=modified(delivery-failed=true message-annotations={:x-opt-why="b"})
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "a stream that two consumers read": (
        "confirming",
        """
        A.client: basic.publish[1] routing-key="q"
        A.client: content-header[1] class=basic body-size=2 message-id="m1"
        A.client: content-body[1] "aa"
        A.server: basic.ack[1] delivery-tag=1
        B.server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        B.server: content-header[1] class=basic body-size=2 message-id="m1"
                  headers={x-stream-offset=0}
        B.server: content-body[1] "aa"
        C.client: basic.consume[1] queue="q" consumer-tag="t"
        C.server: basic.consume-ok[1] consumer-tag="t"
        C.server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        C.server: content-header[1] class=basic body-size=2 message-id="m1"
                  headers={x-stream-offset=0}
        C.server: content-body[1] "aa"
        """,
    ),
    "a browser beside a consumer": (
        "through",
        PUBLISH + DELIVER + """
        C.client: attach[0] name="b" handle=0 role=receiver target=target()
                  source=source(address="q" distribution-mode=:copy)
        C.server: attach[0] name="b" handle=0 role=sender target=target()
                  source=source(address="q" distribution-mode=:copy) initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "a message from before the capture, delivered twice": (
        "competing",
        DELIVER + AGAIN,
    ),
    "a consumer that publishes what it got to another node": (
        "through",
        PUBLISH + DELIVER + """
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        C.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="next") initial-delivery-count=0
        C.server: attach[0] name="s" handle=0 role=receiver source=source()
                  target=target(address="next")
        C.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "an answer that has the id of its request": (
        "through",
        PUBLISH + """
        C.client: attach[0] name="r" handle=0 role=receiver target=target()
                  source=source(address="answers")
        C.server: attach[0] name="r" handle=0 role=sender target=target()
                  source=source(address="answers") initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"the answer")
        """,
    ),
    "another producer with the same short id": (
        "through",
        PUBLISH + """
        C.client: attach[0] name="s" handle=0 role=sender source=source()
                  target=target(address="q") initial-delivery-count=0
        C.server: attach[0] name="s" handle=0 role=receiver source=source()
                  target=target(address="q")
        C.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" subject="other") data(b"quite another")
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" subject="other") data(b"quite another")
        """,
    ),
    "a lock that is over after a while": (
        "competing",
        PUBLISH + DELIVER + """
        @60s C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                       | header(delivery-count=1) properties(message-id="m1") data(b"x")
        """,
    ),
    "a broker that releases by itself": (
        "competing",
        PUBLISH + DELIVER + """
        B.server: disposition[0] role=sender first=0 settled=true state=released()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        """,
    ),
    "accepted in a transaction that is not discharged": (
        "posting",
        """
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0
                  state=transactional-state(txn-id=b"t" outcome=accepted())
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(delivery-count=1) properties(message-id="m1") data(b"x")
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("scene", "text"), TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("closed_world", [False, True])
def test_nobody_is_accused_of_what_is_legal(scene: str, text: str, closed_world: bool) -> None:
    assert play(text, scene, closed_world=closed_world).findings == []


def test_a_message_of_somebody_unseen_may_have_the_same_short_id() -> None:
    """With all connections in view there is nobody else, and nothing else was waiting."""
    text = (
        PUBLISH
        + """
    B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | properties(message-id="m1" subject="other") data(b"quite another")
    """
    )
    assert play(text, "through").findings == []
    [finding] = play(text, "through", closed_world=True).findings
    assert (finding.rule, finding.certainty) == ("BRK-101", "sure")
    assert 'properties.subject was absent and is "other"' in finding.message


def test_equal_messages_without_an_id_are_not_taken_for_one() -> None:
    """Another producer, whom the capture does not show, may have sent the same octets."""
    text = """
    A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | data(b"hello")
    A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
    B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | data(b"hello")
    B.client: disposition[0] role=receiver first=0 state=accepted()
    B.server: disposition[0] role=sender first=0 settled=true state=accepted()
    @2s B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" | data(b"hello")
    B.server: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" | data(b"hello")
    """
    assert play(text, "through").findings == []
    closed = play(text, "through", closed_world=True)
    assert [finding.rule for finding in closed.findings] == ["BRK-117", "BRK-125"]


ALTERED = """
A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
          | properties(message-id="m1" subject="a") data(b"x")
A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
{between}
B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
          | properties(message-id="m1" subject="b") data(b"x")
"""


def test_with_all_connections_in_view_a_change_is_certain() -> None:
    [finding] = play(ALTERED.format(between=""), "through", closed_world=True).findings
    assert (finding.rule, finding.certainty, finding.severity) == ("BRK-101", "sure", "error")
    assert finding.peer == "server"
    assert finding.related_connections == (1, 1)


@pytest.mark.parametrize("how", [{"complete": "AB"}, {"between": "C.client: GAP"}])
def test_a_world_with_holes_is_not_closed(how: dict[str, str]) -> None:
    text = ALTERED.format(between=how.pop("between", ""))
    [finding] = play(text, "through", closed_world=True, **how).findings
    assert (finding.certainty, finding.severity) == ("suspect", "warning")


def test_two_brokers_in_a_chain_are_judged_one_by_one() -> None:
    """The first hands the message to the second as its client; neither has it twice."""
    chain = (
        PUBLISH
        + """
    C.client: attach[0] name="s" handle=0 role=sender source=source()
              target=target(address="q") initial-delivery-count=0
    C.server: attach[0] name="s" handle=0 role=receiver source=source()
              target=target(address="q")
    C.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
              outgoing-window=100 handle=0 delivery-count=0 link-credit=10
    C.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | properties(message-id="m1") data(b"x")
    C.server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
        + DELIVER
    )
    played = play(chain, "through", second="BC")
    assert played.findings == []
    first, second = played.journeys.brokers.values()
    assert (first.facts["published"], first.facts["delivered"]) == (1, 0)
    assert (second.facts["published"], second.facts["delivered"]) == (1, 1)
    assert second.facts["recognised by the same octets"] == 1


def test_a_message_that_lost_its_body_is_not_taken_for_one_that_overtook_others():
    """What is left of it may be just what another message is."""
    text = """
    A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | properties() data(b"abc")
    A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
              | properties(message-id="m1") data(b"x")
    A.client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" | properties()
    A.server: disposition[0] role=receiver first=0 last=2 settled=true state=accepted()
    B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | properties()
    B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
              | properties(message-id="m1") data(b"x")
    """
    assert "BRK-121" not in [finding.rule for finding in play(text, "through").findings]
