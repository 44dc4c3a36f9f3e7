"""A delivery: one message on its way over a link, in one or more transfers (spec 2.6.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model import delivery as shared
from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from amqpscope.model.v1_0.outcomes import result
from dissectors.native import mypyc_attr
from dissectors.v1_0.bodies import Transfer
from dissectors.v1_0.values import Value

if TYPE_CHECKING:
    from amqpscope.model.v1_0.link import LinkEnd
    from amqpscope.model.v1_0.transaction import Work

MAX_MESSAGE: Final = 64 * 1024 * 1024
"""Octets of one message that are kept to be shown whole; a longer one is followed, not kept."""
MAX_KEPT: Final = 1024
"""Octets of a message that are kept while it is unsettled, to know it again."""
NO_PARTS: Final[list[bytes]] = []
"""What a delivery of one transfer keeps; shared, so never added to."""


@mypyc_attr(free_list_len=1)
class Delivery(shared.Delivery):
    """Both peers' word on one delivery."""

    def __init__(self, link: LinkEnd, number: int | None, body: Transfer, mark: Mark) -> None:
        super().__init__(mark, body.delivery_id)
        self.link = link
        """The sender's end."""
        self.number = number
        """The delivery-id, unwrapped; None while it is not known."""
        self.due_id: int | None = None
        """The delivery-id that was next, where it took another."""
        self.tag = body.delivery_tag
        self.message_format = body.message_format
        self.last_mark = mark
        """The newest transfer."""
        self.parts: list[bytes] = NO_PARTS
        self.content = b""
        """The message, when it is complete, unsettled and not long."""
        self.whole = True
        """Nothing of the payload is missing from the capture, and it is all in `parts`."""
        self.sections = -1
        """How many sections its message has; -1 while that is not known."""
        self.resumed = bool(body.resume)
        self.rcv_settle_mode: int | None = None
        """As a transfer asked for; None: the link's."""
        self.snd_settled: Mark | None = None
        """The frame with which the sender settled it."""
        self.sent_settled = False
        """One of its transfers was marked as settled."""
        self.rcv_settled: Mark | None = None
        self.snd_state: Value = None
        """The newest state that the sender gave it."""
        self.rcv_state: Value = None
        self.rcv_state_mark: Mark | None = None
        self.snd_terminal: Value = None
        """The first outcome that the sender stated."""
        self.snd_terminal_mark: Mark | None = None
        self.work: Work | None = None
        """Its part in transactions."""
        self.rcv_terminal: Value = None
        self.rcv_terminal_mark: Mark | None = None

    def join_payload(self, payload: bytes, missing: int) -> bytes | None:
        """The message if this were the last payload; None when not all of it was seen."""
        if not self.whole or missing or self.size + len(payload) > MAX_MESSAGE:
            return None
        if not self.parts:
            return payload
        return b"".join((*self.parts, payload))

    def add(self, payload: bytes, missing: int, keep: bool) -> None:
        """Take the payload of one more transfer; `keep` it if others are to follow."""
        self.transfers += 1
        self.size += len(payload) + missing
        if missing or self.size > MAX_MESSAGE:
            self.whole = False
            self.parts = NO_PARTS
        elif self.whole and keep and payload:
            if self.parts is NO_PARTS:
                self.parts = []
            self.parts.append(payload)

    def lose(self) -> None:
        """Transfers of it may have been missed."""
        self.whole = False
        self.parts = NO_PARTS

    # the vocabulary of all families

    @property
    def place(self) -> Place:
        """The link that it goes over."""
        return self.link.place

    @property
    def presettled(self) -> bool:
        """Its sender settled it before it was complete."""
        return self.sent_settled

    @property
    def result(self) -> str:
        """The outcome that a settled delivery has, as far as the wire shows."""
        if self.settled is None:
            return ""
        if self.sent_settled and self.complete:
            return shared.PRESETTLED
        return result(self.snd_state, self.rcv_state)

    @property
    def delivery_tag(self) -> bytes | None:
        """Its delivery-tag, where that is what it should be."""
        tag: Value = self.tag
        return bytes(tag) if isinstance(tag, bytes) else None
