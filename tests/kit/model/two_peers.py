"""Two peers that keep the rules, played by chance, with all that crosses between them.

Each peer acts on what has reached it only. It begins and ends sessions, attaches, refuses and
detaches links, grants and takes back credit, sends, aborts and settles at any time, answers late,
and uses its channels and handles again at once. Ids start near where they wrap.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

NAMES = ("a", "b", "c")
REASON = 'closed=true error=error(condition=:amqp:not-found description="no")'
WINDOW = 6
MODULUS = 1 << 32


def wire(number: int) -> int:
    return number % MODULUS


class Link:
    def __init__(self, name: str, sender: bool, handle: int, count: int) -> None:
        self.name = name
        self.sender = sender
        self.handle = handle
        self.count = count
        """The delivery-count: of a receiver, as far as it has the sender's attach."""
        self.initial = count
        self.answered = False
        """The partner's attach was read."""
        self.gone = False
        """The partner's detach was read."""
        self.limit = count
        """Of a sender: where its credit ends."""
        self.drain = False
        self.settled = False
        self.open: int | None = None
        """The delivery-id of a delivery that goes on."""


class Session:
    def __init__(self, channel: int, random: Random) -> None:
        self.channel = channel
        self.links: dict[int, Link] = {}
        """By this peer's handles."""
        self.inputs: dict[int, Link] = {}
        """By the partner's handles."""
        self.early: list[Link] = []
        """Links of this peer that the partner has not answered, also detached ones."""
        self.over = False
        """This peer has ended it."""
        self.initial = self.next_out = MODULUS - random.randrange(8)
        self.next_in: int | None = None
        """The partner's next transfer-id, once its begin was read."""
        self.limit = 0
        """Where the partner's window ends."""
        self.delivery = MODULUS - random.randrange(8)
        self.received: list[tuple[int, Link]] = []
        """Deliveries of the partner that this peer has not settled."""

    def drop(self, link: Link) -> None:
        """A link is closed, and what was not settled on it is gone."""
        self.received = [each for each in self.received if each[1] is not link]


