"""A content put together: the method, its header and its body frames (4.2.6).

A content is assembled for each channel *and direction*: both peers may be in the middle of one.
Where frames come that do not belong to the content that is open, there are usually two writers
on the channel, who do not know of each other. Then the interrupted content is laid aside, and
frames that fit it are given to it, so that one fault is reported once, and with both sequences.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model import delivery as shared
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.deliveries import Delivery
from amqpscope.model.v0_9.publishes import Publish
from dissectors.native import mypyc_attr
from dissectors.v0_9.codec import Method
from dissectors.v0_9.message import ContentHeader

MAX_KEPT: Final = 16 * 1024 * 1024
"""Octets of a body that are kept for who wants to look into it."""
MAX_ASIDE: Final = 8
"""Interrupted contents that are remembered."""
MAX_SEQUENCE: Final = 64
"""Frames of a tangle that are shown one by one."""

OPTIONAL: Final = frozenset(("file.return", "stream.return"))

# What a content waits for.
HEADER: Final = 0
BODY: Final = 1
NOTHING: Final = 2


NO_PIECES: Final[list[bytes]] = []
"""What a body has before its first frame, and most have no other; shared, so never added to."""


@mypyc_attr(free_list_len=1)
class Content:
    """One content: whose method it belongs to, and how far it is."""

    def __init__(self, method: Method | None, mark: Mark) -> None:
        self.method = method
        """The method that it belongs to; None where that was not seen."""
        self.mark = mark
        """The method's frame, or the first that was seen."""
        self.wants = HEADER
        self.header: ContentHeader | None = None
        self.header_mark: Mark | None = None
        self.size = 0
        """`body-size`, once the header was seen."""
        self.received = 0
        """Octets of body so far."""
        self.bodies = 0
        """Body frames so far."""
        self.body_mark: Mark | None = None
        """The newest of them."""
        self.smallest = -1
        """The smallest of them that was not the last; -1: there is none."""
        self.ended = False
        """An empty body frame came where more was to come: the content is given up."""
        self.pieces: list[bytes] = NO_PIECES
        """The body so far."""
        self.aborted = False
        """It was interrupted, and nothing says that it goes on."""
        self.writer = 0
        """Which of the writers of a tangle it is of, from 0."""
        self.delivery: Delivery | None = None
        """What it is the content of: a delivery, or else a publish or return."""
        self.publish: Publish | None = None
        self.returned = False
        """It is the content of a return."""

    @property
    def carried(self) -> shared.Delivery | None:
        """The message that it is the content of; what the server returns was published before."""
        if self.delivery is not None:
            return self.delivery
        return None if self.returned else self.publish

    @property
    def complete(self) -> bool:
        """All of it has passed."""
        return self.wants == NOTHING

    @property
    def optional(self) -> bool:
        """It need not be there: the grammar has these methods without a content."""
        return self.wants == HEADER and self.method is not None and self.method.name in OPTIONAL

    @property
    def rest(self) -> int:
        """Octets of body that are still to come."""
        return self.size - self.received

    def fits(self, size: int) -> bool:
        """A body frame of this size may belong to it."""
        return self.wants == BODY and size <= self.size - self.received

    def take_header(self, header: ContentHeader, mark: Mark) -> None:
        """Take the header of the content."""
        self.header, self.header_mark = header, mark
        self.size = header.body_size
        self.wants = BODY if self.size > 0 else NOTHING

    def take_body(self, piece: bytes, size: int) -> None:
        """A body frame; `piece` is what the capture has of its `size` octets."""
        left = self.size - self.received
        self.received += size
        self.bodies += 1
        self.ended = not size and left > 0
        if size < left and (self.smallest < 0 or size < self.smallest):
            self.smallest = size
        if self.received >= self.size:
            self.wants = NOTHING
            self.pieces = NO_PIECES
        elif self.received <= MAX_KEPT and len(piece) == size:
            if self.pieces is NO_PIECES:
                self.pieces = [piece]
            else:
                self.pieces.append(piece)
        else:
            self.pieces = NO_PIECES


class TangledFrame:
    """One frame of a tangle."""

    def __init__(self, writer: int, name: str, mark: Mark) -> None:
        self.writer = writer
        self.name = name
        self.mark = mark


