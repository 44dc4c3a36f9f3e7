"""Deliveries and dispositions: near misses that are legal, and faults in other guises."""

from __future__ import annotations

import pytest

from kit.exchange import play


def rules(text: str, setup: str = "sending", **options: bool) -> list[tuple[str, str, str]]:
    """What is found: rule, severity, peer."""
    found = play(text, setup, **options).findings
    return [(finding.rule, finding.severity, finding.peer) for finding in found]


def sent(number: int, more: str = "", peer: str = "client", tag: int | None = None) -> str:
    name = number if tag is None else tag
    return (
        f'{peer}: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{name}"'
        f' message-format=0 {more} | data(b"0")\n'
    )


SECOND_LINK = """
    client: attach[0] name="t" handle=1 role=sender source=source() target=target(address="q")
            initial-delivery-count=0
    server: attach[0] name="t" handle=1 role=receiver source=source() target=target(address="q")
    server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
            handle=1 delivery-count=0 link-credit=10
    """
LEGAL = {
    "parts of deliveries on two links alternate": f"""
        {SECOND_LINK}
        {sent(0, "settled=true more=true")}
        {sent(1, "settled=true more=true").replace("handle=0", "handle=1")}
        client: transfer[0] handle=0 | data(b"1")
        client: transfer[0] handle=1 | data(b"1")
        """,
    "one sequence of ids over two links": f"""
        {SECOND_LINK}
        {sent(0, "settled=true")}
        {sent(1, "settled=true").replace("handle=0", "handle=1")}
        {sent(2, "settled=true")}
        """,
    "the same tag on two links": f"""
        {SECOND_LINK}
        {sent(0, tag=7)}
        {sent(1, tag=7).replace("handle=0", "handle=1")}
        """,
    "a tag again after the sender settled": f"""
        {sent(0, tag=7)}
        server: disposition[0] role=receiver first=0 state=accepted()
        client: disposition[0] role=sender first=0 settled=true
        {sent(1, tag=7)}
        """,
    "both settle at once": f"""
        {sent(0)}
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client~1: disposition[0] role=sender first=0 settled=true
        """,
    "a disposition that overtakes the end of its delivery": f"""
        {sent(0, "more=true")}
        server: disposition[0] role=receiver first=0 settled=true state=released()
        client: transfer[0] handle=0 | data(b"1")
        """,
    "settled with the last transfer": f"""
        {sent(0, "more=true")}
        client: transfer[0] handle=0 settled=true | data(b"1")
        """,
    "a range with holes": f"""
        {sent(0, "settled=true")}
        {sent(1)}
        {sent(2, "settled=true")}
        {sent(3)}
        server: disposition[0] role=receiver first=0 last=3 settled=true state=accepted()
        """,
    "ids alike in both directions": f"""
        client: attach[0] name="r" handle=1 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="r" handle=1 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=1 delivery-count=0 link-credit=10
        {sent(0)}
        {sent(0, peer="server").replace("handle=0", "handle=1")}
        client: disposition[0] role=receiver first=0 settled=true state=accepted()
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        """,
    "word on a delivery of a link that is only detached": f"""
        {sent(0)}
        server: detach[0] handle=0
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: detach[0] handle=0
        """,
}


@pytest.mark.parametrize("text", LEGAL.values(), ids=LEGAL)
def test_near_misses_are_legal(text):
    assert rules(text) == []


WRONG = {
    "an id per frame": (
        f"""
        {sent(0, "settled=true more=true")}
        client: transfer[0] handle=0 | data(b"1")
        {sent(2, "settled=true")}
        """,
        [("DLV-007", "warning", "client")],
    ),
    "an id per link": (
        f"""
        {SECOND_LINK}
        {sent(0, "settled=true")}
        {sent(0, "settled=true").replace("handle=0", "handle=1")}
        """,
        [("DLV-007", "error", "client")],
    ),
    "the same transfer twice": (f"{sent(0)}{sent(0)}", [("DLV-019", "error", "client")]),
    "a single transfer without a tag": (
        'client: transfer[0] handle=0 delivery-id=0 message-format=0 settled=true | data(b"0")',
        [("DLV-002", "warning", "client")],
    ),
    "a disposition of what is still on its way": (
        f"{sent(0)}server~1: disposition[0] role=receiver first=0 settled=true state=accepted()",
        [("DSP-003", "error", "server")],
    ),
    "a disposition before anything was sent": (
        "server: disposition[0] role=receiver first=0 settled=true state=accepted()",
        [("DSP-003", "error", "server")],
    ),
    "a range that ends too far": (
        f"{sent(0)}server: disposition[0] role=receiver first=0 last=5 settled=true"
        " state=accepted()",
        [("DSP-003", "warning", "server")],
    ),
    "a role the wrong way round": (
        f"{sent(0)}server: disposition[0] role=sender first=0 settled=true state=accepted()",
        [("DSP-001", "error", "server")],
    ),
    "an answer to a delivery without an id": (
        f"{sent(0).replace('delivery-id=0', '')}"
        "server: disposition[0] role=receiver first=0 settled=true state=accepted()",
        [("DLV-001", "warning", "client")],
    ),
    "a tag again before its settlement has arrived": (
        f"{sent(0, tag=7)}"
        "server: disposition[0] role=receiver first=0 settled=true state=accepted()\n"
        f"{sent(1, tag=7).replace('client:', 'client~1:')}",
        [("DLV-018", "error", "client")],
    ),
    "mode second asked for in vain": (
        f"{sent(0, 'rcv-settle-mode=second')}"
        "server: disposition[0] role=receiver first=0 settled=true state=accepted()",
        [("DLV-017", "error", "client")],
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_faults_are_told_by_one_rule(text, expected):
    assert rules(text) == expected


@pytest.mark.parametrize("gap", ["client: GAP", "server: GAP"])
def test_after_a_gap_nobody_is_accused(gap):
    text = f"""
        {sent(0, "more=true")}
        {gap}
        client: transfer[0] handle=0 | data(b"1")
        {sent(5)}
        server: disposition[0] role=receiver first=3 settled=true state=accepted()
        """
    assert [found for found in rules(text) if found[1] == "error"] == []


def test_the_hint_names_the_frame_count():
    played = play(WRONG["an id per frame"][0], "sending")
    assert "seems to count frames" in played.findings[0].message


def test_a_disposition_on_the_wrong_session_is_named_so():
    text = f"""
        client: begin[1] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=100 outgoing-window=100
        {sent(0)}
        server: disposition[1] role=receiver first=0 settled=true state=accepted()
        """
    finding = play(text, "sending").findings[0]
    assert finding.rule == "DSP-003"
    assert "the wrong session?" in finding.message
