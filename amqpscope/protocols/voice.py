"""How what a family's frames say is shown: one object a family, asked by every sink."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.place import Place
from amqpscope.protocols.broker import BrokerView
from amqpscope.protocols.json import masked_fields, put_damage
from amqpscope.protocols.names import Fact, KindTest, Known, Said, add_name
from amqpscope.protocols.shapes import NOTHING, Shape
from amqpscope.protocols.words import escaped, printable
from dissectors.native import mypyc_attr
from dissectors.tree import Node, header_tree, octets_node, plain_node

if TYPE_CHECKING:
    from amqpscope.protocols.comparison import Comparison
    from amqpscope.protocols.scrub import Marker
    from amqpscope.protocols.simpler import Simplifier

ALWAYS: Final = 0
"""Of how many frames that are alike a ladder draws: all."""
FEW: Final = 3
MANY: Final = 12
NOTHING_HIDDEN: Final[frozenset[str]] = frozenset()


class Tree(NamedTuple):
    """The octets of a frame, or of the message that it completes, field by field."""

    title: str
    """`frame` or `message`."""
    node: Node
    octets: bytes
    hidden: frozenset[str]
    """What at the top of the tree holds a secret and must be covered."""
    before: bytes = b""
    """Octets of the same message in earlier frames, for a secret may begin there."""
    inside: int = -1
    """Where in the frame these octets are; -1: they were put together from several frames."""
    frames: int = 1
    """How many frames they were put together from."""


class BodyPart(NamedTuple):
    """Application data in a message."""

    octets: bytes
    content_type: str
    start: int
    """Where it begins in the message, and where what contains it ends."""
    stop: int
    content_encoding: str = ""
    name: str = "content"
    """What holds it: `content`, `data`, `amqp-value`; with a number where there are several."""
    value: bool = False
    """It is a typed value, and its octets are that value as JSON."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Voice:
    """How a family's events are shown; what is not overridden says nothing."""

    def __init__(self, name_width: int = 15, kinds: tuple[str, ...] = ()) -> None:
        self.name_width = name_width
        """Columns for the name of a frame."""
        self.kinds = kinds
        """What `kind` may be of its frames."""
        self.broker = BrokerView()
        """What its frames say of a broker's work."""

    # What few commands ask for is imported when they do.

    def comparison(self) -> Comparison:
        """What may differ between two conversations."""
        from amqpscope.protocols.comparison import Comparison

        return Comparison()

    def simplifier(self) -> Simplifier:
        """What makes simpler frames of frames."""
        from amqpscope.protocols.simpler import Simplifier

        return Simplifier()

    def marker(self) -> Marker:
        """What marks the octets that belong to users."""
        from amqpscope.protocols.scrub import Marker

        return Marker()

    def frame_names(self) -> list[str]:
        """What `name` may be of its frames."""
        return list(self.kinds)

    def name(self, event: Event) -> str:
        """What a list calls a frame: `transfer`, `basic.publish`, `unknown`."""
        return event.name

    def full_name(self, event: Event) -> str:
        """The name of a frame for programs."""
        return event.name

    def label_key(self, event: Event) -> int:
        """A number of 32 bits that frames of one kind and name share; -1: it has none."""
        return -1

    def colour(self, event: Event) -> str:
        """What a frame is coloured as: the name of a 1.0 frame with such a part."""
        return event.name

    def fields(self, event: Event) -> dict[str, Any]:
        """What a frame says, by the specification's names, as it was on the wire."""
        return {}

    def field_shapes(self) -> dict[str, Shape]:
        """The fields that a filter may name, and what they can hold."""
        return {}

    def summary(self, event: Event, show_secrets: bool = False) -> str:
        """What a frame says, on one line."""
        fields = self.fields(event)
        shown = fields if show_secrets else masked_fields(fields)
        said = ", ".join([f"{name} {value}" for name, value in shown.items()])
        return escaped(said) if show_secrets else printable(said)

    def place(self, event: Event) -> str:
        """What a frame is about, for the column of links; as it was on the wire."""
        return self.address(event)

    def link(self, event: Event) -> str | None:
        """The name of the link that a frame belongs to; None where there is none."""
        return None

    def address(self, event: Event) -> str:
        """The node, queue or exchange that a frame is about; empty where there is none."""
        about = self.about(event)
        return "" if about is None else about.place.address

    def about(self, event: Event) -> Delivery | None:
        """The delivery that a frame is part of, or hands back."""
        return event.carries

    def counted_at(self, event: Event) -> Place | None:
        """What statistics count a frame by: its link, exchange or queue; None where it has none."""
        about = self.about(event)
        return None if about is None else about.place

    def redelivers(self, event: Event) -> bool:
        """Whether a frame hands out a message that was handed out before, as its sender says."""
        begun = event.begins
        return begun is not None and begun.redelivered

    def delivery_id(self, event: Event) -> int | None:
        """The number that a frame's delivery has for its receiver."""
        carried = event.carries
        return None if carried is None else carried.delivery_id

    def payload(self, event: Event) -> int:
        """Octets of a message in a frame."""
        return event.carried_octets

    def fact(self, event: Event, name: str) -> Any:
        """What a filter's field of our own stands for in this family; None: nothing."""
        unit, carried = event.frame.unit, event.carries
        if name == "channel":
            return unit.channel if unit.header is None else None
        if name == "frame.type":
            return unit.type if unit.head else None
        if name == "payload":
            return self.payload(event) or None
        if name == "link.name":
            return self.link(event)
        if name == "link.address":
            return self.address(event) or None
        if name == "delivery.id":
            return self.delivery_id(event)
        if carried is None:
            return None
        if name == "delivery.tag":
            return carried.delivery_tag
        if name == "delivery.size":
            return carried.size
        return carried.transfers if name == "delivery.transfers" else None

    def facts(self) -> list[Fact]:
        """The fields of our own that a filter knows of this family alone."""
        return []

    def filter_help(self) -> str:
        """The part of the filter language's help that is about this family; empty: there is none.

        A heading, and the lines below it with two spaces before each.
        """
        return ""

    def add_frame_names(self, roots: dict[str, Known]) -> None:
        """Add the kinds and names of frames to what a filter knows."""
        for kind in self.kinds:
            roots.setdefault(kind, Known(KindTest(kind), NOTHING))

    def add_field_names(self, roots: dict[str, Known]) -> None:
        """Add the fields of frames and messages to what a filter knows."""
        for name, shape in self.field_shapes().items():
            add_name(roots, name, Said(self, name), shape)

    def put_content(self, out: list[str], event: Event, show_secrets: bool) -> None:
        """Write, as JSON, what a frame says: the value of `fields`, and the members behind it."""
        fields = self.fields(event)
        out.append(json.dumps(fields if show_secrets else masked_fields(fields), default=str))
        put_damage(out, event.frame)

    def trees(self, event: Event) -> list[Tree]:
        """A frame, and the message that it completes, field by field."""
        frame = event.frame
        raw, header = frame.raw, frame.unit.header
        if header is None:
            octets = [octets_node("octets", raw, 0, len(raw))]
            node = plain_node("frame", 0, len(raw), None, octets)
        else:
            node = header_tree(raw, header)
        return [Tree("frame", node, raw, NOTHING_HIDDEN, b"", 0)]

    def bodies(self, event: Event, show_secrets: bool = False) -> list[BodyPart]:
        """The application data of the message that a frame completes, but for what is secret."""
        message = event.message
        return [BodyPart(message, "", 0, len(message))] if message else []

    # what a ladder asks

    def rung(self, event: Event) -> str:
        """What a frame is about, in a ladder: an address, a link or a channel."""
        return self.place(event)

    def answer(self, event: Event) -> str:
        """What a frame says of the deliveries that it covers: `accepted`, `ack`."""
        return ""

    def alike(self, event: Event) -> str:
        """A word that frames share which say nothing new once some were seen; empty: it is new."""
        return ""

    def fold_after(self, event: Event) -> int:
        """How many frames that are alike are drawn before the rest is folded."""
        return FEW

    def rung_colour(self, event: Event) -> str:
        """What an arrow is coloured as; empty: as its name says."""
        return ""
