"""A protocol family that exists for tests alone: all that a third one takes, in one module.

    "TOY1" 0 0 0 1            the header
    size:2 kind:1 number:1    a frame; its size is that of the whole
        put text              a message
        ok                    the message of this number has arrived
        bye                   nothing more comes

It registers itself when it is imported: AMQPSCOPE_PROTOCOLS=kit.toy.
"""

from amqpscope.findings import ERROR
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.place import Place
from amqpscope.protocols import registry
from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.shapes import NUMBER, TEXT
from amqpscope.protocols.state import StateNode
from amqpscope.protocols.talk import Talk
from amqpscope.protocols.voice import Voice
from amqpscope.rules.registry import MUST, Family, register
from amqpscope.stream.framer import Frame, Framer
from dissectors.wire import DAMAGED, MORE, Header, Unit, u16

NAME, MAGIC, HEAD = "toy", b"TOY1", 4
PUT, OK, BYE = 1, 2, 4
KINDS = {PUT: "put", OK: "ok", BYE: "bye"}
FAMILY = Family(NAME, {name: kind for kind, name in KINDS.items()}, {}, (), lambda event: 0)


class ToyFramer(Framer):
    def measure(self, data, at, end):
        if end - at < HEAD:
            return MORE
        if data[at : at + 4] == MAGIC:
            return HEADER_SIZE
        return u16(data, at) if data[at + 2] in KINDS and u16(data, at) >= HEAD else DAMAGED

    def make_frame(self, raw, offset, missing, packet, time, ack):
        header = raw[:4] == MAGIC
        unit = Unit("header" if header else KINDS.get(raw[2], "malformed"), 0, raw[2], HEAD)
        unit.header = Header(*raw[4:8]) if header else None
        unit.payload = HEAD
        if unit.kind == "malformed":
            unit.mark_damaged(0, "no frame begins so")
        return Frame(self.sender, offset, raw, missing, packet, time, ack, unit)


class Put(Delivery):
    def __init__(self, mark, number, topic):
        super().__init__(mark, number)
        self.topic, self.transfers, self.complete = topic, 1, True

    @property
    def place(self):
        return self.topic

    @property
    def result(self):
        return "arrived" if self.settled else ""


class ToyEvent(Event):
    def __init__(self, frame):
        super().__init__(frame, frame.sender, EVERYTHING, frame.time)
        self.number = 0 if frame.unit.header else frame.raw[3]
        self.kinds = 0 if frame.unit.header else frame.unit.type
        self.message = frame.raw[HEAD:] if self.kinds == PUT else None
        self.put = None

    begins = property(lambda self: self.carries)
    carries = property(lambda self: self.put if self.kinds == PUT else None)
    completes = property(lambda self: self.carries is not None)
    carried_octets = property(lambda self: len(self.message or b""))
    settles = property(lambda self: [self.put] if self.kinds == OK and self.put else [])
    covers = property(lambda self: self.settles)


class ToyTalk(Talk):
    def __init__(self, number, connection, protocol, voice):
        super().__init__(number, connection, protocol, voice)
        self.framers = [ToyFramer(peer, lost=not connection.anchored[peer]) for peer in (0, 1)]
        self.topics = [Place("topic", "news", "news", sender, 0) for sender in (0, 1)]
        self.open = [{}, {}]

    def locate(self, frame):
        event = ToyEvent(frame)
        if event.kinds == PUT:
            event.put = Put(event.mark, event.number, self.topics[event.peer])
            event.put.size = len(event.message)
        elif event.kinds == OK:
            event.put = self.open[1 - event.peer].get(event.number)
        return event

    def apply(self, event):
        super().apply(event)
        if event.kinds == PUT:
            self.open[event.peer][event.number] = event.put
        elif event.put is not None:
            event.put.settled = event.mark
            del self.open[1 - event.peer][event.number]

    def state(self, known):
        node = super().state(known)
        node.group, node.fields["topics"] = "topics", []
        for topic, puts in zip(self.topics, self.open, strict=True):
            words = f"topic {topic.name}  {len(puts)} under way"
            fields = {"name": topic.name, "under-way": len(puts)}
            label = f"topic {topic.name}"
            below = StateNode(label, label, f"{len(puts)} under way", kind="topic", title=words,
                              fields=fields)  # fmt: skip
            node.children += (below,)
        return node


class ToyVoice(Voice):
    def fields(self, event):
        if event.frame.unit.header or not event.kinds:
            return {}
        text = {} if event.message is None else {"text": event.message.decode()}
        return {"number": event.number, **text}

    def field_shapes(self):
        return {"number": NUMBER, "text": TEXT}


class Toy(Protocol):
    def talk(self, number, connection, protocol, version, holes):
        return ToyTalk(number, connection, protocol, self.voice)


def rule(id, section, level, severity, *, on):
    return register(FAMILY, id, section, level, severity, on, "", True, "")


@rule("TOY-001", "1", MUST, ERROR, on="ok")
def ok_without_put(event, report):
    """An ok names a put that was sent before.

    Who sent it cannot mean anything else by its number.
    """
    if event.put is None:
        report.sure(event, f"there is no put {event.number} under way", "ok.number")


registry.register(Toy((NAME,), ToyVoice(kinds=tuple(KINDS.values())), MAGIC, {b"\0\0\0\1": NAME}))
