"""What holds a link, since when, and who is waited for, or ended it."""

import pytest

from amqpscope.model.constraint import waits_for
from amqpscope.model.v1_0.constraint import constraint, credit_left, window_left
from kit.exchange import play

SEND = "client: transfer handle=0 delivery-id={0} delivery-tag=b'{0}' settled={1} | data(b'x')"
FLOW = (
    "server: flow next-incoming-id={1} incoming-window={2} next-outgoing-id=0 outgoing-window=9"
    " handle=0 delivery-count={1} link-credit={0}"
)
BEGIN = "client: begin next-outgoing-id=0 incoming-window=9 outgoing-window=9"
ATTACH = (
    'client: attach name="s" handle=0 role=sender source=source() target=target(address="q")'
    " initial-delivery-count=0"
)
ANSWER = 'server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")'


def send(first, last, settled="true"):
    return "\n".join(SEND.format(n, settled).replace("'", '"') for n in range(first, last))


def held(text, setup="sending"):
    """The constraint of the client's sender after an exchange."""
    played = play(text, setup)
    sender = next(step.event.link for step in played.steps if step.frame.unit.name == "attach")
    found = constraint(sender)
    return found.kind, found.since.frame, ("client", "server")[found.peer]


@pytest.mark.parametrize(
    ("setup", "text", "expected"),
    [
        ("opened", f"{BEGIN}\n{ATTACH}", ("waiting for begin", 5, "server")),
        ("session", ATTACH, ("waiting for attach", 7, "server")),
        ("session", f"{ATTACH}\n{ANSWER}", ("no credit", 8, "server")),
        ("sending", "", ("idle", 9, "client")),
        ("sending", send(0, 10), ("no credit", 19, "server")),
        ("sending", FLOW.format(0, 0, 100), ("no credit", 10, "server")),
        ("sending", send(0, 2, "false"), ("waiting for settlement", 10, "server")),
        ("sending", f"{FLOW.format(10, 0, 2)}\n{send(0, 2)}",
         ("session window closed", 12, "server")),
        ("sending", FLOW.format(5, 0, 100) + " drain=true", ("draining", 10, "client")),
        ("sending", "client: detach handle=0 closed=true", ("detached", 10, "client")),
        ("sending", "server: detach handle=0 closed=true", ("detached", 10, "server")),
        ("sending", "client: end", ("session ended", 10, "client")),
        ("sending", "server: end", ("session ended", 10, "server")),
        ("sending", "client: close", ("connection closed", 10, "client")),
        ("sending", "server: close", ("connection closed", 10, "server")),
        ("sending", "server: RST", ("connection closed", 7, "server")),
        ("sending", "server: END", ("idle", 9, "client")),
    ],
)  # fmt: skip
def test_the_strongest_constraint_is_told(setup, text, expected):
    assert held(text, setup) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", None), (send(0, 10), 1), (send(0, 2, "false"), 1), ("client: detach handle=0", None),
     ("server: close", None), ("server: RST", None), ("server: GAP\n" + send(0, 1), None)],
)  # fmt: skip
def test_nobody_is_waited_for_where_nothing_is_to_be_done(text, expected):
    played = play(text, "sending")
    sender = next(step.event.link for step in played.steps if step.frame.unit.name == "attach")
    assert waits_for(constraint(sender)) == expected


def test_credit_and_window_are_what_is_left():
    played = play(send(0, 3), "sending")
    sender = played.steps[-1].event.link
    assert credit_left(sender) == 7
    assert window_left(sender.session) == 97


def test_after_lost_octets_credit_is_unknown():
    played = play("server: GAP\n" + send(0, 1), "sending")
    assert credit_left(played.steps[-1].event.link) is None
    assert constraint(played.steps[-1].event.link).kind == "unknown"
