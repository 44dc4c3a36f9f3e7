"""How something ended and what holds it, in words: the same on every screen and in every report."""

from __future__ import annotations

from typing import Final

from amqpscope.model.constraint import Constraint, waits_for
from amqpscope.model.ending import CONNECTION, FIN, REUSED, RST, Ending
from amqpscope.protocols.words import printable, seconds, shortened
from amqpscope.stream.types import PEERS

TCP: Final = {
    FIN: "the {peer} closed TCP {order}",
    RST: "the {peer} reset TCP {order}",
    REUSED: "its end was not captured: another connection took its ports",
}
TCP_BRIEF: Final = {
    FIN: "TCP closed by {peer}",
    RST: "TCP reset by {peer}",
    REUSED: "end not captured",
}
LONGEST: Final = 200
"""Characters of what a peer says of an error; some send whole data structures."""
VERBS: Final = {"close": "closed", "end": "ended", "cancel": "cancelled"}


def verb(ending: Ending) -> str:
    """What was done to it: `closed`, `ended`, `detached`, `cancelled`."""
    if ending.how == "detach":
        return "closed" if ending.closed else "detached"
    return VERBS[ending.how]


def who_words(ending: Ending, own: str) -> str:
    """Who did what; `own` is what need not be named, as the reader sees it."""
    if ending.by_tcp:
        order = "without a close" if ending.opened else "before the connection was open"
        return TCP[ending.how].format(peer=PEERS[ending.peer], order=order)
    what = "" if ending.what == own else f"{ending.what} "
    return f"{what}{verb(ending)} by the {PEERS[ending.peer]}"


def error_words(ending: Ending) -> str:
    """The error with which it ended, or what else is known of why; empty: nothing."""
    said = shortened(printable(" ".join(ending.text.split())), LONGEST)
    if ending.condition and said:
        said = f'"{said}"'
    return " ".join(filter(None, (printable(ending.condition), said)))


def ended_words(ending: Ending, *, own: str = "") -> str:
    """Who ended it and with which error."""
    return ": ".join(filter(None, (who_words(ending, own), error_words(ending))))


def short_words(ending: Ending) -> str:
    """Who ended a connection, and with which condition, in a line of a list."""
    if ending.by_tcp:
        return TCP_BRIEF[ending.how].format(peer=PEERS[ending.peer])
    reason = printable(ending.condition).rpartition(":")[2]
    return ": ".join(filter(None, (who_words(ending, CONNECTION).replace(" the ", " "), reason)))


def brief_words(ending: Ending) -> str:
    """Who ended it, in few columns."""
    if ending.by_tcp:
        return TCP_BRIEF[ending.how].format(peer=PEERS[ending.peer])
    if ending.condition:
        what = "" if ending.what == CONNECTION else f"{ending.what} "
        return f"{what}{verb(ending)}: {printable(ending.condition).rpartition(':')[2]}"
    return f"{ending.what} {verb(ending)}"


def where_words(ending: Ending) -> str:
    """Where in the capture it ended."""
    if not ending.by_tcp:
        return f"frame {ending.frame}"
    after = f", after frame {ending.after}" if ending.after else ""
    return f"packet {ending.mark.packet}{after}"


def unconfirmed_by(ending: Ending) -> str:
    """Who has not confirmed the ending; empty: it was, or there is nothing to confirm."""
    if ending.half:
        return f"answered by the {PEERS[1 - ending.peer]} with a detach that does not close"
    if ending.answered or ending.by_tcp:
        return ""
    return f"not answered by the {PEERS[1 - ending.peer]}"


def rest_words(ending: Ending) -> str:
    """Where it ended, whether that was answered, and with which error."""
    told = ", ".join(filter(None, (where_words(ending), unconfirmed_by(ending))))
    return ": ".join(filter(None, (told, error_words(ending))))


def full_words(ending: Ending, start: int, *, own: str = "") -> str:
    """Who ended it, when, counted from `start`, where, and with which error."""
    time = f"at {(ending.mark.time - start) / 1e9:.3f} s"
    return f"{who_words(ending, own)} {time}, {rest_words(ending)}"


def held_words(held: Constraint, now: int) -> str:
    """What holds something that goes on, since when, and who is waited for."""
    since = f" for {seconds(max(now - held.since.time, 0))}, since frame {held.since.frame}"
    detail = f" ({printable(held.detail)})" if held.detail else ""
    return f"{held.kind}{since if held.since.frame else ''}{detail}{waiting(held)}"


def waiting(held: Constraint) -> str:
    """Who is waited for, at the end of a sentence; empty: nobody."""
    peer = waits_for(held)
    return "" if peer is None else f"; waiting for the {PEERS[peer]}"
