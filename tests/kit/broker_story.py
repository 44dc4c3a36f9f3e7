"""Writes exchanges over several connections to one broker, a line a happening.

    story = Story().sender("A").receiver("B")
    story.publish("A", "m1").answer("A").deliver("B", "m1").outcome("B")

Each connection is opened when it is first named. Numbers (handles, delivery-ids, delivery-tags) are
counted here, so that a test shows only what matters. `exchange_broker.play` runs `story.text`.
"""

from __future__ import annotations

from collections import defaultdict

from amqpscope.rules.broker.scenes import CHANNEL, CONFIRMS, SESSION, TRANSACTION, parts

WINDOWS = "incoming-window=1000 outgoing-window=1000"


class Story:
    """What happens between clients and one broker, in AMQP 1.0 and in 0-9-1."""

    def __init__(self, container: str = "s", product: str = "") -> None:
        self.lines: list[str] = []
        self.time = ""
        self.container, self.product = container, product
        self.opened: set[str] = set()
        self.handles: dict[str, dict[str, int]] = defaultdict(dict)
        self.sent: dict[tuple[str, str], int] = defaultdict(int)
        """The deliveries that a peer of a connection has begun."""
        self.tags: dict[str, int] = defaultdict(int)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def at(self, seconds: float) -> Story:
        self.time = f"@{seconds}s "
        return self

    def add(self, letter: str, line: str) -> Story:
        """A unit as it is; opens the connection where that is new."""
        self.lines.append(f"{self.time}{letter}.{line}")
        return self

    def open(self, letter: str, units: str = SESSION) -> Story:
        if letter not in self.opened:
            self.opened.add(letter)
            units = units.replace('container-id="s"', f'container-id="{self.container}"')
            if self.product:
                product = f'properties={{:product="{self.product}"}} max-frame-size'
                head, _, rest = units.partition("server: open")
                units = f"{head}server: open{rest.replace('max-frame-size', product, 1)}"
            for line in parts(**{letter: units}).splitlines():
                self.lines.append(f"{self.time}{line}")
        return self

    # AMQP 1.0

    def attach(
        self, letter: str, role: str, name: str, source: str, target: str, *, reply: str = "",
        more: str = "", credit: int = 10,
    ) -> Story:  # fmt: skip
        """A link that the client attaches and the broker answers; `reply` is another source."""
        self.open(letter)
        handles = self.handles[letter]
        handle = handles[name] = len(handles)
        ours, theirs = ("sender", "receiver") if role == "sender" else ("receiver", "sender")
        count = "initial-delivery-count=0 "
        first, second = (count, "") if role == "sender" else ("", count)
        if not target.startswith("coordinator"):
            target = f"target({target})"
        link = f'name="{name}" handle={handle}'
        self.add(letter, f"client: attach[0] {link} role={ours} source=source({source}) "
                         f"target={target} {first}{more}")  # fmt: skip
        self.add(letter, f"server: attach[0] {link} role={theirs} source=source({reply or source}) "
                         f"target={target} {second}{more}")  # fmt: skip
        return self.flow(letter, name, credit, by="server" if role == "sender" else "client")

    def sender(self, letter: str, address: str = "q", name: str = "s", **rest: object) -> Story:
        target = f'address="{address}"' if address else ""
        return self.attach(letter, "sender", name, "", target, **rest)

    def receiver(
        self, letter: str, address: str = "q", name: str = "r", source: str = "", **rest: object
    ) -> Story:
        return self.attach(letter, "receiver", name, f'address="{address}" {source}', "", **rest)

    def queue(self, letter: str, address: str = "q", name: str = "r", **rest: object) -> Story:
        """A receiver of what both call a queue."""
        return self.receiver(letter, address, name, "capabilities=[:queue]", **rest)

    def flow(
        self, letter: str, name: str, credit: int, *, count: int = 0, by: str = "client",
        more: str = "",
    ) -> Story:  # fmt: skip
        """A grant of credit, or a broker's word that it has used it up."""
        handle = self.handles[letter][name]
        other = "client" if by == "server" else "server"
        ids = (f"next-incoming-id={self.sent[letter, other]} "
               f"next-outgoing-id={self.sent[letter, by]}")  # fmt: skip
        return self.add(
            letter, f"{by}: flow[0] {ids} {WINDOWS} handle={handle} delivery-count={count} "
                    f"link-credit={credit} {more}",
        )  # fmt: skip

    def drain(self, letter: str, name: str = "r", *, count: int, credit: int = 9) -> Story:
        """The client asks for all there is, and the broker has nothing more."""
        self.flow(letter, name, credit, count=count, more="drain=true")
        return self.flow(letter, name, 0, count=count + credit, by="server", more="drain=true")

    def transfer(
        self, letter: str, by: str, message: str, name: str, more: str = "", id: int | None = None
    ) -> Story:
        number = self.sent[letter, by] if id is None else id
        if id is None:
            self.sent[letter, by] += 1
        handle = self.handles[letter][name]
        return self.add(letter, f'{by}: transfer[0] handle={handle} delivery-id={number} '
                                f'delivery-tag=b"{number}" {more} | {message}')  # fmt: skip

    def publish(self, letter: str, id: str = "m1", name: str = "s", **how: str) -> Story:
        more = how.pop("more", "")
        return self.transfer(letter, "client", message(id, **how), name, more)

    def deliver(self, letter: str, id: str = "m1", name: str = "r", **how: str) -> Story:
        more = how.pop("more", "")
        return self.transfer(letter, "server", message(id, **how), name, more)

    def answer(
        self, letter: str, state: str = "accepted()", *, first: int | None = None,
        settled: bool = True,
    ) -> Story:  # fmt: skip
        """The broker's outcome of a publish: of the newest where none is named."""
        return self.dispose(letter, "server", "receiver", state, first, settled)

    def outcome(
        self, letter: str, state: str = "accepted()", *, first: int | None = None,
        settled: bool = True,
    ) -> Story:  # fmt: skip
        """The consumer's outcome of a delivery: of the newest where none is named."""
        return self.dispose(letter, "client", "receiver", state, first, settled)

    def dispose(
        self, letter: str, by: str, role: str, state: str, first: int | None, settled: bool
    ) -> Story:
        other = "client" if by == "server" else "server"
        number = self.sent[letter, other] - 1 if first is None else first
        more = f" state={state}" if state else ""
        return self.add(letter, f"{by}: disposition[0] role={role} first={number} "
                                f"settled={str(settled).lower()}{more}")  # fmt: skip

    def confirm(self, letter: str, state: str = "accepted()", first: int | None = None) -> Story:
        """The broker settles a delivery, and shows by it that it has read the outcome."""
        number = self.sent[letter, "server"] - 1 if first is None else first
        return self.add(letter, f"server: disposition[0] role=sender first={number} settled=true "
                                f"state={state}")  # fmt: skip

    def detach(self, letter: str, name: str = "r") -> Story:
        handle = self.handles[letter][name]
        for peer in ("client", "server"):
            self.add(letter, f"{peer}: detach[0] handle={handle} closed=true")
        return self

    def transact(self, letter: str) -> Story:
        """Opens a connection with the transaction t; its control link is the first."""
        self.handles[letter]["ctrl"] = 0
        self.sent[letter, "client"] += 1
        return self.open(letter, SESSION + TRANSACTION)

    def discharge(self, letter: str, fail: str = "false") -> Story:
        message = f'amqp-value(discharge(txn-id=b"t" fail={fail}))'
        return self.transfer(letter, "client", message, "ctrl", "message-format=0")

    # AMQP 0-9-1

    def channel(self, letter: str, units: str = "", host: str = "/") -> Story:
        start = CHANNEL.replace('virtual-host="/"', f'virtual-host="{host}"')
        if self.product != "RabbitMQ":
            start = start.replace('product="RabbitMQ"', f'product="{self.product or "p"}"')
        product, self.product = self.product, ""
        self.open(letter, start + units)
        self.product = product
        return self

    def confirms(self, letter: str) -> Story:
        return self.channel(letter, CONFIRMS)

    def consume(self, letter: str, queue: str = "q", tag: str = "t", more: str = "") -> Story:
        self.channel(letter)
        self.add(letter, f'client: basic.consume[1] queue="{queue}" consumer-tag="{tag}" {more}')
        return self.add(letter, f'server: basic.consume-ok[1] consumer-tag="{tag}"')

    def basic_publish(self, letter: str, id: str = "m1", key: str = "q", **how: str) -> Story:
        start = f'basic.publish[1] exchange="{how.pop("exchange", "")}" routing-key="{key}"'
        return self.content(letter, "client", f"{start} {how.pop('more', '')}", id, **how)

    def basic_deliver(self, letter: str, id: str = "m1", key: str = "q", **how: str) -> Story:
        self.tags[letter] += 1
        again = how.pop("redelivered", "false")
        start = (f'basic.deliver[1] consumer-tag="{how.pop("tag", "t")}" redelivered={again} '
                 f'delivery-tag={self.tags[letter]} routing-key="{key}"')  # fmt: skip
        return self.content(letter, "server", start, id, **how)

    def content(self, letter: str, by: str, start: str, id: str, **how: str) -> Story:
        body, more = how.pop("body", "aa"), how.pop("properties", "")
        mid = f'message-id="{id}" ' if id else ""
        self.add(letter, f"{by}: {start}")
        self.add(letter, f"{by}: content-header[1] class=basic body-size={len(body)} {mid}{more}")
        return self.add(letter, f'{by}: content-body[1] "{body}"')

    def ack(self, letter: str, tag: int, by: str = "client", word: str = "ack") -> Story:
        return self.add(letter, f"{by}: basic.{word}[1] delivery-tag={tag}")


