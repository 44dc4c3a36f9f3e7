"""Answers of a replayed peer of AMQP 0-9 to what nobody recorded, so that its sender can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.protocols.v0_9.replay_live import Coming, LiveChannel
from amqpscope.protocols.v0_9.replay_script import subject_of
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.values import Value

if TYPE_CHECKING:
    from amqpscope.protocols.v0_9.replay_receive import Receiver


class Politeness:
    """Replies to requests, and refuses messages."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.part = receiver.part

    def be_polite(
        self, raw: bytes, unit: Unit, live: LiveChannel, coming: Coming | None, *, report: bool
    ) -> None:
        """Answer what nobody recorded, so that its sender can go on."""
        part, method = self.part, unit.method
        if report:
            shown = f" {subject_of(unit)}" if subject_of(unit) else ""
            where = f"{unit.name}{shown} on channel {unit.channel}"
            part.diverge("extra", None, where, self.receiver.comparison.shown(raw, coming))
        if coming is not None:
            self.receiver.number(live, unit, coming, None)
            self.refuse_message(unit, live)
            return
        if method is None or not method.plan.replies or method.get("no-wait"):
            return
        if unit.name in ("channel.close", "channel.flow", "basic.cancel") and (
            part.side == CLIENT or unit.name != "basic.cancel"
        ):
            return
        reply = "basic.get-empty" if unit.name == "basic.get" else method.plan.replies[0]
        fields: dict[str, Value] = {}
        for name in part.dialect.by_name[reply].names:
            value = method.get(name)
            if value is not None:
                fields[name.replace("-", "_")] = value
        if "queue" in fields and not fields["queue"]:
            fields["queue"] = f"amqpscope-{part.moves}"
        if "consumer_tag" in fields and not fields["consumer_tag"]:
            fields["consumer_tag"] = f"amqpscope-{part.moves}"
        part.emit(reply, unit.channel, **fields)

    def refuse_message(self, unit: Unit, live: LiveChannel) -> None:
        """Refuse a message that nobody recorded."""
        part = self.part
        if unit.name == "basic.publish" and live.confirms:
            self.refuse_publish(live, live.published)
        elif unit.name in ("basic.deliver", "basic.get-ok") and unit.method is not None:
            tag = int(unit.method.get("delivery-tag") or 0)
            consumer = live.consumers.get(str(unit.method.get("consumer-tag") or ""))
            live.received.pop(tag, None)
            if consumer is None or not consumer.no_ack:
                part.emit("basic.reject", live.number, delivery_tag=tag, requeue=True)

    def refuse_publish(self, live: LiveChannel, tag: int) -> None:
        """Confirm that a publish was not taken, where the dialect can say so."""
        part = self.part
        name = "basic.nack" if "basic.nack" in part.dialect.by_name else "basic.ack"
        live.received.pop(tag, None)
        part.emit(name, live.number, delivery_tag=tag)
