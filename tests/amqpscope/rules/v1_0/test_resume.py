"""Links that come back: what is legal, and what cannot be told."""

from __future__ import annotations

import pytest

from kit.exchange import play

BACK = """
    client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
            unsettled={OWN} initial-delivery-count=0
    server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
            unsettled={OTHER}
    server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
            handle=0 delivery-count=0 link-credit=10
    """
AGAIN = 'client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0'


def told(text: str, setup: str = "session", **how: bool) -> list[str]:
    """The rules about resuming that are broken."""
    return [f.rule for f in play(text, setup, **how).findings if f.rule.startswith("RES")]


def back(own: str, other: str) -> str:
    """A link that is attached with these lists."""
    return BACK.replace("{OWN}", own).replace("{OTHER}", other)


RECEIVED = '{b"7"=received(section-number=0 section-offset=0)}'


@pytest.mark.parametrize(
    ("own", "other", "transfer", "rules"),
    [
        ('{b"7"=null}', RECEIVED, "resume=true", []),
        ('{b"7"=null}', "{}", "", []),
        ('{b"7"=null}', "null", "", []),
        ('{b"7"=null}', RECEIVED, "", ["RES-005"]),
        ("{}", "{}", "", []),
        ("{}", "{}", "resume=true", ["RES-006"]),
        ('{b"8"=null}', "{}", "resume=true", ["RES-006"]),
        ('{b"7"=null}', RECEIVED + " incomplete-unsettled=true", "", ["RES-010"]),
    ],
)
def test_lists_and_the_transfer_that_follows(own, other, transfer, rules):
    assert told(back(own, other) + AGAIN + f' {transfer} | data(b"7")') == rules


def test_a_tag_is_free_again_after_it_was_resumed_and_settled():
    text = (
        back('{b"7"=null}', RECEIVED)
        + f"""
        {AGAIN} resume=true settled=true | data(b"7")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"7" message-format=0 | data(b"7")
        """
    )
    assert told(text) == []


def test_a_list_that_had_not_arrived_binds_nobody():
    text = back('{b"7"=null}', RECEIVED) + AGAIN.replace("client", "client~2") + ' | data(b"7")'
    assert told(text) == []


def test_a_link_from_before_the_capture_may_remember_more():
    text = back("null", "null") + AGAIN + ' resume=true | data(b"7")'
    assert told(text, complete=False) == []


def test_nothing_is_missing_when_all_was_settled():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 | data(b"7")
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=1
        """
    assert told(text, "sending") == []


def test_a_closed_link_comes_back_as_a_new_one():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 | data(b"7")
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        """
    assert told(text, "sending") == []
