"""Which finding explains an ending, and that whatever shows an ending says the same of it."""

import json
from typing import NamedTuple

import pytest

from amqpscope.insight.endings import explain_ending, talk_ending
from amqpscope.model.ending import Ending
from amqpscope.model.mark import Mark
from kit.exchange import play

SECOND = 1_000_000_000


class Found(NamedTuple):
    """As much of a finding as counts here."""

    rule: str
    peer: str
    frame: int
    time: int = 90 * SECOND
    severity: str = "error"
    certainty: str = "sure"
    message: str = ""


RESET = Ending("connection", "rst", 1, Mark(20, 50, 100 * SECOND, 0))
FAILED = Ending("session", "end", 1, Mark(20, 50, 100 * SECOND, 0), "amqp:internal-error")
CLOSED = Ending("connection", "close", 1, Mark(20, 50, 100 * SECOND, 0))
FAULT = Found("FLW-016", "client", 18)
EXPLAINED = [
    # ending, findings: the rule that explains it, and whether it is the cause
    (RESET, [], None),
    (RESET, [FAULT], ("FLW-016", True)),
    (RESET, [FAULT._replace(peer="server")], None),
    (RESET, [FAULT._replace(certainty="suspect", severity="warning")], None),
    (RESET, [FAULT._replace(frame=21)], None),
    (RESET, [FAULT._replace(time=1 * SECOND)], None),
    (RESET, [FAULT, Found("LNK-005", "client", 19), Found("MSG-001", "client", 2)],
     ("LNK-005", True)),
    (RESET, [Found("CON-016", "client", 20, severity="warning")], ("CON-016", True)),
    (RESET, [Found("A09-CON-19", "client", 7, severity="warning")], None),
    (RESET, [Found("CON-008", "server", 20, severity="info")], ("CON-008", False)),
    (RESET, [Found("CON-008", "server", 20, severity="info"), FAULT], ("FLW-016", True)),
    (FAILED, [FAULT, Found("ERR-022", "client", 20, severity="info")], ("ERR-022", True)),
    (FAILED, [FAULT, Found("ERR-022", "client", 20, message="the cause is FLW-016 in frame 18")],
     ("FLW-016", True)),
    (FAILED, [FAULT], ("FLW-016", True)),
    (CLOSED, [FAULT, Found("CON-016", "client", 20, severity="warning")], None),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "findings", "expected"), EXPLAINED)
def test_what_explains_an_ending(ending, findings, expected):
    found = explain_ending(ending, findings)
    assert (None if found is None else (found.finding.rule, found.cause)) == expected


def test_a_refused_login_is_why_tcp_ended():
    text = """
    client: sasl-init mechanism=:PLAIN initial-response=b"x"
    server: sasl-outcome code=1
    server: FIN
    """
    ending = talk_ending(play(text, "sasl").steps[-1].conversation)
    assert (ending.how, ending.text, ending.opened) == ("fin", "login refused: auth", False)


ENDINGS = [
    # capture, connection: how, by whom, seconds after its first frame, and words that all use
    ("demo.pcapng", 1, ("rst", "server", 3.031), "the server reset TCP without a close"),
    ("v10_goamqp-rabbitmq_types.pcapng", 1, ("rst", "server", 3.008),
     "the server reset TCP without a close"),
    ("v091_pika_hbdead-rabbitmq.pcap", 1, ("rst", "server", 6.005),
     "the server reset TCP without a close"),
    ("v10_goamqp-skrouterd_outcomes.direct.pcap", 1, ("fin", "client", 20.006),
     "the client closed TCP without a close"),
    ("v10_proton-rabbitmq_outcomes.pcap", 1, ("close", "client", 0.029), "closed by the client"),
    ("v10_proton-labbroker_connerror.pcap", 1, ("close", "server", None), "closed by the server"),
    ("v091_pika_chanerr-rabbitmq.pcap", 1, ("close", "client", 0.029), "closed by the client"),
    ("v10_proton-rhea_samename-aborted.pcap", 1, ("fin", "server", 0.008),
     "the server closed TCP before the connection was open"),
    ("v10_proton-rabbitmq_nocredit.pcapng", 1, None, "open"),
]  # fmt: skip


@pytest.mark.parametrize(("capture", "number", "facts", "words"), ENDINGS)
def test_state_stats_and_html_agree(amqpscope, root, capture, number, facts, words):
    path = root / "captures" / capture
    state = json.loads(amqpscope("state", "--format", "json", path).stdout)[number - 1]
    document = json.loads(amqpscope("stats", "--format", "json", path).stdout)[0]
    counted = document["connections"][number - 1]
    ended = state["ended"]
    assert counted["ended"] == (None if ended is None else {**ended, "finding": None})
    if facts is None:
        assert ended is None
    else:
        assert (ended["how"], ended["by"]) == facts[:2]
        assert counted["until"] >= ended["time"]
        start = min(each["first"] for each in document["connections"])
        if facts[2] is not None:
            assert ended["time"] - start == pytest.approx(facts[2], abs=0.001)
        sessions = state.get("sessions") or []
        held = [link for session in sessions for link in session["links"]]
        held += state.get("channels") or []
        for each in (*sessions, *held):
            assert each["ended"]["time"] <= ended["time"]
        assert all(each["constraint"]["peer"] is None for each in held)
    texts = [amqpscope(*command, path).stdout for command in
             (("state",), ("stats",), ("lint", "--format", "html"))]  # fmt: skip
    for text in texts if facts is not None else (texts[0], texts[2]):
        assert words in text.replace("<b>", "").replace("Closed", "closed").replace("The", "the")
        assert "has to move" not in text


def test_lint_and_state_name_the_same_peer_for_a_reset(amqpscope, root):
    path = root / "captures" / "v10_goamqp-rabbitmq_types.pcapng"
    [state] = json.loads(amqpscope("state", "--format", "json", path).stdout)
    findings = json.loads(amqpscope("lint", "--format", "json", path).stdout)["findings"]
    [found] = [each for each in findings if each["rule"] == "CON-008"]
    assert (found["peer"], "CON-008") == (state["ended"]["by"], state["ended"]["finding"]["rule"])


def test_the_error_of_an_ended_session_is_told_as_of_its_frame(amqpscope, root):
    path = root / "captures" / "v10_proton-rabbitmq_outcomes.pcap"
    text = amqpscope("state", "--at", 61, path).stdout
    assert "ended by the server at 0.028 s, frame 61, not answered by the client" in text
    assert "amqp:invalid-field" in text
    assert "ended with the session, at 0.028 s" in text
    assert "OUT-017 in frame 52" in text
    assert "waiting for" not in text