class Tangle(Subject):
    """Contents of which one interrupted another: most likely two writers on one channel."""

    def __init__(self, mark: Mark, channel: int, peer: int) -> None:
        super().__init__()
        self.mark = mark
        """The frame that interrupted."""
        self.channel = channel
        self.peer = peer
        """Who sends them."""
        self.contents: list[Content] = []
        self.entries: list[TangledFrame] = []

    def enter(self, content: Content) -> None:
        """One more content that is part of it, with the frames it had so far."""
        content.writer = len(self.contents)
        self.contents.append(content)
        if content.method is not None:
            self.add(content, content.method.name, content.mark)
        if content.header_mark is not None:
            self.add(content, "content-header", content.header_mark)
        if content.body_mark is not None:
            self.add(content, "content-body", content.body_mark)

    def add(self, content: Content, name: str, mark: Mark) -> None:
        """A frame of one of its contents."""
        if len(self.entries) < MAX_SEQUENCE:
            self.entries.append(TangledFrame(content.writer, name, mark))

    @property
    def resumed(self) -> bool:
        """A content went on after it had been interrupted: there is more than one writer."""
        return any(
            entry.mark.frame > self.mark.frame and entry.writer == 0 for entry in self.entries
        )


class Assembly:
    """The contents of one direction of one channel."""

    def __init__(self, channel: int, peer: int) -> None:
        self.channel = channel
        self.peer = peer
        self.content: Content | None = None
        """The one that is open: it waits for its header, or for more of its body."""
        self.aside: list[Content] = []
        """Those that were interrupted and may go on."""
        self.tangle: Tangle | None = None
        self.last: Content | None = None
        """The newest that is complete."""
        self.unsure = False
        """Frames were missed, or a content has parts: until the next method nothing is known."""
        self.weight = 0
        """The contents within a structured one (10-3, 0-8) that its headers announce."""
        self.children = 0
        """The contents within a structured one that have come."""

    def lose(self) -> None:
        """Frames of this direction were missed."""
        self.content = None
        self.aside = []
        self.tangle = None
        self.unsure = True
        self.weight = self.children = 0

    def header_goes_to(self) -> Content | None:
        """The content that a header belongs to; None if there is none that waits for one."""
        content = self.content
        if content is not None and content.wants == HEADER:
            return content
        for other in self.aside:
            if other.wants == HEADER:
                return other
        return None

    def body_goes_to(self, size: int) -> Content | None:
        """The content that a body frame belongs to; None if none waits for one.

        The one that is open comes first, unless the frame is too large for it and not for another.
        """
        content = self.content
        if content is not None and content.fits(size):
            return content
        for other in self.aside:
            if other.fits(size):
                return other
        if content is not None and content.wants == BODY:
            return content
        return None

    def interrupt(self, mark: Mark) -> None:
        """Something else comes where the open content should go on: lay it aside."""
        content = self.content
        if content is None:
            return
        if content.optional:
            self.content = None
            return
        if self.tangle is None:
            self.tangle = Tangle(mark, self.channel, self.peer)
            self.tangle.enter(content)
        self.aside.append(content)
        content.aborted = True
        if len(self.aside) > MAX_ASIDE:
            del self.aside[0]
        self.content = None

    def begin(self, content: Content) -> None:
        """A new content is open."""
        self.content = content
        if self.tangle is not None:
            self.tangle.enter(content)

    def follow(self, content: Content, name: str, mark: Mark) -> None:
        """A frame was taken by a content: note it in the tangle, and whether it is complete."""
        if self.tangle is not None:
            self.tangle.add(content, name, mark)
        if content.aborted:
            content.aborted = False
        if not content.complete:
            return
        self.last = content
        if content is self.content:
            self.content = None
        else:
            self.aside = [other for other in self.aside if other is not content]
        if self.content is None and not self.aside:
            self.tangle = None

    def untangles(self, content: Content, size: int) -> bool:
        """A frame with this much body for this content is the last of the tangle."""
        if self.tangle is None:
            return False
        others = [each for each in (self.content, *self.aside) if each not in (content, None)]
        return not others and content.wants != HEADER and content.rest <= size
