"""Both sides of a recorded conversation, played against each other without a socket."""

from pathlib import Path

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Choices
from amqpscope.replay.recorded import Recorded
from amqpscope.runs.input import Input
from amqpscope.runs.replayed import read_conversations
from dissectors.notation import parse

QUIET = 20
"""Turns without a move after which order alone holds nothing up."""
STUCK = 60


def conversations(path: Path | str, *keylogs: bytes) -> list[Recorded]:
    return read_conversations(Input(str(path), keylogs), report=lambda line: None)


def rehearse(
    client: Recorded,
    server: Recorded,
    as_client: Choices | None = None,
    as_server: Choices | None = None,
    write: Path | None = None,
) -> list[Part]:
    """The client of one conversation and the server of another, until both are over."""
    passed: list[tuple[int, bytes]] = []
    parts = [
        client.part(0, as_client or Choices(secrets=True)),
        server.part(1, as_server or Choices()),
    ]
    for part in parts:
        part.start()
    moves, quiet, now = 0, 0, 0.0
    while not (parts[0].over and parts[1].over) and quiet <= 2 * STUCK:
        for side, part in enumerate(parts):
            part.proceed(now)
            octets = bytes(part.out)
            part.out.clear()
            if octets:
                passed.append((side, octets))
                parts[1 - side].receive(octets, now)
            if part.over and not parts[1 - side].over:
                parts[1 - side].proceed(now)
                parts[1 - side].lose_peer()
                parts[1 - side].over = "fin"
        moved = parts[0].moves + parts[1].moves
        quiet, moves = 0 if moved != moves else quiet + 1, moved
        now += 0.1
        if quiet == QUIET:
            for part in parts:
                part.loosen()
        elif quiet == 2 * QUIET:
            for part in parts:
                part.hurry()
        elif quiet == STUCK:
            for part in parts:
                part.give_up()
    if write is not None:
        record(passed, write)
    return parts


def recorded_talk(path: Path, text: str) -> Recorded:
    """A conversation of AMQP 1.0 in notation, `>` from the client, as it is read from a capture."""
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("127.0.0.1", 50000), ("127.0.0.1", 5672))
        talk.open(0)
        for time, line in enumerate(text.strip().splitlines()):
            talk.data("><".index(line[0]), time, parse(line[2:]))
    return conversations(path)[0]


def record(passed: list[tuple[int, bytes]], path: Path) -> None:
    """Write what passed as a capture."""
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("127.0.0.1", 50000), ("127.0.0.1", 5672))
        talk.open(0)
        for time, (side, octets) in enumerate(passed):
            talk.data(side, time, octets)
        for side in (0, 1):
            talk.finish(side, len(passed))
