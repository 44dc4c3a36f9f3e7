"""What one recorded connection does after another is done after it again."""

import asyncio

import pytest

import amqpscope
from amqpscope.protocols.replay_acts import Choices
from amqpscope.replay.player import Patience
from amqpscope.replay.stage import ClientStage, Settings
from amqpscope.rules.broker.scenes import CHANNEL, RECEIVER, SENDER, SESSION
from amqpscope.runs.input import Input
from amqpscope.runs.replayed import read_conversations
from amqpscope.runs.run import Run
from kit.exchange_broker import write

LATE = 0.4
SLOW = f"delay {LATE}s"


def of(letter, text):
    """Lines of one connection."""
    return "\n".join(
        line if line.startswith(" ") else f"{letter}.{line}" for line in text.splitlines() if line
    )


STEALS = "\n".join((
    of("A", SESSION + RECEIVER.format("")),
    of("B", SESSION + RECEIVER.format("")),
    of("A", """
server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen)
client: detach[0] handle=0 closed=true
client: close
server: close
"""),
    of("B", "client: close\nserver: close"),
))  # fmt: skip
CONSUMES = "\n".join((
    of("A", CHANNEL + 'client: queue.declare[1] queue="q"\nserver: queue.declare-ok[1] queue="q"'),
    of("B", CHANNEL + """
client: queue.purge[1] queue="q"
server: queue.purge-ok[1]
client: connection.close reply-code=200
server: connection.close-ok
"""),
    of("A", """
client: queue.delete[1] queue="q"
server: queue.delete-ok[1]
client: connection.close reply-code=200
server: connection.close-ok
"""),
))  # fmt: skip
SUBSCRIBES = "\n".join((
    of("A", SESSION + SENDER.format(0, 0)),
    of("B", SESSION + RECEIVER.format("")),
    of("A", """
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("m")
client: close
server: close
"""),
    of("B", """
server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("m")
client: close
server: close
"""),
))  # fmt: skip

SUBSCRIBER = "attach.role == receiver && from == client"
STORIES = [
    # what is played, what is late, and what has to come in which order
    pytest.param(STEALS, SUBSCRIBER, ("1 attach", "2 open"),
        id="link-stealing"),
    pytest.param(CONSUMES, "queue.declare", ("1 queue.declare-ok", "2 connection.start-ok"),
        id="a-consumer-begins"),
    pytest.param(CONSUMES, "queue.purge", ("2 queue.purge-ok", "1 queue.delete"),
        id="a-queue-is-deleted"),
    pytest.param(SUBSCRIBES, SUBSCRIBER, ("2 attach", "1 transfer"),
        id="a-subscriber-comes-before-a-message"),
]  # fmt: skip


def play(tmp_path, text, fault, patience, **choices):
    """Play the clients of a recording against its servers behind a proxy; what was reported."""
    write(text, "", tmp_path / "talk.pcapng", "AB")
    reports = []
    how = {"faults": [fault], "write": tmp_path / "run.pcapng", "allow_divergence": True}
    with amqpscope.replayed(tmp_path / "talk.pcapng", **how) as broker:
        recorded = read_conversations(Input(str(tmp_path / "talk.pcapng")))
        chosen = Choices(secrets=True, **choices)
        settings = Settings(recorded, chosen, patience, report=reports.append)
        stage = ClientStage(settings, broker.host, broker.port)
        asyncio.run(stage.run())
    return stage.outcomes, reports


def played(tmp_path, text, late, **choices):
    """The frames that passed, of a recording that is played as recorded but for a late frame."""
    outcomes, reports = play(tmp_path, text, f"{late} => {SLOW}", Patience(), **choices)
    assert [each.divergences for each in outcomes] == [[], []]
    assert reports == []
    with Run(Input(str(tmp_path / "run.pcapng"))) as run:
        return [
            f"{step.conversation.number} {step.frame.unit.name}"
            for batch in run
            for step in batch.steps
        ]


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize(("text", "late", "order"), STORIES)
def test_what_followed_on_another_connection_follows_again(tmp_path, text, late, order, speed):
    names = played(tmp_path, text, late, speed=speed)
    before, after = map(names.index, order)
    assert before < after


BOTH_SEND = "\n".join((
    of("A", SESSION + SENDER.format(0, 0)),
    of("B", SESSION + SENDER.format(0, 0)),
    *(
        of(letter, f"""
client: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{number}" | amqp-value("{letter}")
server: disposition[0] role=receiver first={number} settled=true state=accepted()
""")
        for number in range(3)
        for letter in "AB"
    ),
    of("A", "client: close\nserver: close"),
    of("B", "client: close\nserver: close"),
))  # fmt: skip


def test_messages_do_not_wait_for_those_of_another_connection(tmp_path):
    names = played(tmp_path, BOTH_SEND, 'transfer && from == client && body contains "A"')
    sent = [name for name in names if "transfer" in name]
    assert sent == ["2 transfer"] * 3 + ["1 transfer"] * 3


def test_what_does_not_come_holds_up_its_own_connection_alone(tmp_path):
    fault = "queue.declare => drop"
    outcomes, reports = play(tmp_path, CONSUMES, fault, Patience(0.5, 1.0))
    first, second = sorted(outcomes, key=lambda each: each.connection)
    assert "queue.declare-ok" in first.divergences[0].where
    assert second.divergences == []
    assert reports[0].startswith("connection 1: waiting: ")
    assert "queue.declare-ok" in reports[0]
