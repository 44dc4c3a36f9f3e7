"""The states of connections, sessions and links, as tables (spec 2.4.6, 2.5.5, 2.6.2 to 2.6.6).

How it works
============

The specification describes a state machine from inside one endpoint: an arrow is something that the
endpoint sends (S:) or receives (R:). Each of its states is a pair. HDR_SENT means "sent a header,
received nothing", OPENED means "sent an open, received an open". So a machine is written here as a
grid: a row for each thing that the endpoint has *sent*, a column for each thing that it has
*received*. An arrow S: goes down in the grid and an arrow R: goes to the right. `transitions` reads
the arrows off the grid as rows of (state, who sends, frame, next state), from which the diagrams in
`amqpscope/model/README.md` are drawn.

An analyzer is inside neither endpoint. It watches the wire between them, where frames cross; so
each *end* has a state of its own, and the two halves of that state are not equally certain:

* What a peer has sent is exact. Each end keeps it as its `stage`, and each frame that the peer
  sends moves that stage, by the table of what comes `after`.
* What a peer has received cannot be seen. What its partner has sent can, but the last of that may
  still be on its way. So the state of an end pairs its own stage with its partner's: it is the
  state that the peer reaches by reading all that has passed. The peer may not be there yet, but it
  is not further. A rule that judges a peer by what it has received asks about that one frame
  (`Event.knew`, `Event.surely_knew`), not about the state.

Three things follow.

* The states of two ends are mirror images: where one is OPEN_SENT, the other is OPEN_RCVD.
* The specification has a name for a peer that pipelines (OPEN_PIPE: sent a header and an open,
  received nothing), but none for its partner, which has yet to answer. Such a state has the name of
  its mirror image, with _RCVD.
* What a peer may send depends on its own stage alone, so that one direction proves it.

The tables are total. A frame out of turn moves its sender to where that frame leads, but not back
from its close, end or detach, so that one fault is not reported over and over. Where the capture
began late, or octets are missing, a stage is `lost` until a frame shows it again, and each state
that it is a part of is UNKNOWN. A peer that has closed has nothing left to send: its stage is kept.

Headers of other layers (SASL, TLS), and headers that differ, are version negotiation (spec 2.2);
`header` means that of the AMQP layer here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

# fmt: off
# Stages: what a peer has sent last, of the frames that move it from state to state. Numbers, since
# every frame looks at them. The machines share these numbers: below LOST a peer has not announced
# itself, above LOST it has, and from CLOSE, END or DETACH on it has taken its leave.
NOTHING:       Final = 0
HEADER:        Final = 1
LOST:          Final = 2
OPEN:          Final = 3
CLOSE:         Final = 4
CLOSE_ERROR:   Final = 5

BEGIN:         Final = 3
END:           Final = 4
END_ERROR:     Final = 5

ATTACH:        Final = 3
DETACH:        Final = 4
DETACH_ERROR:  Final = 5
DETACH_CLOSED: Final = 6

STAGES: Final = {
    # how a stage is called in the tables
    "nothing": NOTHING, "header": HEADER, "lost": LOST,
    "open":    OPEN,    "close":  CLOSE,  "close-error":  CLOSE_ERROR,
    "begin":   BEGIN,   "end":    END,    "end-error":    END_ERROR,
    "attach":  ATTACH,  "detach": DETACH, "detach-error": DETACH_ERROR,
    "detach-closed": DETACH_CLOSED,
}
# fmt: on

UNKNOWN: Final = "UNKNOWN"
UNMAPPED: Final = "UNMAPPED"
SUSPENDED: Final = "SUSPENDED"
CLOSE_OWED: Final = "CLOSE_OWED"
CLOSE_AWAITED: Final = "CLOSE_AWAITED"
GONE: Final = "GONE"
"""A link whose session ended, and whose terminus ended with that."""

SENT: Final = "S"
RECEIVED: Final = "R"

# In the tables of what comes after, a row is the stage of a peer and a column is what it sends, or
# that octets of it are lost; the star marks what it is its turn to send.

CONNECTION_AFTER: Final = """
    stage        header       open         close   close-error   lost
    nothing      *header      open         close   close-error   lost
    header       header       *open        close   close-error   lost
    lost         header       open         close   close-error   lost
    open         open         open         *close  *close-error  lost
    close        close        close        close   close-error   close
    close-error  close-error  close-error  close   close-error   close-error
"""
CONNECTION_STATES: Final = """
    sent/received  nothing    header      open            close            close-error
    nothing        START      HDR_RCVD    OPEN_PIPE_RCVD  OC_PIPE_RCVD     OC_PIPE_RCVD
    header         HDR_SENT   HDR_EXCH    OPEN_RCVD       CLOSE_PIPE_RCVD  CLOSE_PIPE_RCVD
    open           OPEN_PIPE  OPEN_SENT   OPENED          CLOSE_RCVD       CLOSE_RCVD
    close          OC_PIPE    CLOSE_PIPE  CLOSE_SENT      END              END
    close-error    OC_PIPE    CLOSE_PIPE  DISCARDING      END              END
