"""Windows and credit: near misses that are legal, and faults in other guises than the examples."""

from __future__ import annotations

import pytest

from kit.exchange import play

OPEN = "incoming-window=100 outgoing-window=100"
ONE = 'message-format=0 settled=true | data(b"0")'


def transfer(number: int, peer: str = "client", more: str = "") -> str:
    return (
        f'{peer}: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{number}" {more} {ONE}\n'
    )


def rules(text: str, setup: str = "sending", **options: bool) -> list[tuple[str, str, str]]:
    """What is found: rule, severity, peer."""
    found = play(text, setup, **options).findings
    return [(finding.rule, finding.severity, finding.peer) for finding in found]


LEGAL = {
    "credit cut in flight": f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=0
        {transfer(0, "client~1")}
        """,
    "window cut in flight, though the TCP had it": f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 incoming-window=0 outgoing-window=100
        {transfer(0)}
        """,
    "further transfers need no credit": f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=1
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=1
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" more=true {ONE}
        client: transfer[0] handle=0 more=true | data(b"1")
        client: transfer[0] handle=0 | data(b"2")
        """,
    "a window of 4294967295 from an id near the wrap": f"""
        client: begin[1] next-outgoing-id=4294967294 {OPEN}
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=4294967295
                outgoing-window=100
        client: attach[1] name="t" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=4294967294
        server: attach[1] name="t" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[1] next-incoming-id=4294967294 next-outgoing-id=0 incoming-window=4294967295
                outgoing-window=100 handle=0 delivery-count=4294967294 link-credit=100
        {"".join(transfer(n).replace("[0]", "[1]") for n in range(5))}
        client: flow[1] next-incoming-id=0 next-outgoing-id=3 {OPEN} handle=0 delivery-count=3
                link-credit=95
        """,
    "a count without the aborted delivery": f"""
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" more=true {ONE}
        client: transfer[0] handle=0 aborted=true
        client: flow[0] next-incoming-id=0 next-outgoing-id=2 {OPEN} handle=0 delivery-count=0
                link-credit=10
        """,
    "a receiver that counts when it begins to read": f"""
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" more=true {ONE}
        server: flow[0] next-incoming-id=1 next-outgoing-id=0 {OPEN} handle=0 delivery-count=1
                link-credit=10
        client: flow[0] next-incoming-id=0 next-outgoing-id=1 {OPEN} handle=0 delivery-count=0
                link-credit=10
        server: flow[0] next-incoming-id=1 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=10
        """,
    "a late answer to a drain": f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=10 drain=true
        @4s client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0
                delivery-count=10 link-credit=0 drain=true
        @20s client: END
        """,
    "transfers after the partner ended with an error": f"""
        server: end[0] error=error(condition=:amqp:internal-error description="no")
        {"".join(transfer(n) for n in range(12))}
        client: end[0]
        """,
}


@pytest.mark.parametrize("text", LEGAL.values(), ids=LEGAL)
def test_near_misses_are_legal(text):
    assert rules(text) == []


WRONG = {
    "credit cut, and the sender has shown that it knew": (
        f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=3
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=3
        {"".join(transfer(n) for n in range(4))}
        """,
        [("FLW-016", "error", "client")],
    ),
    "credit taken back, and the sender says that none is left": (
        f"""
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=10
        {transfer(0)}
        server: flow[0] next-incoming-id=1 next-outgoing-id=0 {OPEN} handle=0 delivery-count=1
                link-credit=0
        client: flow[0] next-incoming-id=0 next-outgoing-id=1 {OPEN} handle=0 delivery-count=1
                link-credit=0
        {transfer(1)}
        """,
        [("FLW-016", "error", "client")],
    ),
    "more than the credit, told once": (
        "".join(transfer(n) for n in range(14)),
        [("FLW-016", "error", "client")],
    ),
    "an id before the TCP can have had the transfer": (
        f"""
        {transfer(0)}
        server~1: flow[0] next-incoming-id=1 next-outgoing-id=0 {OPEN}
        """,
        [("FLW-006", "error", "server")],
    ),
    "counting deliveries instead of frames": (
        f"""
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" more=true {ONE}
        client: transfer[0] handle=0 | data(b"1")
        client: flow[0] next-incoming-id=0 next-outgoing-id=1 {OPEN}
        client: flow[0] next-incoming-id=0 next-outgoing-id=2 {OPEN}
        """,
        [("FLW-003", "error", "client")],
    ),
    "a count past all credit": (
        f"""
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=11
                link-credit=0
        """,
        [("FLW-011", "error", "client")],
    ),
    "a drained count that the receiver runs ahead of": (
        f"""
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=0
                link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=10
                link-credit=0 drain=true
        server: flow[0] next-incoming-id=0 next-outgoing-id=0 {OPEN} handle=0 delivery-count=11
                link-credit=10
        """,
        [("FLW-014", "error", "server")],
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_faults_are_told_by_one_rule(text, expected):
    assert rules(text) == expected


def test_a_transfer_before_the_receiver_attached_has_no_credit():
    text = f"""
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        {transfer(0)}
        """
    assert rules(text, "session") == [("FLW-017", "error", "client")]


def test_credit_after_a_detach_is_an_open_question():
    again = f"""
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        {transfer(0)}
        """
    assert ("FLW-017", "warning", "client") in rules(again)
    closed = again.replace("detach[0] handle=0", "detach[0] handle=0 closed=true")
    assert ("FLW-017", "error", "client") in rules(closed)


def test_credit_may_have_been_given_in_a_gap():
    assert rules(f"server: GAP\n{''.join(transfer(n) for n in range(14))}") == []


def test_mid_stream_nothing_is_known_of_windows_and_credit():
    text = f"""
        {"".join(transfer(n) for n in range(3))}
        server: flow[0] next-incoming-id=70 next-outgoing-id=0 {OPEN} handle=0 delivery-count=9
                link-credit=1
        {"".join(transfer(n) for n in range(3, 9))}
        """
    assert rules(text, "", complete=False) == []
