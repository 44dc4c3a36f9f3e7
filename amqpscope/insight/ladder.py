"""The ladder: who sent what to whom, as rows that any writer or screen can draw.

Entries come in, one for each unit of any protocol; rows come out. What is new is drawn, what
repeats is folded: of entries that are alike (`Entry.alike`) the first few are drawn, and of a long
stretch of repetitions the last ones, because what came just before something happened matters.
Findings are drawn on their arrows; they are folded, and counted, only where one repeats itself
a dozen times. An entry may answer earlier ones (a disposition its
transfers, an ack its deliveries): drawn rows know their answers, also those within a fold.

Writers: `ladder_text`, `ladder_mermaid`, `ladder_svg`. Entries from Steps: `ladder_steps`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container
from typing import Final, NamedTuple

from amqpscope.protocols.words import OPEN, SETTLED, seconds
from amqpscope.stream.types import PEERS

PAUSE: Final = 1_000_000_000
"""Nanoseconds without a frame that are worth a row."""
SHOWN: Final = 3
"""How many entries that are alike are drawn, unless they say otherwise."""
BEFORE: Final = 2
"""Entries that are drawn before something happens, and after a frame with a finding."""
FEWEST: Final = 4
"""Fewer entries than these are not worth a fold."""
MAX_TRACKS: Final = 6
"""Brackets side by side beyond which no more are drawn."""


FAULT: Final = "fault"
"""The rule of a note that is no finding: a fault of a proxy acted here."""


class Note(NamedTuple):
    """A finding on an arrow, or a fault."""

    severity: str
    rule: str
    name: str
    peer: str
    text: str
    sure: bool = True

    @property
    def words(self) -> str:
        """All of it on one line."""
        if self.rule == FAULT:
            return f"{FAULT} {self.name}: {self.text}"
        doubt = "" if self.sure else ", suspect"
        return f"{self.severity} {self.rule} ({self.peer}{doubt}): {self.text}"


class Entry(NamedTuple):
    """One unit on its way from one peer to the other."""

    frame: int
    time: int
    """Nanoseconds since the Unix epoch."""
    connection: int
    sender: int
    """0 the client, 1 the server."""
    name: str
    """Of the performative or method: `transfer`, `basic.publish`."""
    where: str
    """What it is about: a link's address or name, a queue; may be empty."""
    label: str
    """What it says."""
    alike: str = ""
    """Entries of a connection with the same word are repetitions; empty: of nothing."""
    joined: tuple[int, ...] = ()
    """The frames of the same connection that this one answers."""
    outcome: str = ""
    """What the answer is: `accepted`, `rejected`, `ack`, ..."""
    notes: tuple[Note, ...] = ()
    lost: bool = False
    """Frames of its sender may be missing before it."""
    usual: int = SHOWN
    """How many that are alike are drawn before the rest is folded."""
    kind: str = ""
    """The frame of 1.0 as which it is coloured, if not by its own name."""


class Answer(NamedTuple):
    """What became of a delivery."""

    frame: int
    time: int
    outcome: str


class Row:
    """Something that takes a place in the ladder; the kinds are below."""

    def __init__(self, connection: int, frame: int, time: int) -> None:
        self.connection = connection
        self.frame = frame
        """The frame that it stands for, or that follows it."""
        self.time = time


class Arrow(Row):
    """One frame."""

    def __init__(self, entry: Entry, describe: Callable[[], str] | None = None) -> None:
        super().__init__(entry.connection, entry.frame, entry.time)
        self.entry = entry
        self.describe = describe
        """What makes the entry's label, when it turns out to be drawn."""
        self.answers: list[Answer] = []
        """What was said of it later, whether or not that is drawn."""
        self.joined: list[Arrow] = []
        """The drawn rows that it answers."""

    @property
    def final(self) -> Answer | None:
        """The answer that settled it, which no later word changes; else the newest."""
        said = ""
        for answer in self.answers:
            if answer.outcome.endswith(OPEN):
                said = answer.outcome.removesuffix(OPEN)
            else:
                return (
                    answer._replace(outcome=said) if answer.outcome == SETTLED and said else answer
                )
        return self.answers[-1] if self.answers else None


class Fold(Row):
    """Frames that are not drawn, because they repeat what is."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.connection, entry.frame, entry.time)
        self.last = entry.frame
        self.until = entry.time
        self.names: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        """Of the frames that are answered within."""
        self.notes: Counter[str] = Counter()
        """Rules of findings within, where they repeat what is drawn."""

    def take(self, entry: Entry) -> None:
        """One more."""
        self.names[entry.name] += 1
        if entry.outcome:
            self.outcomes[entry.outcome] += len(entry.joined)
        self.notes.update(note.rule for note in entry.notes)
        self.last = max(self.last, entry.frame)
        self.until = max(self.until, entry.time)

    @property
    def count(self) -> int:
        """How many frames."""
        return sum(self.names.values())


class Pause(Row):
    """A time in which neither peer sent a frame; it ends with `frame`."""

    def __init__(self, connection: int, frame: int, since: int, until: int) -> None:
        super().__init__(connection, frame, since)
        self.until = until

    @property
    def duration(self) -> int:
        """Nanoseconds."""
        return self.until - self.time


class Missing(Row):
    """Octets that the capture does not have, of one peer."""

    def __init__(self, connection: int, frame: int, time: int, sender: int) -> None:
        super().__init__(connection, frame, time)
        self.sender = sender


class Ended(Row):
    """A peer's direction is over: `fin`, `rst`, or another word for it."""

    def __init__(
        self, connection: int, frame: int, time: int, sender: int, how: str, faults: str
    ) -> None:
        super().__init__(connection, frame, time)
        self.sender = sender
        self.how = how
        self.faults = faults
        """What faults of a proxy did behind the last frame."""


