"""Plays an exchange in notation through the real analysis, as the rules' examples are.

    client: ...        a unit from the client; the sender has seen all that came before
    client~2: ...      the same, but the last two units of the server had not reached it yet
    client^1: ...      it had read the server's next unit too, which is captured only later
    @2.5s server: ...  with the time since the start
    client: FIN        the client ends its direction;  RST resets;  END: the capture ends here
    client: TLS ...    records of a TLS handshake (see `beneath`); what follows is inside TLS
    client: HTTP ...   an upgrade to WebSocket; what follows is inside its frames

An exchange may begin where a common SETUP ends.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from beneath import Beneath, Opened

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.layers import Unwrapper
from amqpscope.capture.write import Conversation
from amqpscope.findings import Finding
from amqpscope.rules import RuleSet
from amqpscope.rules.all import load
from amqpscope.stream import PEERS, Chunk, Connection, End, Gap
from dissectors.notation import parse_conversation

SETUPS: Final = {"": ""}
SETUPS["opened"] = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c" max-frame-size=65536 channel-max=100
server: open container-id="s" max-frame-size=65536 channel-max=100
"""
SETUPS["session"] = f"""{SETUPS["opened"]}
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
SETUPS["sending"] = f"""{SETUPS["session"]}
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q") initial-delivery-count=0
server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["receiving"] = f"""{SETUPS["session"]}
client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target() initial-delivery-count=0
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["control"] = f"""{SETUPS["session"]}
client: attach[0] name="ctrl" handle=0 role=sender source=source() target=coordinator(capabilities=[:amqp:local-transactions]) initial-delivery-count=0
server: attach[0] name="ctrl" handle=0 role=receiver source=source() target=coordinator(capabilities=[:amqp:local-transactions])
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["transaction"] = f"""{SETUPS["control"]}
client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q") initial-delivery-count=0
server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=1 delivery-count=0 link-credit=10
client: attach[0] name="r" handle=2 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=2 role=sender source=source(address="q") target=target() initial-delivery-count=0
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | amqp-value(declare())
server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
"""
SETUPS["sasl"] = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
"""

SETUPS["amqps"] = ""
PORTS: Final = {"amqps": 5671}
"""The server's port by the setup, where it is not 5672."""

_ENDS: Final = re.compile(
    r"^(?:@(\d+(?:\.\d+)?)s\s+)?(client|server): (FIN|RST|END|GAP|TLS .*?|HTTP .*?)\s*(#.*)?$"
)
_UNSEEN: Final = re.compile(r"^(\s*(?:@\d+(?:\.\d+)?s\s+)?)(client|server)([~^]\d+):", re.MULTILINE)


class Said(NamedTuple):
    """One thing that happens in an exchange: a unit, or the end of a direction."""

    sender: int
    time: int
    raw: bytes = b""
    unseen: int = 0
    """Units of the partner that had not reached the sender yet; below 0, that reached it early."""
    marks: tuple[str, ...] = ()
    ahead: int = 0
    """Octets of the units that reached the sender early."""
    end: str = ""
    """FIN, RST, END or GAP; empty for a unit."""


class Played(NamedTuple):
    """What came of an exchange."""

    steps: list[Step]
    findings: list[Finding]
    marked: dict[int, tuple[str, ...]]
    """The rules that the text expects, by frame number."""


def script(text: str, setup: str = "") -> list[Said]:
    """An exchange as what happens, in order."""
    whole = SETUPS[setup] + "\n" + text
    unseen = {
        whole.count("\n", 0, m.end()) + 1: int(m[3].replace("~", "").replace("^", "-"))
        for m in _UNSEEN.finditer(whole)
    }
    lines = _UNSEEN.sub(r"\1\2:", whole).split("\n")
    # Ends of directions are no units: they are taken out, and put back in their places.
    ends = {n: found for n, line in enumerate(lines, 1) if (found := _ENDS.match(line.strip()))}
    units = "\n".join("" if n in ends else line for n, line in enumerate(lines, 1))
    said: list[tuple[int, Said]] = [
        (
            line.number,
            Said(PEERS.index(line.peer), nanoseconds(line.time), line.raw,
                 unseen.get(line.number, 0), line.marks),
        )
        for line in parse_conversation(units)
    ]  # fmt: skip
    for number, found in ends.items():
        before = [each.time for n, each in said if n < number]
        time = nanoseconds(float(found[1])) if found[1] else (before or [nanoseconds(0)])[-1]
        marks = tuple(re.findall(r"[A-Z]{3}-\d{3}", found[4] or ""))
        said.append((number, Said(PEERS.index(found[2]), time, marks=marks, end=found[3])))
    return wrapped([each for _, each in sorted(said, key=lambda pair: pair[0])])


