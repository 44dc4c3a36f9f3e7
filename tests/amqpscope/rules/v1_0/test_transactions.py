"""Transactions that are legal and come close to breaking a rule, and the model behind them."""

from __future__ import annotations

import pytest

from amqpscope.model.v1_0.transaction import COMMITTED, GONE, LIVE, ROLLED_BACK
from kit.exchange import play

POST = """
    client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0
            state=transactional-state(txn-id=b"t") | data(b"1")
    """
PROVISIONAL = """
    server: disposition[0] role=receiver first=1
            state=transactional-state(txn-id=b"t" outcome=accepted())
    """
COMMIT = """
    client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
            | amqp-value(discharge(txn-id=b"t" fail=false))
    """
ACCEPTED = """
    server: disposition[0] role=receiver first=2 settled=true state=accepted()
    """


def told(text: str, setup: str = "transaction", **how: bool) -> list[tuple[int, str, str]]:
    """The findings about transactions: frame, rule and severity."""
    found = play(text, setup, **how).findings
    return [(f.frame, f.rule, f.severity) for f in found if f.rule.startswith("TXN")]


LEGAL = {
    "a plain outcome crosses the discharge": POST
    + COMMIT
    + """
        server~1: disposition[0] role=receiver first=1 settled=true state=accepted()
        """
    + ACCEPTED,
    "everything pipelined, answers in one go": POST + COMMIT + PROVISIONAL + ACCEPTED,
    "a declare in two transfers, by symbol": """
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge'symbol(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0 more=true
                | raw 0x005377
        client: transfer[0] handle=0 | raw 0x00533145
        server: disposition[0] role=receiver first=2 settled=true state=declared(txn-id=b"u")
        client: transfer[0] handle=1 delivery-id=3 delivery-tag=b"3" message-format=0
                state=transactional-state(txn-id=b"u") | data(b"1")
        """,
    "the id is declared again": POST
    + PROVISIONAL
    + COMMIT
    + ACCEPTED
    + """
        client: transfer[0] handle=0 delivery-id=3 delivery-tag=b"3" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=3 settled=true state=declared(txn-id=b"t")
        client: transfer[0] handle=1 delivery-id=4 delivery-tag=b"4" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"1")
        """,
    "declared is said twice, the second time settled": POST
    + PROVISIONAL
    + COMMIT
    + ACCEPTED
    + """
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
        """,
    "a refused commit, then the next transaction": POST
    + PROVISIONAL
    + COMMIT
    + """
        server: disposition[0] role=receiver first=2 settled=true
                state=rejected(error=error(condition=:amqp:transaction:rollback description="no"))
        client: transfer[0] handle=0 delivery-id=3 delivery-tag=b"3" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=3 settled=true state=declared(txn-id=b"u")
        """,
    "the controller settles what it had retired, after the discharge": """
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=2 delivery-count=0 link-credit=1
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        client: disposition[0] role=receiver first=0 settled=true
                state=transactional-state(txn-id=b"t" outcome=accepted())
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        """,
    "an aborted posting needs no outcome": """
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        client: transfer[0] handle=1 aborted=true
        """
    + COMMIT
    + ACCEPTED,
    "a posting whose link is gone needs none either": POST
    + """
        client: detach[0] handle=1 closed=true
        server: detach[0] handle=1 closed=true
        """
    + COMMIT
    + ACCEPTED,
    "two provisional outcomes by one disposition": POST
    + """
        client: transfer[0] handle=1 delivery-id=2 delivery-tag=b"2" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"1")
        server: disposition[0] role=receiver first=1 last=2
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=3 delivery-tag=b"3" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=3 settled=true state=accepted()
        """,
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_exchange(name):
    assert told(LEGAL[name]) == []


def test_an_id_from_before_the_capture_is_not_called_unknown():
    text = POST + COMMIT
    assert told(text, "session", complete=False) == []


def test_an_id_that_may_have_been_declared_in_a_gap_is_not_called_unknown():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: GAP
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        """
    assert told(text, "control") == []


def test_work_on_a_connection_without_a_coordinator():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true
                state=transactional-state(txn-id=b"t" outcome=accepted())
        """
    assert told(text, "sending") == [(10, "TXN-017", "error"), (11, "TXN-018", "warning")]


def test_work_after_the_controller_closed_its_control_link():
    text = "client: detach[0] handle=0 closed=true\n" + POST
    assert [rule for _, rule, _ in told(text)] == ["TXN-017"]


def test_work_that_crosses_the_end_of_the_control_link():
    text = "server: detach[0] handle=0 closed=true\n" + POST.replace("client:", "client~1:")
    assert told(text) == []


def test_another_transaction_on_a_later_transfer_is_an_error():
    text = """
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        client: transfer[0] handle=1 state=transactional-state(txn-id=b"u") | data(b"2")
        """
    assert ("TXN-025", "error") in [(rule, severity) for _, rule, severity in told(text)]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (POST, LIVE),
        (POST + PROVISIONAL + COMMIT + ACCEPTED, COMMITTED),
        (POST + PROVISIONAL + COMMIT.replace("false", "true") + ACCEPTED, ROLLED_BACK),
        (POST + PROVISIONAL + COMMIT + "server: detach[0] handle=0 closed=true", GONE),
        (POST + "client: end[0]", GONE),
    ],
)
def test_the_fate_of_a_transaction(text, state):
    played = play(text, "transaction")
    transactions = played.steps[-1].conversation.talk.tracker.transactions
    assert transactions.known[b"t"].state == state


def test_a_long_transaction_keeps_only_what_still_matters():
    lines = []
    for number in range(1, 9):
        lines.append(
            f'client: transfer[0] handle=1 delivery-id={number} delivery-tag=b"{number}"'
            ' message-format=0 state=transactional-state(txn-id=b"t") | data(b"1")'
        )
        lines.append(
            f"server: disposition[0] role=receiver first={number} settled=true"
            ' state=transactional-state(txn-id=b"t" outcome=accepted())'
        )
    played = play("\n".join(lines), "transaction")
    assert played.findings == []
    assert not played.steps[-1].conversation.talk.tracker.transactions.known[b"t"].postings


def test_a_posting_after_the_discharge_is_not_what_it_commits():
    late = """
    client: transfer[0] handle=1 delivery-id=2 delivery-tag=b"2" message-format=0
            state=transactional-state(txn-id=b"t") | data(b"1")
    server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    found = told(COMMIT.replace("delivery-id=2", "delivery-id=1") + late)
    assert [(rule, severity) for _, rule, severity in found] == [("TXN-017", "error")]