class Ladder:
    """Lays out one connection; rows are in the order in which they are to be drawn."""

    def __init__(
        self,
        number: int,
        client: str,
        server: str,
        protocol: str,
        *,
        collapse: bool = True,
        unfolded: Container[int] = (),
        most: int = 0,
        start: int = 0,
    ) -> None:
        self.number = number
        self.client = client
        self.server = server
        self.protocol = protocol
        self.collapse = collapse
        self.unfolded = unfolded
        """Frames that are drawn whatever they are: a set, or a `range` that was expanded."""
        self.most = most
        """Rows after which only findings are drawn, and after twice as many nothing; 0: no end."""
        self.rows: list[Row] = []
        self.frames = 0
        self.findings = 0
        self.start = start
        """From when times are counted: the first frame of the capture, else that of the ladder."""
        self._drawn: dict[int, Arrow] = {}
        self._seen: Counter[str] = Counter()
        self._held: deque[Arrow] = deque()
        """The newest repetitions: still to be drawn, or folded."""
        self._fold: Fold | None = None
        self._after = 0
        """Entries still to be drawn because a finding came just before."""
        self._time = 0

    def add(self, entry: Entry, describe: Callable[[], str] | None = None) -> None:
        """Take the next unit of the connection; its label may be made when it is needed."""
        if not self.frames:
            self.start = self.start or entry.time
        self.frames += 1
        self.findings += sum(1 for note in entry.notes if note.rule != FAULT)
        self._between(entry)
        self._time = entry.time
        for frame in entry.joined:
            row = self._drawn.get(frame)
            if row is not None:
                row.answers.append(Answer(entry.frame, entry.time, entry.outcome))
        arrow = Arrow(entry, describe)
        if self._visible(entry):
            self._release(BEFORE)
            self.rows.append(self._join_answers(arrow))
        else:
            self._hold(arrow)
        self._drawn[entry.frame] = arrow

    def end(self, frame: int, time: int, sender: int, how: str, faults: str = "") -> None:
        """A direction is over."""
        self._release(BEFORE)
        last = self.rows[-1] if self.rows else None
        # A reset, or the end of the capture, ends both directions: it is one thing.
        if how == "fin" or not isinstance(last, Ended) or last.how == "fin":
            self.rows.append(Ended(self.number, frame, time, sender, how, faults))

    def finish(self) -> None:
        """There is nothing more to come."""
        self._release(BEFORE)

    def _between(self, entry: Entry) -> None:
        """What is to be said before this entry: a pause, octets that are missing."""
        since = self._time
        if since and entry.time - since >= PAUSE:
            # Classes of lengths, so that a long pause is new where short ones are usual.
            length = f"pause {((entry.time - since) // PAUSE).bit_length()}"
            if not self._repeats(length):
                self._release(BEFORE)
                self.rows.append(Pause(self.number, entry.frame, since, entry.time))
        if entry.lost:
            self._release(BEFORE)
            self.rows.append(Missing(self.number, entry.frame, entry.time, entry.sender))

    def _repeats(self, alike: str, usual: int = SHOWN) -> bool:
        if not self.collapse or not alike:
            return False
        self._seen[alike] += 1
        return self._seen[alike] > usual

    def _visible(self, entry: Entry) -> bool:
        """Whether an entry is drawn at once."""
        repeats = self._repeats(entry.alike, entry.usual)
        if self.most and len(self.rows) >= self.most * (2 if entry.notes else 1):
            return False
        if (entry.notes and not repeats) or entry.frame in self.unfolded:
            self._after = BEFORE if self.collapse else 0
            return True
        if self._after:
            self._after -= 1
            return True
        return not repeats

    def _join_answers(self, arrow: Arrow) -> Arrow:
        """An arrow that is about to be drawn, with those drawn before that it answers."""
        frames = arrow.entry.joined
        arrow.joined = [self._drawn[frame] for frame in frames if frame in self._drawn]
        if arrow.describe is not None:
            arrow.entry = arrow.entry._replace(label=arrow.describe())
            arrow.describe = None
        return arrow

    def _hold(self, arrow: Arrow) -> None:
        self._held.append(arrow)
        if len(self._held) > BEFORE + FEWEST:
            self._put_away(self._held.popleft())

    def _put_away(self, arrow: Arrow) -> None:
        del self._drawn[arrow.frame]
        if self._fold is None:
            self._fold = Fold(arrow.entry)
            self.rows.append(self._fold)
        self._fold.take(arrow.entry)

    def _release(self, keep: int) -> None:
        """Draw the newest of what is held, and fold the rest if that is worth it."""
        held = self._held
        full = self.most and len(self.rows) >= self.most
        if self._fold is not None or len(held) >= keep + FEWEST or full:
            while len(held) > (0 if full else keep):
                self._put_away(held.popleft())
        self.rows.extend(map(self._join_answers, held))
        held.clear()
        self._fold = None


