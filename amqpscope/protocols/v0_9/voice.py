"""How frames of AMQP 0-8, 0-9 and 0-9-1 are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.delivery import Delivery
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols import voice
from amqpscope.protocols.names import Known, one_or_all
from amqpscope.protocols.v0_9 import filter_names, ladder, tree
from amqpscope.protocols.v0_9.broker import View
from amqpscope.protocols.v0_9.json import put_content
from amqpscope.protocols.v0_9.summary import colour, summary
from amqpscope.protocols.voice import FEW, MANY, BodyPart, Tree

if TYPE_CHECKING:
    from amqpscope.protocols.comparison import Comparison
    from amqpscope.protocols.scrub import Marker
    from amqpscope.protocols.simpler import Simplifier

LONG_NAME: Final = 19
"""Columns of the name of a method: `connection.start-ok`."""


class Voice(voice.Voice):
    """How frames of 0-9 are shown."""

    def frame_names(self) -> list[str]:
        """Kinds of frame, and methods."""
        return [*self.kinds, *filter_names.methods()]

    def colour(self, event: shared.Event) -> str:
        """The name of a 1.0 frame that has such a part."""
        return colour(cast(Event, event))

    def summary(self, event: shared.Event, show_secrets: bool = False) -> str:
        """What a frame says, on one line."""
        return summary(cast(Event, event), show_secrets=show_secrets)

    def address(self, event: shared.Event) -> str:
        """The queue or exchange that a frame is about."""
        return cast(Event, event).address

    def about(self, event: shared.Event) -> Delivery | None:
        """The delivery or publish that a frame is part of, or hands back."""
        found = cast(Event, event)
        return found.publish if found.delivery is None else found.delivery

    def delivery_id(self, event: shared.Event) -> int | None:
        """The delivery-tag of a delivery."""
        delivery = cast(Event, event).delivery
        return None if delivery is None else delivery.tag

    def payload(self, event: shared.Event) -> int:
        """Octets of content in a body frame."""
        return cast(Event, event).unit.body_size

    def fact(self, event: shared.Event, name: str) -> Any:
        """What a filter's field of our own stands for; None: nothing."""
        found = cast(Event, event)
        unit = found.unit
        if name == "channel":
            return None if unit.header is not None else unit.channel
        if name == "payload":
            return unit.size if unit.label == "content-body" else None
        if name == "link.address":
            return found.address or None
        if name == "delivery.id":
            if found.delivery is not None:
                return found.delivery.tag
            return one_or_all([each.tag for each in found.covered])
        if name == "frame.type":
            return unit.type if unit.head else None
        return unit.head or None if name == "frame.doff" else None

    def filter_help(self) -> str:
        """The part of the filter language's help that is about 0-9."""
        return filter_names.HELP

    def add_frame_names(self, roots: dict[str, Known]) -> None:
        """Add kinds of frame."""
        filter_names.frame_names(roots)

    def add_field_names(self, roots: dict[str, Known]) -> None:
        """Add classes, methods, arguments and content properties."""
        filter_names.field_names(roots)

    def put_content(self, out: list[str], event: shared.Event, show_secrets: bool) -> None:
        """Write, as JSON, what a frame says, and where it belongs."""
        put_content(out, cast(Event, event), show_secrets)

    def trees(self, event: shared.Event) -> list[Tree]:
        """A frame, field by field."""
        return tree.trees(cast(Event, event))

    def bodies(self, event: shared.Event, show_secrets: bool = False) -> list[BodyPart]:
        """The body of the content that a frame completes."""
        return tree.bodies(cast(Event, event))

    def rung(self, event: shared.Event) -> str:
        """The queue or exchange of an answer; else the channel."""
        return ladder.rung(cast(Event, event))

    def answer(self, event: shared.Event) -> str:
        """What an acknowledgement says."""
        return ladder.answer(cast(Event, event))

    def alike(self, event: shared.Event) -> str:
        """A word that frames share which say nothing new once some were seen."""
        return ladder.alike(cast(Event, event))

    def fold_after(self, event: shared.Event) -> int:
        """How many frames that are alike are drawn before the rest is folded."""
        return FEW if ladder.is_steady(cast(Event, event)) else MANY

    def rung_colour(self, event: shared.Event) -> str:
        """What an arrow is coloured as."""
        return colour(cast(Event, event))

    def comparison(self) -> Comparison:
        """What may differ between two conversations."""
        from amqpscope.protocols.v0_9.comparison import Comparison

        return Comparison()

    def simplifier(self) -> Simplifier:
        """What makes simpler frames of frames."""
        from amqpscope.protocols.v0_9.simpler import Simplifier

        return Simplifier()

    def marker(self) -> Marker:
        """What marks the octets that belong to users."""
        from amqpscope.protocols.v0_9.scrub import Marker

        return Marker()


VOICE: Final = Voice(LONG_NAME, filter_names.KINDS)
VOICE.broker = View()
