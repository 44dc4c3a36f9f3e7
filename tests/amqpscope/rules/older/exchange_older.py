"""Plays an exchange of the older protocols through the real model and rules.

    client: ...        a unit from the client; the sender has seen all that came before
    client~2: ...      the same, but the last two units of the server had not reached it yet
    @2.5s server: ...  with the time since the start
    client: FIN        the client ends its direction;  RST resets;  END: the capture ends here
    client: GAP        100 octets of the client are missing here
    0x00*4089          an octet, so many times

An exchange may begin where a common SETUP ends.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from amqpscope.capture.write import Conversation
from amqpscope.findings import Finding
from amqpscope.frames_older import OlderFrame
from amqpscope.model.older.event import OlderEvent
from amqpscope.older import OlderTalk
from amqpscope.rules.all import load
from amqpscope.rules.older import OlderRuleSet
from amqpscope.stream import PEERS, Chunk, Connection, End, Gap
from dissectors.notation import parse_conversation

CAPABILITIES: Final = """capabilities={
        publisher_confirms=true exchange_exchange_bindings=true basic.nack=true
        consumer_cancel_notify=true connection.blocked=true authentication_failure_close=true}"""
START: Final = f"""
server: connection.start version-major=0 version-minor=9 server-properties={{product="%s"
        version="3.13.0" platform="Erlang" copyright="c" information="i" {CAPABILITIES}}}
        mechanisms="PLAIN AMQPLAIN" locales="en_US"
client: connection.start-ok client-properties={{product="c" version="1" platform="p" copyright="c"
        information="i" {CAPABILITIES}}}
        mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
"""
OLD_START: Final = """
server: connection.start version-major=%d version-minor=%d server-properties={product="%s"
        version="1" platform="p" copyright="c" information="i"} mechanisms="PLAIN" locales="en_US"
client: connection.start-ok client-properties={product="c" version="1" platform="p" copyright="c"
        information="i"} mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
