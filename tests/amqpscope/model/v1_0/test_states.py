"""The state tables agree with the specification's figures, and the model moves as they say.

The diagrams that are drawn from the tables (see `diagrams`) are up to date.
"""

from __future__ import annotations

import re
from itertools import product

import pytest

from amqpscope.model.v1_0 import states
from amqpscope.model.v1_0.states import (
    CONNECTION,
    LOST,
    RECEIVED,
    SENT,
    SESSION,
    STAGES,
    UNKNOWN,
    Machine,
    Transition,
)
from kit.exchange import play
from kit.model.diagrams import MACHINES, README, with_diagrams

PEERS = ("client", "server")

# The arrows of figures 2.23 and 2.30: from a state, by what is sent or received, to a state.
FIGURE_2_23 = """
START       S header HDR_SENT    START      R header HDR_RCVD
HDR_SENT    S open   OPEN_PIPE   HDR_SENT   R header HDR_EXCH
HDR_RCVD    S header HDR_EXCH
HDR_EXCH    S open   OPEN_SENT   HDR_EXCH   R open   OPEN_RCVD
OPEN_PIPE   S close  OC_PIPE     OPEN_PIPE  R header OPEN_SENT
OC_PIPE     R header CLOSE_PIPE
OPEN_SENT   S close  CLOSE_PIPE  OPEN_SENT  R open   OPENED
OPEN_RCVD   S open   OPENED
CLOSE_PIPE  R open   CLOSE_SENT
OPENED      S close  CLOSE_SENT  OPENED     R close  CLOSE_RCVD
OPENED      S close-error DISCARDING
CLOSE_SENT  R close  END         CLOSE_RCVD S close  END
DISCARDING  R close  END
"""
FIGURE_2_30 = """
UNMAPPED    S begin  BEGIN_SENT  UNMAPPED   R begin  BEGIN_RCVD
BEGIN_SENT  R begin  MAPPED      BEGIN_RCVD S begin  MAPPED
MAPPED      S end    END_SENT    MAPPED     R end    END_RCVD
MAPPED      S end-error DISCARDING
END_SENT    R end    UNMAPPED    END_RCVD   S end    UNMAPPED
DISCARDING  R end    UNMAPPED
"""
# What the figures leave out: the partner of a peer that pipelines, and an error in a pipelined
# close, which is not forgotten when the partner's open comes.
BESIDE_2_23 = """
HDR_RCVD        R open   OPEN_PIPE_RCVD
OPEN_PIPE_RCVD  S header OPEN_RCVD        OPEN_PIPE_RCVD  R close OC_PIPE_RCVD
OC_PIPE_RCVD    S header CLOSE_PIPE_RCVD
OPEN_RCVD       R close  CLOSE_PIPE_RCVD  CLOSE_PIPE_RCVD S open  CLOSE_RCVD
CLOSE_PIPE      R open   DISCARDING
"""
BESIDE_2_30 = """
BEGIN_SENT      S end    END_PIPE         BEGIN_RCVD      R end   END_PIPE_RCVD
END_PIPE        R begin  END_SENT         END_PIPE_RCVD   S begin END_RCVD
END_PIPE        R begin  DISCARDING
"""
# Figure 2.24: what may be sent and received in each state; * is any frame, - is none.
FIGURE_2_24 = """
START       header  header
HDR_RCVD    header  open
HDR_SENT    open    header
HDR_EXCH    open    open
OPEN_RCVD   open    *
OPEN_SENT   *       open
OPEN_PIPE   *       header
CLOSE_PIPE  -       open
OC_PIPE     -       header
OPENED      *       *
CLOSE_RCVD  *       -
CLOSE_SENT  -       *
DISCARDING  -       *
END         -       -
"""
# 2.5.5: whether frames may be sent and received.
SECTION_2_5_5 = """
UNMAPPED    begin  begin
BEGIN_SENT  *      begin
BEGIN_RCVD  begin  *
MAPPED      *      *
END_SENT    -      *
END_RCVD    *      -
DISCARDING  -      *
"""


def arrows(text: str) -> set[Transition]:
    """The arrows of a figure, four words each."""
    words = text.split()
    return {Transition(*words[at : at + 4]) for at in range(0, len(words), 4)}


def drawn(machine: Machine) -> set[Transition]:
    """The arrows of a machine; as in the figures, an error has its own only where it differs."""
    rows = set(machine.transitions())
    return {
        row
        for row in rows
        if not row.frame.endswith("-error")
        or row._replace(frame=row.frame.removesuffix("-error")) not in rows
    }


def test_connections_move_as_figure_2_23_draws_it():
    assert drawn(CONNECTION) == arrows(FIGURE_2_23) | arrows(BESIDE_2_23)