def wrapped(script: list[Said]) -> list[Said]:
    """The same as it is on the wire, with TLS and WebSocket around it where these were begun."""
    beneath = Beneath()
    found = []
    for each in script:
        if each.end[:4] in {"TLS ", "HTTP"}:
            found.append(each._replace(raw=beneath.begin(each.sender, each.end), end=""))
        else:
            found.append(each._replace(raw=beneath.wrap(each.sender, each.raw)))
    return [each._replace(ahead=ahead(found, place)) for place, each in enumerate(found)]


def ahead(script: list[Said], place: int) -> int:
    """Octets that had reached the sender of a unit and are captured only later."""
    each = script[place]
    others = [other.raw for other in script[place:] if other.sender != each.sender and other.raw]
    return sum(len(raw) for raw in others[: max(0, -each.unseen)])


def nanoseconds(seconds: float) -> int:
    """A time in an exchange as a time of a capture."""
    return 1_700_000_000_000_000_000 + int(seconds * 1e9)


def play(text: str, setup: str = "", *, complete: bool = True, port: int = 0) -> Played:
    """Run an exchange; findings come in the order in which they were made."""
    port = port or PORTS.get(setup, 5672)
    analyzer = Analyzer({port: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", port), complete)
    analyzer.speakers.add(connection.server)  # as if it had spoken AMQP before
    player = _Player(analyzer, connection)
    said = script(text, setup)
    connection.opened = said[0].time if complete else 0
    for each in said:
        player.take(each)
    player.played.findings.extend(analyzer.late)
    return player.played


class _Player:
    def __init__(self, analyzer: Analyzer, connection: Connection) -> None:
        self.analyzer = analyzer
        self.connection = connection
        self.unwrapper = Unwrapper(Opened())
        self.ends: list[list[int]] = [[0], [0]]
        """Where each peer's units end in its stream."""
        self.packet = 0
        self.played = Played([], [], {})

    def take(self, said: Said) -> None:
        sender, time = said.sender, said.time
        own, other = self.ends[sender], self.ends[1 - sender]
        if said.end == "GAP":
            self.feed(Gap(self.connection, sender, own[-1], 100, self.packet, time))
            own.append(own[-1] + 100)
        elif said.end:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[said.end]
            self.feed(End(self.connection, sender, reason, self.packet, time))
            if said.marks:
                self.played.marked[self.analyzer.frames] = said.marks
        else:
            self.packet += 1
            seen = other[max(len(other) - 1 - max(said.unseen, 0), 0)] + said.ahead
            self.feed(Chunk(self.connection, sender, own[-1], said.raw, self.packet, time, seen))
            own.append(own[-1] + len(said.raw))
            if said.marks:
                self.played.marked[self.analyzer.frames] = said.marks

    def feed(self, piece: Chunk | Gap | End) -> None:
        for inner in self.unwrapper.feed(piece):
            for step in self.analyzer.feed(inner):
                self.played.steps.append(step)
                self.played.findings.extend(step.findings)


def record(said: list[Said], talk: Conversation) -> None:
    """Write an exchange as packets."""
    sizes: list[list[int]] = [[], []]
    talk.open(said[0].time)
    for each in said:
        if each.end == "FIN":
            talk.finish(each.sender, each.time)
        elif each.end == "RST":
            talk.reset(each.sender, each.time)
        elif each.end == "GAP":
            talk.seq[each.sender] += 100
        elif not each.end:
            newest = sizes[1 - each.sender]
            unseen = sum(newest[len(newest) - max(each.unseen, 0) :])
            talk.data(each.sender, each.time, each.raw, unseen - each.ahead)
            sizes[each.sender].append(len(each.raw))
