"""The frames that a proxy holds, as the screen knows them; and the way to decide on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.stream.types import PEERS

if TYPE_CHECKING:
    from amqpscope.tui.store import Store

Table = dict[str, Any]
SOON: Final = 10.0
"""Seconds before somebody gives up from which on that is urgent."""
FAR_BACK: Final = 2_000_000_000
"""Nanoseconds before a held frame in which it is looked for in the capture."""


class Remote(NamedTuple):
    """The running proxy."""

    ask: Callable[[Table], Table | None]
    """Asks something, and waits; None when nobody answers. See `proxy.faults.commands`."""
    poll: Callable[[], Table]
    """The newest answer about what is `held`, and by which filter; asked for without waiting."""
    news: Callable[[], list[str]]
    """What the proxy had to say since."""


class Interception:
    """What is held now."""

    def __init__(self, remote: Remote, store: Store) -> None:
        self.remote = remote
        self.store = store
        self.where = ""
        """The filter of frames that are held."""
        self.held: list[Table] = []
        self.frames: dict[int, int] = {}
        """Where held frames are in the capture, as far as they were read."""

    def update(self) -> bool:
        """Take what is new; whether other frames are held, or known in the capture, than before."""
        before = [each["number"] for each in self.held], len(self.frames)
        answer = self.remote.poll()
        self.held, self.where = answer.get("held", []), answer.get("intercept", "")
        numbers = [each["number"] for each in self.held]
        self.frames = {held: frame for held, frame in self.frames.items() if held in numbers}
        for each in self.held:
            if each["number"] not in self.frames and (found := find_frame(self.store, each)):
                self.frames[each["number"]] = found
        return (numbers, len(self.frames)) != before

    def ask(self, **question: Any) -> tuple[Table, str]:
        """The proxy's answer, and what went wrong."""
        answer = self.remote.ask(question)
        if answer is None:
            return {}, "the proxy does not answer"
        return answer, str(answer.get("error", ""))

    def intercept(self, where: str) -> str:
        """Hold frames that match a filter; what went wrong."""
        return self.ask(do="intercept", filter=where)[1]


def find_frame(store: Store, held: Table) -> int:
    """The number of a held frame in the capture; 0 while it was not read."""
    sender, received = PEERS.index(held["from"]), held["received"]
    for number in range(store.count, 0, -1):
        record = store.record(number)
        if record.time < received - FAR_BACK:
            break
        if (record.sender, record.offset) == (sender, held["offset"]):
            talk = store.connections.get(record.connection)
            if talk is not None and talk.connection.client[1] == held["port"]:
                return number
    return 0


def deadline_words(held: Table, *, full: bool = False) -> tuple[str, str]:
    """Who has given up on a held frame, or will and when; and how urgent that is."""
    if held["hung-up"]:
        return f"{' and '.join(held['hung-up'])} hung up", "error"
    if not held["deadlines"]:
        return "", ""
    first = held["deadlines"][0]
    left = first["left"]
    text = f"{first['peer']} may close " + (f"in {left:.0f} s" if left > 0 else "now")
    if full:
        text += f" ({first['what']} of {first['seconds']:g} s)"
    return text, "error" if left <= 0 else "warning" if left < SOON else ""