def test_sessions_move_as_figure_2_30_draws_it():
    assert drawn(SESSION) == arrows(FIGURE_2_30) | arrows(BESIDE_2_30)


@pytest.mark.parametrize(
    ("machine", "figure"), [(CONNECTION, FIGURE_2_24), (SESSION, SECTION_2_5_5)]
)
def test_what_may_be_sent_and_received_depends_on_one_peer_each(machine, figure):
    for line in figure.split("\n")[1:-1]:
        state, *legal = line.split()
        pairs = [pair for pair, name in machine.states.items() if name == state]
        # An end that is UNMAPPED again is another one than that which never was anything else.
        for stage, wanted in zip(min(pairs), legal, strict=True):
            turns = "*" if stage == states.OPEN else ", ".join(machine.turns[stage]) or "-"
            assert turns == wanted


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_state_and_a_frame_lead_to_one_state(machine):
    rows = machine.transitions()
    double = {row[:3] for row in rows if sum(row[:3] == other[:3] for other in rows) > 1}
    # A pipelined close or end has one name with and without an error, and the stage knows which.
    assert double <= {("CLOSE_PIPE", RECEIVED, "open"), ("END_PIPE", RECEIVED, "begin")}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_frame_leads_somewhere_from_every_stage(machine):
    stages = {stage for stage, _ in machine.steps}
    assert set(machine.steps) == {*product(stages, stages - {states.NOTHING})}
    assert {pair for pair in product(stages, stages) if LOST not in pair} == set(machine.states)
    assert {machine.state(LOST, stage) for stage in stages} == {UNKNOWN}
    assert {machine.state(stage, LOST) for stage in stages} == {UNKNOWN}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_nobody_comes_back_from_a_close(machine):
    left = {stage for stage, _ in machine.steps if stage >= states.CLOSE}
    assert {machine.after(stage, step) for stage, step in machine.steps if stage in left} == left
    assert all(not machine.turns[stage] for stage in left)


def mirror(state: str) -> str:
    """What an end is called whose partner is in a state."""
    if state == "DISCARDING":
        return "(CLOSE|END)_RCVD"
    if state.endswith("_PIPE"):
        return f"{state}_RCVD"
    if state.endswith("_PIPE_RCVD"):
        return state.removesuffix("_RCVD")
    pairs = (("_SENT", "_RCVD"), ("_RCVD", "_SENT|DISCARDING"), ("_OWED", "_AWAITED"))
    for one, other in (*pairs, ("_AWAITED", "_OWED")):
        if state.endswith(one):
            return f"{state.removesuffix(one)}{other}"
    return state


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_the_states_of_two_ends_are_mirror_images(machine):
    for (stage, partner), state in machine.states.items():
        assert re.fullmatch(mirror(state), machine.state(partner, stage))


# How a frame is written, by the machine and the frame's name. A link of the client is its receiver.
BEGIN = "next-outgoing-id=0 incoming-window=9 outgoing-window=9"
ERROR = "error=error(condition=:amqp:internal-error)"
FRAMES = {
    "header": "header AMQP 1.0.0",
    "open": 'open container-id="x"',
    "close": "close",
    "close-error": f"close {ERROR}",
    "begin": f"begin[0] {BEGIN}",
    "end": "end[0]",
    "end-error": f"end[0] {ERROR}",
    "attach": 'attach[0] name="l" handle=0 role={role} source=source() target=target()',
    "detach": "detach[0] handle=0",
    "detach-error": f"detach[0] handle=0 {ERROR}",
    "detach-closed": "detach[0] handle=0 closed=true",
}
SETUP = {"connection": "", "session": "opened", "link": "session"}
OTHERS = (
    "empty",
    f"flow[0] {BEGIN}",
    f"flow[0] {BEGIN} handle=0",
    'transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"x")',
    "disposition[0] role=receiver first=0 settled=true",
    "disposition[0] role=sender first=0 last=9",
    "header SASL 1.0.0",
)


def line(peer: int, frame: str, begun: bool = False) -> str:
    """A line of notation; a begin answers one that came before."""
    text = FRAMES[frame].replace("{role}", "sender" if peer else "receiver")
    if begun:
        text = text.replace("begin[0]", "begin[0] remote-channel=0")
    return f"{PEERS[peer]}: {text}"


def routes(machine: Machine) -> dict[tuple[int, int], list[tuple[int, str]]]:
    """The frames, with their senders, that bring the client and server to each pair of stages."""
    found: dict[tuple[int, int], list[tuple[int, str]]] = {(states.NOTHING, states.NOTHING): []}
    todo = [*found]
    for pair in todo:
        for peer in (0, 1):
            for frame in machine.turns[pair[peer]]:
                reached = list(pair)
                reached[peer] = machine.after(pair[peer], STAGES[frame])
                if tuple(reached) not in found:
                    found[tuple(reached)] = [*found[pair], (peer, frame)]
                    todo.append(tuple(reached))
    return found