class Peer:
    def __init__(self, name: str, random: Random, lines: list[str]) -> None:
        self.name = name
        self.random = random
        self.lines = lines
        self.partner: Peer
        self.inbox: deque[tuple[Any, ...]] = deque()
        self.duties: deque[tuple[Any, ...]] = deque()
        """What is to be answered, in order."""
        self.channels: dict[int, Session] = {}
        self.inputs: dict[int, Session] = {}
        self.waiting: list[Session] = []
        """Sessions of this peer without an answer, also ended ones."""
        self.tags = 0

    def say(self, text: str, *message: Any) -> None:
        self.lines.append(f"{self.name}~{len(self.inbox)}: {text}")
        self.partner.inbox.append(message)

    def free(self, used: dict[int, Any]) -> int:
        return next(number for number in range(100) if number not in used)

    def new_link(self, name: str, sender: bool) -> Link:
        return Link(name, sender, -1, MODULUS - self.random.randrange(4) if sender else 0)

    # What it does of its own accord.

    def begin(self) -> None:
        session = Session(self.free(self.channels), self.random)
        self.waiting.append(session)
        self.say_begin(session, None)

    def say_begin(self, session: Session, answers: int | None) -> None:
        self.channels[session.channel] = session
        remote = "" if answers is None else f"remote-channel={answers}"
        self.say(
            f"begin[{session.channel}] {remote} next-outgoing-id={wire(session.initial)}"
            f" incoming-window={WINDOW} outgoing-window=100",
            "begin", session.channel, answers, session.initial,
        )  # fmt: skip

    def end(self, session: Session) -> None:
        del self.channels[session.channel]
        session.over = True
        self.say(f"end[{session.channel}]", "end", session.channel)

    def attach(self, session: Session) -> None:
        name, sender = self.random.choice(NAMES), self.random.random() < 0.5
        for one in self.channels.values():
            for link in (*one.links.values(), *one.early, *one.inputs.values()):
                if link.name == name and link.sender == sender:
                    return
        link = self.new_link(name, sender)
        session.early.append(link)
        self.say_attach(session, link, refuse=False)

    def say_attach(self, session: Session, link: Link, *, refuse: bool) -> None:
        link.handle = self.free(session.links)
        session.links[link.handle] = link
        if link.sender:
            role = f"role=sender initial-delivery-count={wire(link.initial)}"
        else:
            role = "role=receiver"
        source = "" if refuse and link.sender else "source=source()"
        target = "" if refuse and not link.sender else 'target=target(address="q")'
        self.say(
            f'attach[{session.channel}] name="{link.name}" handle={link.handle} {role}'
            f" {source} {target}",
            "attach", session.channel, link.name, link.sender, link.handle, link.initial,
        )  # fmt: skip

    def detach(self, session: Session, link: Link, how: str = "closed=true") -> None:
        del session.links[link.handle]
        session.drop(link)
        self.say(
            f"detach[{session.channel}] handle={link.handle} {how}",
            "detach", session.channel, link.handle,
        )  # fmt: skip

    def flow(self, session: Session, link: Link | None, *, drain: bool = False) -> None:
        incoming = "" if session.next_in is None else f"next-incoming-id={wire(session.next_in)}"
        text, credit, count = "", 0, None
        if link is not None:
            text = f"handle={link.handle}"
            if link.sender:
                left = max(link.limit - link.count, 0)
                text += f" delivery-count={wire(link.count)} link-credit={left} available=0"
            else:
                credit = self.random.randrange(6)
                count = link.count if link.answered else None
                text += "" if count is None else f" delivery-count={wire(count)}"
                text += f" link-credit={credit}" + (" drain=true" if drain else "")
        self.say(
            f"flow[{session.channel}] {incoming} incoming-window={WINDOW}"
            f" next-outgoing-id={wire(session.next_out)} outgoing-window=100 {text}",
            "flow", session.channel, session.next_in, None if link is None else link.handle,
            count, credit, drain, None if link is None else link.count,
        )  # fmt: skip

    def send(self, session: Session, link: Link) -> None:
        """One transfer, if window and credit allow it."""
        if session.next_in is None or session.next_out >= session.limit:
            return
        first = link.open is None
        if first and (link.count >= link.limit or not link.answered):
            return
        more = self.random.random() < 0.3
        aborted = not first and self.random.random() < 0.2
        settled = self.random.random() < 0.5 and not aborted
        text = f"handle={link.handle}"
        if first:
            self.tags += 1
            link.open = session.delivery
            session.delivery += 1
            text += f' delivery-id={wire(link.open)} delivery-tag=b"{self.tags}" message-format=0'
            link.settled = settled
        text += " settled=true" if link.settled and not aborted else ""
        text += " aborted=true" if aborted else (" more=true" if more else "")
        done = aborted or not more
        if done and not aborted:
            link.count += 1
        payload = "" if aborted else (' | data(b"x")' if first else "")
        session.next_out += 1
        self.say(
            f"transfer[{session.channel}] {text}{payload}",
            "transfer", session.channel, link.handle, done, aborted, link.open, link.settled,
        )  # fmt: skip
        if done:
            link.open = None

    def settle(self, session: Session) -> None:
        if session.received:
            number, _ = session.received.pop(0)
            self.say(
                f"disposition[{session.channel}] role=receiver first={wire(number)} settled=true"
                " state=accepted()",
                "disposition",
            )

    # What reaches it.

    def receive(self) -> None:
        kind, *rest = self.inbox.popleft()
        if kind != "disposition":
            getattr(self, f"on_{kind}")(*rest)

    def on_begin(self, channel: int, answers: int | None, initial: int) -> None:
        if answers is None:
            session = Session(-1, self.random)
            self.duties.append(("begin", channel, session))
        else:
            session = next(one for one in self.waiting if one.channel == answers)
            self.waiting.remove(session)
        session.next_in = initial
        session.limit = session.initial + WINDOW
        self.inputs[channel] = session

    def on_end(self, channel: int) -> None:
        self.duties.append(("end", self.inputs.pop(channel)))

    def on_attach(self, channel: int, name: str, sender: bool, handle: int, initial: int) -> None:
        session = self.inputs[channel]
        for link in session.early:
            if link.name == name and link.sender is not sender:
                session.early.remove(link)
                break
        else:
            link = self.new_link(name, not sender)
            self.duties.append(("attach", session, link))
        session.inputs[handle] = link
        link.answered = True
        if not link.sender:
            link.count = link.initial = initial

    def on_detach(self, channel: int, handle: int) -> None:
        session = self.inputs[channel]
        link = session.inputs.pop(handle)
        link.gone = True
        session.drop(link)
        self.duties.append(("detach", session, link))

    def on_flow(
        self, channel: int, base: int | None, handle: int | None,
        count: int | None, credit: int, drain: bool, sent: int | None,
    ) -> None:  # fmt: skip
        session = self.inputs[channel]
        session.limit = (session.initial if base is None else base) + WINDOW
        link = None if handle is None else session.inputs.get(handle)
        if link is None:
            return
        if link.sender:
            link.limit = (link.initial if count is None else count) + credit
            link.drain = drain
            if drain:
                self.duties.append(("drain", session, link))
        elif sent is not None:
            link.count = sent

    def on_transfer(
        self, channel: int, handle: int, done: bool, aborted: bool, number: int, settled: bool
    ) -> None:
        session = self.inputs[channel]
        if session.next_in is not None:
            session.next_in += 1
        link = session.inputs.get(handle)
        if link is None or not done or aborted:
            return
        link.count += 1
        if not settled and session.links.get(link.handle) is link:
            session.received.append((number, link))

    # What it owes.

    def answer(self) -> None:
        kind, *rest = self.duties.popleft()
        getattr(self, f"owe_{kind}")(*rest)

    def owe_begin(self, channel: int, session: Session) -> None:
        session.channel = self.free(self.channels)
        self.say_begin(session, channel)

    def owe_end(self, session: Session) -> None:
        if not session.over:
            self.end(session)

    def owe_attach(self, session: Session, link: Link) -> None:
        if not session.over:
            refuse = self.random.random() < 0.2
            self.say_attach(session, link, refuse=refuse)
            if refuse:
                self.detach(session, link, REASON)

    def owe_detach(self, session: Session, link: Link) -> None:
        if not session.over and session.links.get(link.handle) is link:
            self.detach(session, link)

    def owe_drain(self, session: Session, link: Link) -> None:
        attached = not session.over and session.links.get(link.handle) is link and not link.gone
        if attached and link.drain and link.open is None and link.count < link.limit:
            link.count = link.limit
            self.flow(session, link)

    def act(self) -> None:
        """Do one thing."""
        if self.inbox and self.random.random() < 0.5:
            self.receive()
        elif self.duties and self.random.random() < 0.6:
            self.answer()
        else:
            self.please()

    def please(self) -> None:
        sessions = list(self.channels.values())
        if len(sessions) < 2:
            self.begin()
            return
        session, choice = self.random.choice(sessions), self.random.random()
        links = list(session.links.values())
        if choice < 0.04:
            self.end(session)
        elif choice < 0.15 or not links:
            self.attach(session)
        elif choice < 0.25:
            self.settle(session)
        elif choice < 0.3:
            self.flow(session, None)
        else:
            self.use(session, self.random.choice(links), choice)

    def use(self, session: Session, link: Link, choice: float) -> None:
        if choice < 0.34 and link.open is None:
            self.detach(session, link)
        elif link.sender and not link.gone:
            self.send(session, link)
        elif not link.sender and not link.gone:
            self.flow(session, link, drain=self.random.random() < 0.1)


def conversation(seed: int, turns: int = 150) -> str:
    """What two such peers say in some dozens of frames."""
    random = Random(seed)
    lines: list[str] = []
    client, server = Peer("client", random, lines), Peer("server", random, lines)
    client.partner, server.partner = server, client
    for _ in range(turns):
        random.choice((client, server)).act()
    return "\n".join(lines)