server: connection.tune channel-max=100 frame-max=65536 heartbeat=60
client: connection.tune-ok channel-max=100 frame-max=65536 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
"""
CHANNEL: Final = """
client: channel.open[1]
server: channel.open-ok[1]
"""
QUEUE: Final = """
client: queue.declare[1] queue="q"
server: queue.declare-ok[1] queue="q"
"""
CONSUMER: Final = """
client: basic.consume[1] queue="q" consumer-tag="t"
server: basic.consume-ok[1] consumer-tag="t"
"""
CONFIRMS: Final = """
client: confirm.select[1]
server: confirm.select-ok[1]
"""
TRANSACTION: Final = """
client: tx.select[1]
server: tx.select-ok[1]
"""

SETUPS: Final = {"": ""}
# RabbitMQ, with all that it announces
SETUPS["header"] = "client: header AMQP 0.9.1\n"
SETUPS["remote"] = SETUPS["header"]
SETUPS["opened"] = SETUPS["header"] + START % "RabbitMQ"
SETUPS["channel"] = SETUPS["opened"] + CHANNEL
SETUPS["queue"] = SETUPS["channel"] + QUEUE
SETUPS["consuming"] = SETUPS["queue"] + CONSUMER
SETUPS["confirming"] = SETUPS["channel"] + CONFIRMS
SETUPS["transaction"] = SETUPS["queue"] + TRANSACTION + CONSUMER
# a server of 0-9-1 that is nobody's
SETUPS["plain"] = SETUPS["header"] + OLD_START % (0, 9, "a broker") + CHANNEL
SETUPS["plain_consuming"] = SETUPS["plain"] + QUEUE + CONSUMER
# the versions before
SETUPS["v0_9"] = "client: header 1 1.0.9\n" + OLD_START % (0, 9, "a broker") + CHANNEL
SETUPS["v0_8"] = "client: header 1 1.8.0\n" + OLD_START % (8, 0, "a broker") + CHANNEL
SETUPS["v0_9_consuming"] = SETUPS["v0_9"] + QUEUE + CONSUMER
SETUPS["v0_8_consuming"] = SETUPS["v0_8"] + QUEUE + CONSUMER

_ENDS: Final = re.compile(r"^(?:@(\d+(?:\.\d+)?)s\s+)?(client|server): (FIN|RST|END|GAP)\s*(#.*)?$")
_UNSEEN: Final = re.compile(r"^(\s*(?:@\d+(?:\.\d+)?s\s+)?)(client|server)~(\d+):", re.MULTILINE)
_REPEATED: Final = re.compile(r"0x([0-9a-f]{2})\*(\d+)")
_ID: Final = re.compile(r"A09-[A-Z]{2,3}-\d{2}")


class Said(NamedTuple):
    """One thing that happens in an exchange: a unit, or the end of a direction."""

    sender: int
    time: int
    raw: bytes = b""
    unseen: int = 0
    """Units of the partner that had not reached the sender yet."""
    marks: tuple[str, ...] = ()
    end: str = ""
    """FIN, RST, END or GAP; empty for a unit."""


class Played(NamedTuple):
    """What came of an exchange."""

    events: list[OlderEvent]
    findings: list[Finding]
    marked: dict[int, tuple[str, ...]]
    """The rules that the text expects, by frame number."""


def script(text: str, setup: str = "") -> list[Said]:
    """An exchange as what happens, in order."""
    whole = _REPEATED.sub(lambda m: "0x" + m[1] * int(m[2]), SETUPS[setup] + "\n" + text)
    unseen = {whole.count("\n", 0, m.end()) + 1: int(m[3]) for m in _UNSEEN.finditer(whole)}
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
        time = nanoseconds(float(found[1])) if found[1] else (before or [0])[-1]
        marks = tuple(_ID.findall(found[4] or ""))
        said.append((number, Said(PEERS.index(found[2]), time, marks=marks, end=found[3])))
    return [each for _, each in sorted(said, key=lambda pair: pair[0])]


def nanoseconds(seconds: float) -> int:
    """A time in an exchange as a time of a capture."""
    return 1_700_000_000_000_000_000 + int(seconds * 1e9)


def play(text: str, setup: str = "", *, complete: bool = True) -> Played:
    """Run an exchange; findings come in the order in which they were made.

    Peers are on one machine, but for the setup `remote`: a login in clear is worth a note.
    """
    address = "10.0.0.2" if setup == "remote" else "127.0.0.1"
    connection = Connection(("127.0.0.1", 50000), (address, 5672), complete)
    said = script(text, setup)
    player = Player(connection, said)
    for each in said:
        player.take(each)
    return player.played


@cache
def every_rule() -> OlderRuleSet:
    """All rules, also those that run only when they are asked for."""
    return OlderRuleSet(list(load().values()))


class Player:
    """Feeds what happens to a connection, as the analyzer does."""

    def __init__(self, connection: Connection, said: list[Said]) -> None:
        first = next((each.raw for each in said if each.raw), b"")
        version = first[4:8] if first[:4] == b"AMQP" else b""
        self.connection = connection
        self.talk = OlderTalk(connection, version, [False, False], not connection.complete)
        self.rules = every_rule()
        self.ends: list[list[int]] = [[0], [0]]
        """Where each peer's units end in its stream."""
        self.last: list[OlderFrame | None] = [None, None]
        self.packet = 0
        self.frames = 0
        self.played = Played([], [], {})

    def take(self, said: Said) -> None:
        sender, time = said.sender, said.time
        own, other = self.ends[sender], self.ends[1 - sender]
        if said.end == "GAP":
            self.gap(Gap(self.connection, sender, own[-1], 100, self.packet, time))
            own.append(own[-1] + 100)
        elif said.end:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[said.end]
            self.end(End(self.connection, sender, reason, self.packet, time))
        else:
            self.packet += 1
            seen = other[max(len(other) - 1 - said.unseen, 0)]
            chunk = Chunk(self.connection, sender, own[-1], said.raw, self.packet, time, seen)
            for frame in self.talk.chunk(chunk):
                self.step(frame)
            own.append(own[-1] + len(said.raw))
        if said.marks:
            # What is wrong with the end of a direction is told at its last frame.
            last = (self.last[sender] or self.last[1 - sender]) if said.end else None
            self.played.marked[self.frames if last is None else last.number] = said.marks

    def step(self, frame: OlderFrame) -> None:
        self.frames += 1
        frame.number = self.frames
        self.last[frame.sender] = frame
        event, findings = self.talk.take(frame, self.rules, 1)
        self.played.events.append(event)
        self.played.findings.extend(findings)

    def gap(self, gap: Gap) -> None:
        frame = self.talk.gap(gap)
        if frame is not None:
            self.step(frame)
        self.talk.lost(gap)

    def end(self, end: End) -> None:
        frame = self.talk.end(end)
        if frame is not None:
            self.step(frame)
        last = self.last[end.sender] or self.last[1 - end.sender]
        if last is not None:
            self.played.findings.extend(self.talk.finish(end, last, self.rules, 1))


def record(said: list[Said], talk: Conversation) -> None:
    """Write an exchange as packets."""
    sizes: list[list[int]] = [[], []]
    talk.open(said[0].time)
    for each in said:
        if each.end == "FIN":
            talk.finish(each.sender, each.time)
        elif each.end == "RST":
            talk.reset(each.sender, each.time)
        elif not each.end:
            newest = sizes[1 - each.sender]
            unseen = sum(newest[len(newest) - each.unseen :])
            talk.data(each.sender, each.time, each.raw, unseen)
            sizes[each.sender].append(len(each.raw))