def lines(route: list[tuple[int, str]]) -> list[str]:
    """The notation of a route."""
    return [
        line(peer, frame, any(other == (1 - peer, "begin") for other in route[:at]))
        for at, (peer, frame) in enumerate(route)
    ]


def end_of(name: str, text: list[str], peer: int) -> str | None:
    """The state of a peer's end after an exchange; None where that peer has none."""
    played = play("\n".join(text), SETUP[name])
    connection = played.steps[-1].conversation.talk.tracker.connection
    owner = connection.ends[peer]
    if name == "connection":
        return owner.state
    session = owner.channels.get(0) or owner.ended.get(0)
    if name == "session" or session is None:
        return None if session is None else session.state
    link = session.handles.get(0) or session.detached.get(0)
    return None if link is None else link.state


MOVES = [
    (name, pair, who, frame)
    for name, machine in MACHINES.items()
    for pair in machine.states
    for who, stage in zip((SENT, RECEIVED), pair, strict=True)
    for frame in machine.turns[stage]
]


@pytest.mark.parametrize(("name", "pair", "who", "frame"), MOVES)
def test_the_model_moves_as_the_tables_say(name, pair, who, frame):
    machine = MACHINES[name]
    mover = 0 if who == SENT else 1
    reached = list(pair)
    reached[mover] = machine.after(pair[mover], STAGES[frame])
    text = lines([*routes(machine)[pair], (mover, frame)])
    if reached[0] > LOST:
        assert end_of(name, text, 0) == machine.state(*reached)
    if reached[1] > LOST:
        assert end_of(name, text, 1) == machine.state(*reversed(reached))


@pytest.mark.parametrize("name", MACHINES)
def test_every_frame_is_taken_in_every_state(name):
    machine = MACHINES[name]
    for route in routes(machine).values():
        for peer, frame in product((0, 1), (*FRAMES.values(), *OTHERS)):
            last = frame.replace("{role}", "sender" if peer else "receiver")
            exchange = [line(0, "header"), line(1, "header"), *lines(route)]
            text = [*exchange, f"{PEERS[peer]}: {last}"]
            for end in (0, 1):
                assert end_of(name, text, end) in {None, UNKNOWN, "GONE", *machine.states.values()}


@pytest.mark.parametrize("name", MACHINES)
def test_a_state_is_unknown_after_a_loss_until_a_frame_shows_it(name):
    machine = MACHINES[name]
    up, leave = machine.turns[states.OPEN][0], machine.turns[states.OPEN][-1]
    route = routes(machine)[states.OPEN, states.OPEN]
    for peer in (0, 1):
        gap = [*lines(route), f"{PEERS[peer]}: GAP", "client: empty", "server: empty"]
        assert end_of(name, gap, 0) == UNKNOWN
        assert end_of(name, gap, 1) == UNKNOWN
        for frame in (up, leave):
            left = machine.state(machine.after(LOST, STAGES[frame]), states.OPEN)
            assert end_of(name, [*gap, line(peer, frame)], peer) == left
        closed = [*lines(route), line(peer, leave), line(1 - peer, leave)]
        after = [*closed, f"{PEERS[peer]}: GAP", "client: empty", "server: empty"]
        assert end_of(name, after, peer) == end_of(name, closed, peer)


def test_where_the_capture_begins_late_states_are_unknown():
    played = play("client: end[0]\nserver: end[0]\nserver: close", complete=False)
    client, server = played.steps[-1].conversation.talk.tracker.connection.ends
    assert {client.state, server.state} == {UNKNOWN}
    assert server.is_closed
    assert client.ended[0].state == UNKNOWN


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("", "GONE"),
        ("expiry-policy=:link-detach", "GONE"),
        ("expiry-policy=:never", "SUSPENDED"),
        ("expiry-policy=:connection-close", "SUSPENDED"),
        ("timeout=60", "SUSPENDED"),
    ],
)
def test_a_link_without_its_session_is_suspended_where_its_terminus_stays(source, state):
    attach = f'server: attach[0] name="l" handle=0 role=sender source=source({source})'
    text = [line(0, "attach"), f"{attach} target=target()", line(1, "end")]
    assert end_of("link", text, 1) == state
    assert end_of("link", text, 0) == "ATTACHED"


def test_the_diagrams_are_those_of_the_tables():
    text = README.read_text(encoding="utf-8")
    assert text == with_diagrams(text)