def message(
    id: str = "m1", *, header: str = "", annotations: str = "", delivery_annotations: str = "",
    properties: str = "", application: str = "", body: str = 'data(b"x")',
) -> str:  # fmt: skip
    """A message in notation; an empty id leaves message-id out."""
    named = id if id.startswith("message-id=") else f'message-id="{id}"' if id else ""
    inner = f"{named} {properties}".strip()
    found = [
        f"header({header})" if header else "",
        f"delivery-annotations({{{delivery_annotations}}})" if delivery_annotations else "",
        f"message-annotations({{{annotations}}})" if annotations else "",
        f"properties({inner})" if inner else "",
        f"application-properties({{{application}}})" if application else "",
        body,
    ]
    return " ".join(part for part in found if part)


# what many exchanges begin with


def through(*, queue: bool = False, browsing: bool = False) -> Story:
    """A publishes to q, B consumes from it or browses it."""
    story = Story().sender("A")
    if browsing:
        return story.receiver("B", source="distribution-mode=:copy")
    return story.queue("B") if queue else story.receiver("B")


def competing(*, queue: bool = False) -> Story:
    """A publishes to q, B and C consume from it."""
    story = through(queue=queue)
    return story.queue("C") if queue else story.receiver("C")


def changed(published: dict[str, str], delivered: dict[str, str], id: str = "m1") -> Story:
    """One message, published so and delivered otherwise."""
    return through().publish("A", id, **published).answer("A").deliver("B", id, **delivered)