"""

# The specification does not draw an end that is sent before the partner's begin; peers do that, and
# it is named as such a close is.
SESSION_AFTER: Final = """
    stage      begin      end   end-error   lost
    nothing    *begin     end   end-error   lost
    lost       begin      end   end-error   lost
    begin      begin      *end  *end-error  lost
    end        end        end   end-error   end
    end-error  end-error  end   end-error   end-error
"""
SESSION_STATES: Final = """
    sent/received  nothing     begin       end            end-error
    nothing        UNMAPPED    BEGIN_RCVD  END_PIPE_RCVD  END_PIPE_RCVD
    begin          BEGIN_SENT  MAPPED      END_RCVD       END_RCVD
    end            END_PIPE    END_SENT    UNMAPPED       UNMAPPED
    end-error      END_PIPE    DISCARDING  UNMAPPED       UNMAPPED
"""

# The specification draws no figure for links, it describes them in words. Half attached: with an
# output handle alone (ATTACH_SENT), or an input handle alone (ATTACH_RCVD). Half detached: with one
# handle left of two (DETACH_SENT, DETACH_RCVD, ...). Detached: with neither, to be attached again.
# A detach with an error destroys the endpoint, so that nothing but the terminus is left: the link
# is suspended (2.6, 2.6.5). Where a detach crosses one that closes the link, its sender has to
# attach the link again and close it (CLOSE_OWED), and its partner waits for that (CLOSE_AWAITED;
# 2.6.6).
LINK_AFTER: Final = """
    stage          attach         detach   detach-error   detach-closed   lost
    nothing        *attach        detach   detach-error   detach-closed   lost
    lost           attach         detach   detach-error   detach-closed   lost
    attach         attach         *detach  *detach-error  *detach-closed  lost
    detach         detach         detach   detach-error   detach-closed   detach
    detach-error   detach-error   detach   detach-error   detach-closed   detach-error
    detach-closed  detach-closed  detach   detach-error   detach-closed   detach-closed
"""
LINK_STATES: Final = """
    sent/received  nothing      attach       detach            detach-error     detach-closed
    nothing        DETACHED     ATTACH_RCVD  DETACH_PIPE_RCVD  ERROR_PIPE_RCVD  CLOSE_PIPE_RCVD
    attach         ATTACH_SENT  ATTACHED     DETACH_RCVD       ERROR_RCVD       CLOSE_RCVD
    detach         DETACH_PIPE  DETACH_SENT  DETACHED          SUSPENDED        CLOSE_OWED
    detach-error   ERROR_PIPE   ERROR_SENT   SUSPENDED         SUSPENDED        CLOSE_OWED
    detach-closed  CLOSE_PIPE   CLOSE_SENT   CLOSE_AWAITED     CLOSE_AWAITED    CLOSED
"""


class Transition(NamedTuple):
    """An arrow from state to state, as seen from one end."""

    state: str
    who: str
    """SENT: this end sends the frame; RECEIVED: its partner does."""
    frame: str
    next: str


class Machine:
    """The tables of a connection, a session or a link."""

    def __init__(self, after: str, states: str) -> None:
        self.turns: dict[int, list[str]] = {}
        """By stage: what may be sent, of what counts here."""
        self.steps: dict[tuple[int, int], int] = {}
        """By stage and what is sent: the next stage."""
        self.states: dict[tuple[int, int], str] = {}
        """By the stages of an end and of its partner: its state."""
        for stage, frame, reached in cells(after):
            self.steps[STAGES[stage], STAGES[frame]] = STAGES[reached.removeprefix("*")]
            turns = self.turns.setdefault(STAGES[stage], [])
            if reached.startswith("*"):
                turns.append(frame)
        for sent, received, state in cells(states):
            self.states[STAGES[sent], STAGES[received]] = state

    def after(self, stage: int, sent: int) -> int:
        """The stage of a peer that sends something, in turn or not; LOST: octets are missing."""
        return self.steps[stage, sent]

    def state(self, stage: int, partner: int) -> str:
        """The state of an end by its own stage and its partner's."""
        return self.states.get((stage, partner), UNKNOWN)

    def transitions(self) -> list[Transition]:
        """All that leads from state to state while both peers send in turn."""
        found: list[Transition] = []
        for (stage, partner), state in self.states.items():
            for frame in self.turns[stage]:
                reached = self.state(self.after(stage, STAGES[frame]), partner)
                found.append(Transition(state, SENT, frame, reached))
            for frame in self.turns[partner]:
                reached = self.state(stage, self.after(partner, STAGES[frame]))
                found.append(Transition(state, RECEIVED, frame, reached))
        return list(dict.fromkeys(found))


def cells(table: str) -> list[tuple[str, str, str]]:
    """The cells of a table, each with the names of its row and column."""
    heading, *rows = [line.split() for line in table.strip().splitlines()]
    return [
        (row[0], column, cell)
        for row in rows
        for column, cell in zip(heading[1:], row[1:], strict=True)
    ]


CONNECTION: Final = Machine(CONNECTION_AFTER, CONNECTION_STATES)
SESSION: Final = Machine(SESSION_AFTER, SESSION_STATES)
LINK: Final = Machine(LINK_AFTER, LINK_STATES)
