"""What of a method of AMQP 0-9, and of its message, tells whether it is the one recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay_differences import FieldDifference
from amqpscope.protocols.v0_9.replay_live import Coming
from amqpscope.protocols.v0_9.replay_names import renamed_value, without_additions
from amqpscope.protocols.v0_9.replay_script import (
    Expected,
    Message,
)
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.notation_text import text_value
from dissectors.v0_9.values import Table, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v0_9.replay_receive import Receiver

UNTOLD: Final = frozenset((
    "reserved-1", "reserved-2", "reserved-3", "ticket", "consumer-tag", "delivery-tag",
    "message-count", "consumer-count", "reply-text", "redelivered", "class-id", "method-id",
))  # fmt: skip
"""Arguments that differ from run to run."""
UNTOLD_PROPERTIES: Final = frozenset((
    "message-id", "correlation-id", "reply-to", "timestamp", "cluster-id",
))  # fmt: skip


class Comparison:
    """Compares live methods with recorded ones."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.part = receiver.part

    def contrast(
        self, expected: Expected, unit: Unit, coming: Coming | None
    ) -> list[FieldDifference]:
        """The fields in which a live method and its message differ from the recorded ones."""
        seen = self.told_live(unit, coming)
        renamed = self.telling_fields(expected.unit, expected.message, renamed=True)
        plain = self.telling_fields(expected.unit, expected.message, renamed=False)
        fields = self.part.differences(renamed, seen)
        return [each for each in fields if plain.get(each.name) != seen.get(each.name)]

    def compare(
        self, expected: Expected, raw: bytes, unit: Unit, coming: Coming | None = None
    ) -> bool:
        """Report the fields in which a method differs from the recorded one; whether it does."""
        fields = self.contrast(expected, unit, coming)
        if fields:
            cue = expected.cue
            frame = cue.frame if expected.message is None else expected.message.frame
            self.part.diverge("changed", frame, cue.where, self.shown(raw, coming), fields)
        return bool(fields)

    def shown(self, raw: bytes, coming: Coming | None) -> str:
        """A live method in notation, with its message."""
        if coming is None:
            return self.part.show(raw)
        return self.part.show_message(raw, coming.header, coming.body)

    def telling_fields(
        self, unit: Unit, message: Message | None, *, renamed: bool
    ) -> dict[str, str]:
        """What tells of a recorded method and its message."""
        return self.describe(unit, None if message is None else message.header,
                             b"" if message is None else message.body, renamed=renamed)  # fmt: skip

    def told_live(self, unit: Unit, coming: Coming | None) -> dict[str, str]:
        """What tells of a live method and its message."""
        return self.describe(unit, None if coming is None else coming.header,
                             b"" if coming is None else coming.body, renamed=False)  # fmt: skip

    def named_now(self, value: Value) -> Value:
        """A value of the recording as it is called now."""
        return renamed_value(value, self.part.values) if self.part.values else value

    def describe(
        self, unit: Unit, header: Unit | None, body: bytes, *, renamed: bool
    ) -> dict[str, str]:
        """The fields that tell, by name; those of the recording as they are called now."""
        told: dict[str, str] = {}
        by_server = self.part.side == CLIENT
        for name, value in unit.fields():
            if name in UNTOLD or (by_server and name in ("queue", "arguments")):
                continue
            told[name] = text_value(self.named_now(value) if renamed else value)
        if header is not None and header.content is not None and header.content.plan is not None:
            content = header.content
            for name, value in zip(header.content.plan.names, content.values, strict=False):
                if value is None or name in UNTOLD_PROPERTIES:
                    continue
                if isinstance(value, Table) and by_server:
                    value = without_additions(value)
                    if not value:
                        continue
                told[name] = text_value(self.named_now(value) if renamed else value)
            told["body"] = text_value(body)
        return told
