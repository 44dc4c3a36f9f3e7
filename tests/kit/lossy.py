"""Plays an exchange of 1.0 of which parts were not captured."""

from __future__ import annotations

from amqpscope.analysis import Analyzer
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.findings import Finding
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.types import Chunk, Connection, End, Gap
from kit.beneath import Opened
from kit.conversation import Said


def play_lossy(
    said: list[Said],
    *,
    lost: set[int],
    keep: int = 0,
    complete: bool = True,
    deaf: int = -1,
    acks: bool = True,
) -> list[Finding]:
    """Play units of which those in `lost` are missing, and all of the peer `deaf`.

    The first `keep` octets of what is lost are there.
    """
    analyzer = Analyzer({5672: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), complete)
    if deaf >= 0:
        connection.anchored[deaf] = False
    unwrapper = Unwrapper(Opened())
    ends: list[list[int]] = [[0], [0]]
    findings: list[Finding] = []

    def feed(piece: Chunk | Gap | End) -> None:
        for inner in unwrapper.feed(piece):
            for step in analyzer.feed(inner):
                findings.extend(step.findings)

    started = complete
    for place, each in enumerate(said):
        own, other = ends[each.sender], ends[1 - each.sender]
        size = len(each.raw)
        known = other[max(len(other) - 1 - max(each.unseen, 0), 0)] + each.ahead
        seen = known if acks and deaf < 0 else -1
        piece: Chunk | Gap | End
        if each.end in {"FIN", "RST", "END"}:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[each.end]
            piece = End(connection, each.sender, reason, place, each.time)
        elif each.end == "GAP":
            size = 100
            piece = Gap(connection, each.sender, own[-1], size, place, each.time)
        elif place in lost:
            start = own[-1] + keep
            if keep:
                head = each.raw[:keep]
                feed(Chunk(connection, each.sender, own[-1], head, place, each.time, seen))
            piece = Gap(connection, each.sender, start, size - keep, place, each.time)
        else:
            piece = Chunk(connection, each.sender, own[-1], each.raw, place, each.time, seen)
            started = True
        own.append(own[-1] + size)
        if each.sender == deaf or (not started and isinstance(piece, Gap)):
            continue
        feed(piece)
    return findings + analyzer.late_findings()
