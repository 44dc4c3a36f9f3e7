"""How frames of AMQP 1.0 are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.place import Place
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.message import HEADER
from amqpscope.protocols import voice
from amqpscope.protocols.names import Fact, Known
from amqpscope.protocols.v1_0 import bodies, filter_names, ladder, tree
from amqpscope.protocols.v1_0.broker import View, about
from amqpscope.protocols.v1_0.facts import FACTS, OWN_FACTS
from amqpscope.protocols.v1_0.filter_help import HELP
from amqpscope.protocols.v1_0.json import full_name, put_content
from amqpscope.protocols.v1_0.summary import summary
from amqpscope.protocols.voice import FEW, MANY, BodyPart, Tree
from dissectors.v1_0.bodies import Disposition
from dissectors.v1_0.message import walk

if TYPE_CHECKING:
    from amqpscope.protocols.comparison import Comparison
    from amqpscope.protocols.scrub import Marker
    from amqpscope.protocols.simpler import Simplifier

SHORT_HEADER: Final = b"\x00\x53\x70\xc0"
"""How nearly every message with a header begins."""


class Voice(voice.Voice):
    """How frames of 1.0 are shown."""

    def frame_names(self) -> list[str]:
        """Performatives, and kinds of frame."""
        return [*(row.name for row in filter_names.PERFORMATIVES), *self.kinds]

    def name(self, event: shared.Event) -> str:
        """The performative; `unknown` for a body that is none."""
        return event.frame.unit.title

    def full_name(self, event: shared.Event) -> str:
        """The performative, or the descriptor of what is none."""
        return full_name(cast(Event, event).unit)

    def label_key(self, event: shared.Event) -> int:
        """The performative's descriptor."""
        unit = cast(Event, event).unit
        return unit.code if unit.code and unit.kind == "amqp" else -1

    def colour(self, event: shared.Event) -> str:
        """The performative's name, or the kind of frame."""
        unit = event.frame.unit
        return unit.kind if unit.kind == "sasl" else unit.name

    def summary(self, event: shared.Event, show_secrets: bool = False) -> str:
        """What a frame says, on one line."""
        return summary(cast(Event, event), show_secrets=show_secrets)

    def place(self, event: shared.Event) -> str:
        """The link's name, or its handle where that was not seen."""
        link = cast(Event, event).link
        return "" if link is None else link.name or f"handle {link.handle}"

    def link(self, event: shared.Event) -> str | None:
        """The name of the link that a frame belongs to."""
        link = cast(Event, event).link
        return None if link is None else link.name

    def address(self, event: shared.Event) -> str:
        """The node that the frame's link goes to or comes from."""
        link = cast(Event, event).link
        return "" if link is None else link.node()

    def redelivers(self, event: shared.Event) -> bool:
        """Whether the header of the message that a frame completes counts earlier attempts."""
        octets, parts = event.message, cast(Event, event).parts
        if not octets:
            return False
        if octets[:4] == SHORT_HEADER and len(octets) > 4:
            return about(octets[: 5 + octets[4]]).attempts > 0
        sections = walk(octets)[0] if parts is None else parts.sections
        if not sections or sections[0].code != HEADER:
            return False
        return about(octets[: sections[0].stop]).attempts > 0

    def counted_at(self, event: shared.Event) -> Place | None:
        """The place at which a frame is counted: its link."""
        link = cast(Event, event).link
        return None if link is None else link.place

    def payload(self, event: shared.Event) -> int:
        """Octets of message in a transfer."""
        return event.carried_octets if event.frame.unit.name == "transfer" else 0

    def fact(self, event: shared.Event, name: str) -> Any:
        """What a filter's field of our own stands for; None: nothing."""
        read = FACTS.get(name)
        return None if read is None else read(cast(Event, event))

    def facts(self) -> list[Fact]:
        """The fields of our own that only 1.0 has."""
        return OWN_FACTS

    def filter_help(self) -> str:
        """The part of the filter language's help that is about 1.0."""
        return HELP

    def add_frame_names(self, roots: dict[str, Known]) -> None:
        """Add kinds of frame, performatives, and their fields under them."""
        filter_names.performative_names(roots)

    def add_field_names(self, roots: dict[str, Known]) -> None:
        """Add message sections, and the fields of all composites."""
        filter_names.section_names(roots)
        filter_names.shared_names(roots)
        filter_names.nested_names(roots)

    def put_content(self, out: list[str], event: shared.Event, show_secrets: bool) -> None:
        """Write, as JSON, what a frame says, and where it belongs."""
        put_content(out, cast(Event, event), show_secrets)

    def trees(self, event: shared.Event) -> list[Tree]:
        """A frame, and the message that it completes, field by field."""
        return tree.trees(cast(Event, event))

    def bodies(self, event: shared.Event, show_secrets: bool = False) -> list[BodyPart]:
        """The body sections of the message that a frame completes."""
        return bodies.bodies(cast(Event, event), show_secrets)

    def rung(self, event: shared.Event) -> str:
        """The address of the link, its name or handle; the channel where there is no link."""
        return ladder.rung(cast(Event, event))

    def answer(self, event: shared.Event) -> str:
        """What a disposition says of its deliveries."""
        own = cast(Event, event)
        body = own.unit.body
        return ladder.outcome_word(own, body) if isinstance(body, Disposition) else ""

    def alike(self, event: shared.Event) -> str:
        """A word that frames share which say nothing new once some were seen."""
        return ladder.alike(cast(Event, event), self.name(event))

    def fold_after(self, event: shared.Event) -> int:
        """How many frames that are alike are drawn before the rest is folded."""
        return MANY if self.name(event) in ladder.SET_UP else FEW

    def comparison(self) -> Comparison:
        """What may differ between two conversations."""
        from amqpscope.protocols.v1_0.comparison import Comparison

        return Comparison()

    def simplifier(self) -> Simplifier:
        """What makes simpler frames of frames."""
        from amqpscope.protocols.v1_0.simpler import Simplifier

        return Simplifier()

    def marker(self) -> Marker:
        """What marks the octets that belong to users."""
        from amqpscope.protocols.v1_0.scrub import Marker

        return Marker()


VOICE: Final = Voice(kinds=filter_names.KINDS)
VOICE.broker = View()
