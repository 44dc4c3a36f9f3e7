"""AMQP for scapy: the door to the packet classes of all families, made from their rows.

    >>> from dissectors.scapy_layers import AMQP, AMQPTransfer, AMQP091, BasicPublish
    >>> bytes(AMQP(channel=1) / AMQPTransfer(handle=0, delivery_id=1, delivery_tag=b"x") / b"...")
    >>> bytes(AMQP091(channel=1) / BasicPublish(exchange="x", routing_key="k"))
    >>> sniff(offline="trace.pcap", session=TCPSession)

AMQP 1.0: `AMQP` is a frame, `AMQPHeader` a protocol header, and each performative, other composite
type and message section has a class (`v1_0.scapy`, `v1_0.scapy_layers`). 0-9: `AMQP091` is a frame
as RabbitMQ has it, `frame_class("0-8")` one of another dialect, and each method and content header
has a class; `layers("0-8")` has those of another dialect (`v0_9.scapy`, `v0_9.scapy_layers`).

What follows in the same octets is chained below; `units` lists all headers and frames of a packet.
Building gives back the octets that were dissected, whatever their encoding or damage. A layer in
which a field was changed is encoded again, and the sizes of its frame follow, unless they are set.

With this module loaded, both families are told apart on port 5672; `unbind` leaves the port to
AMQP 1.0 alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scapy.layers.inet import TCP
from scapy.packet import Packet, bind_bottom_up, bind_top_down, split_bottom_up

from dissectors.scapy_units import PORT, AMQPRest, units
from dissectors.v0_9.dialects import DEFAULT
from dissectors.v0_9.framing import LAST_TYPE, METHOD
from dissectors.v0_9.scapy import AMQP091, AMQP09Frame, AMQP09Header, ShortHeartbeat, frame_class
from dissectors.v0_9.scapy_layers import layers
from dissectors.v0_9.versions import DIALECT_OF
from dissectors.v1_0.scapy import AMQP, AMQPHeader, AMQPUnits
from dissectors.v1_0.scapy_layers import MADE, AMQPDescribed, AMQPMessage, ValueField
from dissectors.wire import MAGIC


class AnyAMQP(Packet):
    """Either family, by the first octets: chooses the class, and is none itself."""

    name = "AMQP"

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """Frames of 0-9 begin with their type, those of 1.0 with a size."""
        return frame_of(bytes(_pkt)).dispatch_hook(_pkt)

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """As the family of the octets does it."""
        return frame_of(data).tcp_reassemble(data, metadata, session)


def frame_of(data: bytes) -> type[AMQP | AMQP09Frame]:
    """The class of the frames that octets begin with."""
    if data[:4] == MAGIC:
        return AMQP091 if data[4:8] in DIALECT_OF else AMQP
    return AMQP091 if data and METHOD <= data[0] <= LAST_TYPE else AMQP


def bind() -> None:
    """Distinguish both families on their port; done when this module is loaded."""
    _rebind(AMQP, AnyAMQP)


def unbind() -> None:
    """Leave the port to AMQP 1.0 alone."""
    _rebind(AnyAMQP, AMQP)


def _rebind(before: type[Packet], now: type[Packet]) -> None:
    for ports in ({"sport": PORT}, {"dport": PORT}, {"sport": PORT, "dport": PORT}):
        split_bottom_up(TCP, before, **ports)
        bind_bottom_up(TCP, now, **ports)


if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Packet]:
        """Whatever class the rows make."""


globals().update(MADE)
globals().update(layers(DEFAULT))
bind_top_down(TCP, AMQP, sport=PORT, dport=PORT)
bind()

__all__ = [
    "AMQP", "AMQP091", "AMQP09Frame", "AMQP09Header", "AMQPDescribed", "AMQPHeader", "AMQPMessage",
    "AMQPRest", "AMQPUnits", "AnyAMQP", "ShortHeartbeat", "ValueField", "bind", "frame_class",
    "layers", "unbind", "units",
]  # fmt: skip
__all__ += list(MADE)
__all__ += list(layers(DEFAULT))