def once(*, queue: bool = False) -> Story:
    """One message, published and delivered."""
    return through(queue=queue).publish("A").answer("A").deliver("B")


def two(**how: str) -> Story:
    """Two messages, published before anybody comes to get them."""
    story = Story().sender("A").publish("A", "m1", **how).publish("A", "m2", **how)
    return story.answer("A", first=0).answer("A", first=1)


def shared() -> Story:
    """B and C share what is published to q, as one sees by who gets what."""
    story = competing()
    for number in range(1, 7):
        consumer = "BC"[number % 2]
        story.publish("A", f"w{number}").answer("A")
        story.deliver(consumer, f"w{number}").outcome(consumer)
    return story


def fanned_out() -> Story:
    """B and C each get what is published to q."""
    story = competing()
    for number in range(1, 4):
        story.publish("A", f"w{number}").answer("A")
        for consumer in "BC":
            story.deliver(consumer, f"w{number}").outcome(consumer)
    return story


def posting() -> Story:
    """A publishes to q in a transaction, B consumes from it."""
    story = Story().transact("A").sender("A").receiver("B")
    return story.publish("A", more='state=transactional-state(txn-id=b"t")')


def accepted(story: Story) -> Story:
    """B accepts the newest delivery, and the broker has read that."""
    return story.outcome("B", settled=False).confirm("B")


def old(properties: str = "") -> Story:
    """A message of 0-9-1 is published and confirmed, B consumes."""
    story = Story().confirms("A").consume("B").basic_publish("A", properties=properties)
    return story.ack("A", 1, "server")


def restarted(story: Story) -> Story:
    """The broker drops all connections."""
    return story.at(1).add("A", "server: RST").add("B", "server: RST").at(4)


def lines(story: Story, letter: str, units: tuple[str, ...]) -> Story:
    """Units of one connection as they are."""
    for unit in units:
        story.add(letter, unit)
    return story
