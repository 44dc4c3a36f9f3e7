r"""Display filters: which frames to show, in Wireshark's manner.

Tests
  transfer                        frames of a kind: a performative, or header (a protocol header),
                                  amqp, sasl, empty, unknown, malformed
  settled                         a field alone: it is there, and not false
  has settled                     it is there, also when false
  link.address == "orders"        == != > >= < <= (or eq ne gt ge lt le)
  body contains "hello"           text or octets within the value, case-sensitive
  open.container-id matches "^a"  a regular expression (Python's; (?i) ignores case), also ~;
                                  nested repeats such as (a+)+ can take forever
  name in {flow transfer}         one of several, commas optional; also not in
  channel in {1..5 8}             .. makes a range

  Join with && || ! (or and or not) and parentheses; && binds closer than ||.
  A comparison needs the field to be there, != and not in too: for frames that have no settled
  or one that is not true, write !(settled == true), or just !settled.
  The defaults of the specification are not assumed: absent is absent.

{families}
Frames and where they belong
  frame, frame.number, frame.size, frame.missing, packet, time (seconds since the first frame),
  from (client or server), connection, protocol, kind, name (performative, else kind; that of
  a link is link.name), channel, payload (octets of a transfer),
  ip, port, client.ip, server.port, protocol-header.major,
  link (its name), link.address, link.handle, link.role,
  delivery (a transfer's, or all of a disposition), delivery.tag, delivery.size,
  transaction (declare, commit or rollback, and their answers: declared, committed,
  "rolled back"),
  finding (its rule), finding.name, .severity, .certainty, .peer, .message, .path,
  fault, fault.kind, fault.path   what is malformed

How long it took: 20ms, 1.5s, or seconds
  time.gap            since the frame before it on its connection
  time.answer         since the request that it answers: an open, begin, attach, detach, end or
                      close of the partner; a method that waits for a reply
  time.settle         since the deliveries began that it settles

Messages, followed from publish to settlement over all connections
  message.id          the message-id of those that the frame carries or settles
  message.frame       the numbers of their frames so far: message.frame == 118 is the message
                      that frame 118 carries or settles, from that frame on
  message.state       unanswered, waiting (at the broker), refused (by it), held (by a
                      consumer), rejected (by it), settled
  message.deliveries  how often it was handed to a consumer
  message.latency     from its publish to its newest delivery: 20ms, 1.5s, or seconds
  message.settle      from a delivery until its consumer had settled it
  They are there on the frame that completes a message and on those that settle it, and say
  what is known with that frame: a publish has no latency, and one that is lost later is
  waiting. Messages are recognised by their octets or ids, as in amqpscope broker.

Values
  12  0xff  1.5  -3  true  false  "text"  'text'  r"no \escapes"  0a:ff (octets)  words
  In strings: \" \\ \n \r \t \0 \x41 \u00e9; any other backslash stays.
  Values that have a name in the specification go by it: role == receiver, code == ok,
  rcv-settle-mode == second. Binary compares with text as UTF-8, or with octets 0a:ff or 0x0aff;
  a uuid with its text; a timestamp with a date such as 2030-01-31T12:00:00Z.
  Where a field has several values (arrays, lists, maps, findings) any of them may match;
  != asks that none is equal.

Examples
  transfer && link.address contains "orders" && !settled
  basic.publish.routing-key contains "orders" or basic.return
  finding.severity == error and from == client
  frame.number in {10..20} or (channel == 1 and time > 1.5)
  message.latency > 1s or message.deliveries > 2
  time.settle > 200ms or time.answer > 1s or time.gap > 5s
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.filter.compiler import Compiler
from amqpscope.filter.completion import complete
from amqpscope.filter.errors import FilterError
from amqpscope.filter.facts import FACTS
from amqpscope.filter.parser import parse
from amqpscope.filter.verdicts import Everything, Test
from amqpscope.filter.view import View
from amqpscope.protocols.names import Fact
from amqpscope.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from amqpscope.insight.messages import Followed, Message

__all__ = ["FACTS", "HELP", "Fact", "Filter", "FilterError", "compile_filter", "complete"]

FAMILIES: Final = "\n\n".join(filter(None, (each.voice.filter_help() for each in PROTOCOLS)))
HELP: Final = (__doc__ or "").replace("{families}", f"{FAMILIES}\n")
"""The language, for people."""


class Filter:
    """A compiled filter."""

    def __init__(self, text: str, test: Test, *, follows: bool = False) -> None:
        self.text = text
        self.test = test
        self.follows = follows
        """It asks about messages, which are followed from one frame to the next."""
        self.followed: Followed | None = None
        self.newest = 0
        """The newest frame that was taken."""
        self.messages: Sequence[Message] = ()
        """Those that it carries or settles."""
        self.start: int | None = None
        """When the capture began, in nanoseconds: the time of its frame 1, or of the first Step
        that was asked about."""

    def matches(self, step: Step) -> bool:
        """The filter is true of this Step."""
        start = self.start
        if start is None or step.frame.number == 1:
            start = self.start = step.frame.time
        if self.follows:
            self.follow(step)
        return self.test.holds(View(step, start, self.messages))

    def follow(self, step: Step) -> None:
        """Take the next frame; one that comes again has no messages."""
        from amqpscope.insight.messages import Followed

        number = step.frame.number
        if self.followed is None or number == 1:
            self.followed, self.newest = Followed(), 0
        self.messages = ()
        if number > self.newest:
            self.newest = number
            self.followed.take(step)
            self.messages = self.followed.touched


def compile_filter(text: str) -> Filter:
    """Make a filter of its text; an empty one lets everything pass.

    Raises `FilterError`.
    """
    tree = parse(text)
    if tree is None:
        return Filter(text, Everything())
    compiler = Compiler(text)
    return Filter(text, compiler.test(tree), follows=compiler.follows)
