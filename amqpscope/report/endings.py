"""How something ended, in words and for JSON: the same on every screen and in every report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from amqpscope.findings import Finding
from amqpscope.insight.endings import NAMED, Explained, explained
from amqpscope.model.constraint import Constraint, waits_for
from amqpscope.model.ending import CONNECTION, END, FIN, REUSED, RST, Ending
from amqpscope.protocols.words import printable, seconds, shortened
from amqpscope.stream.types import PEERS
from dissectors.secrets import cleaned

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


class Instant(NamedTuple):
    """As of when a state is shown, and what was found until then."""

    now: int
    """Nanoseconds since the Unix epoch, as all times."""
    start: int
    """From when times are counted."""
    findings: tuple[Finding, ...] = ()
    """Those of the connection that may explain how something ended."""

    def explained(self, ending: Ending | None) -> Explained | None:
        """What explains an ending."""
        return None if ending is None else explained(ending, self.findings)

    def object(self, ending: Ending | None) -> dict[str, Any] | None:
        """An ending for JSON; null while there is none."""
        return ended_object(ending, self.explained(ending))


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
    said = shortened(printable(ending.text), LONGEST)
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


def unanswered(ending: Ending) -> str:
    """Who has not confirmed the ending; empty: it was, or there is nothing to confirm."""
    if ending.half:
        return f"answered by the {PEERS[1 - ending.peer]} with a detach that does not close"
    if ending.answered or ending.by_tcp:
        return ""
    return f"not answered by the {PEERS[1 - ending.peer]}"


def rest_words(ending: Ending) -> str:
    """Where it ended, whether that was answered, and with which error."""
    told = ", ".join(filter(None, (where_words(ending), unanswered(ending))))
    return ": ".join(filter(None, (told, error_words(ending))))


def full_words(ending: Ending, start: int, *, own: str = "") -> str:
    """Who ended it, when, counted from `start`, where, and with which error."""
    time = f"at {(ending.mark.time - start) / 1e9:.3f} s"
    return f"{who_words(ending, own)} {time}, {rest_words(ending)}"


def explained_words(found: Explained) -> str:
    """What explains an ending."""
    finding = found.finding
    if not found.cause or finding.rule in NAMED:
        return f"see {finding.rule} in frame {finding.frame}: {printable(finding.message)}"
    return f"probable cause: {finding.rule} in frame {finding.frame}: {printable(finding.message)}"


def ending_lines(ending: Ending | None, what: str, at: Instant, indent: str) -> Iterator[str]:
    """When and how something ended, and what explains it."""
    if ending is None:
        return
    if ending.what != what:
        time = f"at {(ending.mark.time - at.start) / 1e9:.3f} s"
        yield f"{indent}ended with the {ending.what}, {time}"
        return
    prefix = "" if ending.how == END else "ended: "
    yield f"{indent}{prefix}{full_words(ending, at.start, own=what)}"
    found = at.explained(ending)
    if found is not None:
        yield f"{indent}{explained_words(found)}"


def held_lines(held: Constraint, what: str, at: Instant, indent: str) -> Iterator[str]:
    """What holds something, since when, and who is waited for; or how it ended."""
    if held.ending is not None:
        yield from ending_lines(held.ending, what, at, indent)
    else:
        yield f"{indent}{held_words(held, at.now)}"


def held_words(held: Constraint, now: int) -> str:
    """What holds something that goes on, since when, and who is waited for."""
    since = f" for {seconds(max(now - held.since.time, 0))}, since frame {held.since.frame}"
    detail = f" ({printable(held.detail)})" if held.detail else ""
    return f"{held.kind}{since if held.since.frame else ''}{detail}{waiting(held)}"


def waiting(held: Constraint) -> str:
    """Who is waited for, at the end of a sentence; empty: nobody."""
    peer = waits_for(held)
    return "" if peer is None else f"; waiting for the {PEERS[peer]}"


def constraint_object(held: Constraint, now: int) -> dict[str, Any]:
    """What holds something, for JSON; `peer` is who is waited for, null for nobody."""
    peer, since = waits_for(held), held.since
    return {
        "kind": held.kind,
        "since": since.frame or None,
        "seconds": max(now - since.time, 0) / 1e9 if since.time else None,
        "peer": None if peer is None else PEERS[peer],
        "detail": cleaned(held.detail),
    }


def ended_object(ending: Ending | None, found: Explained | None = None) -> dict[str, Any] | None:
    """An ending for JSON; null while there is none."""
    if ending is None:
        return None
    return {
        "what": ending.what,
        "how": ending.how,
        "by": PEERS[ending.peer] if ending.peer >= 0 else None,
        "time": ending.mark.time / 1e9,
        "packet": ending.mark.packet,
        "frame": ending.frame or None,
        "after": ending.after or None,
        "condition": cleaned(ending.condition) or None,
        "description": cleaned(ending.text) or None,
        "answered": None if ending.by_tcp else ending.answered,
        "finding": None
        if found is None
        else {
            "rule": found.finding.rule,
            "peer": found.finding.peer,
            "frame": found.finding.frame,
            "message": found.finding.message,
            "cause": found.cause,
        },
    }