class Bracket(NamedTuple):
    """A drawn answer and the drawn rows that it answers, on a track of its own beside them."""

    top: int
    bottom: int
    """Places in the list of rows: the first that is answered, and the answer."""
    joints: tuple[int, ...]
    """All that are answered."""
    track: int
    outcome: str


def brackets(rows: list[Row], tracks: int = MAX_TRACKS) -> list[Bracket]:
    """Which rows to join to which, so that no two brackets of a track overlap."""
    places = {id(row): place for place, row in enumerate(rows)}
    wanted: list[tuple[int, int, tuple[int, ...], str]] = []
    for bottom, row in enumerate(rows):
        if isinstance(row, Arrow) and row.joined:
            joints = tuple(sorted(places[id(each)] for each in row.joined if id(each) in places))
            if joints:
                wanted.append((joints[0], bottom, joints, row.entry.outcome))
    ends = [-1] * tracks
    found = []
    for top, bottom, joints, outcome in sorted(wanted):
        free = next((track for track, end in enumerate(ends) if end < top), None)
        if free is not None:
            ends[free] = bottom
            found.append(Bracket(top, bottom, joints, free, outcome))
    return found


def together(ladders: list[Ladder]) -> list[Row]:
    """The rows of several connections in one order of time."""
    rows = [row for ladder in ladders for row in ladder.rows]
    return sorted(rows, key=lambda row: (row.time, row.frame))


class Lanes:
    """Which peers stand side by side: each client by itself, a server once for all its clients."""

    def __init__(self, ladders: list[Ladder]) -> None:
        self.titles: list[tuple[str, str]] = []
        """Role and address of each lane."""
        self._lanes: dict[tuple[int, int], int] = {}
        servers: dict[str, int] = {}
        many = len(ladders) > 1
        for ladder in ladders:
            client = f"client {ladder.number}" if many else "client"
            self._lanes[ladder.number, 0] = self._add(client, ladder.client)
            if ladder.server not in servers:
                servers[ladder.server] = self._add("server", ladder.server)
            self._lanes[ladder.number, 1] = servers[ladder.server]

    def _add(self, role: str, address: str) -> int:
        self.titles.append((role, address))
        return len(self.titles) - 1

    def __len__(self) -> int:
        return len(self.titles)

    def of(self, connection: int, peer: int) -> int:
        """The lane of a peer."""
        return self._lanes[connection, peer]

    def span(self, connection: int) -> tuple[int, int]:
        """The leftmost and the rightmost lane of a connection."""
        one, other = self._lanes[connection, 0], self._lanes[connection, 1]
        return min(one, other), max(one, other)


def row_text(row: Row) -> str:
    """A row that is no arrow, in words."""
    if isinstance(row, Fold):
        return fold_label(row)
    if isinstance(row, Pause):
        return f"{seconds(row.duration)} without a frame"
    if isinstance(row, Missing):
        return f"octets of the {PEERS[row.sender]} are missing here"
    if isinstance(row, Ended):
        words = WAYS.get(row.how, row.how).format(peer=PEERS[row.sender])
        return f"{row.faults}: {words}" if row.faults else words
    return ""


WAYS: Final = {
    # how a direction ends, in words
    "fin": "the {peer} closes TCP (FIN)",
    "rst": "the {peer} resets TCP (RST)",
    "capture": "the capture ends here",
    "idle": "nothing more was captured of this connection",
    "reused": "a new connection takes its ports",
}


def fold_label(fold: Fold) -> str:
    """What is not drawn."""
    if len(fold.names) == 1:
        text = f"{fold.count:,} more {counted_name(fold.count, next(iter(fold.names)))}"
    else:
        counts = fold.names.most_common()
        names = ", ".join(f"{count:,} {counted_name(count, name)}" for name, count in counts)
        text = f"{fold.count:,} more: {names}"
    outcomes = ", ".join(f"{count:,} {name}" for name, count in fold.outcomes.most_common())
    if outcomes:
        text += f" ({outcomes})"
    if fold.notes:
        rules = ", ".join(f"{rule} x{count:,}" for rule, count in fold.notes.most_common())
        text += f"; with findings: {rules}"
    return text


def counted_name(count: int, name: str) -> str:
    """What so many frames are called: `transfers`; methods have no plural."""
    if count == 1 or "." in name:
        return name
    return PLURALS.get(name, f"{name}s")


PLURALS: Final = {
    "attach": "attaches",
    "content-body": "content-bodies",
    "detach": "detaches",
    "empty": "empty frames",
}
