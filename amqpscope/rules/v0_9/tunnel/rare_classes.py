"""Classes that are practically never seen: tunnel, test and cluster (A09-TUN; 1.1.11 to 1.1.13)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import IMPLIED, WARNING, Reporter, rule
from amqpscope.rules.v0_9.channel.replies import ENDS, report_waiting
from dissectors.v0_9.codec import Method

INTEGERS: Final = ("integer-1", "integer-2", "integer-3", "integer-4")
STRINGS: Final = ("string-1", "string-2")
MODULUS: Final = 1 << 64


@rule(
    "A09-TUN-01",
    "1.1.11, 1.1.12, 1.1.13",
    IMPLIED,
    WARNING,
    on=f"answers test.* | odd-header | {ENDS}",
    dialects="10-3 0-8",
)
def rare_class_dialogue_broken(event: Event, report: Reporter) -> None:
    """A test of the partner gets its answer, and the answer is what the test must come to.

    A test of integers is answered by their sum, or the lowest or highest of them; one of strings by
    both together or one of the two; one of contents by the same content. Tunnelled data and what
    brokers of a cluster tell each other want no answers.

    Bad (v0_8):
        server: test.integer-ok[1] result=6   # <- A09-TUN-01

    Good (v0_8):
        client: test.integer[1] integer-1=1 integer-2=2 integer-3=3 integer-4=4 operation=1
        server: test.integer-ok[1] result=10
        server: tunnel.request[1]
        server: content-header[1] class=tunnel body-size=0

    Bad (v0_8):
        client: test.integer[1] integer-1=1 integer-2=2 integer-3=3 integer-4=4 operation=1
        server: test.integer-ok[1] result=11   # <- A09-TUN-01

    Good (v0_8):
        server: test.content[1]
        server: content-header[1] class=test body-size=2
        server: content-body[1] "ab"
        client: test.content-ok[1] content-checksum=0
        client: content-header[1] class=test body-size=2
        client: content-body[1] "ab"

    Bad (v0_8):
        server: test.content[1]
        server: content-header[1] class=test body-size=2
        server: content-body[1] "ab"
        client: test.content-ok[1] content-checksum=0
        client: content-header[1] class=test body-size=1   # <- A09-TUN-01
    """
    if event.kinds & kinds.CONTENT_HEADER:
        report_echo(event, report)
    elif not event.kinds & kinds.ANSWERS or event.name in ENDS:
        report_waiting(event, report, ("test.",))
    elif event.kinds & kinds.UNASKED:
        if event.trusted:
            report.sure(event, f"{event.name} answers nothing that was asked on this channel")
    else:
        report_result(event, report)


def report_result(event: Event, report: Reporter) -> None:
    """Report a result that no operation gives."""
    method, request = event.unit.method, event.request
    if method is None or request is None or not event.trusted or event.unit.faults:
        return
    asked = request.method
    if method.raw or asked.raw or event.skipped:
        return
    if event.name == "test.integer-ok":
        values = [number(asked, name) for name in INTEGERS]
        fitting: tuple[int | bytes, ...] = (sum(values) % MODULUS, min(values), max(values))
        result: int | bytes = number(method, "result")
    elif event.name == "test.string-ok":
        first, second = (octets(asked, name) for name in STRINGS)
        fitting, result = (first + second, first, second), octets(method, "result")
    else:
        return
    if result not in fitting:
        words = f"the result is {result!r}, no operation on what was sent gives that"
        report.suspect(event, words, f"{event.name}.result", ((request.mark, "the test"),))


def octets(method: Method, name: str) -> bytes:
    """A string among the arguments, as it was sent."""
    value = method.get(name)
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "replace")


def report_echo(event: Event, report: Reporter) -> None:
    """Report a content that does not come back as it was sent."""
    channel, content, header = event.channel, event.content, event.unit.content
    if channel is None or content is None or content.method is None or header is None:
        return
    if content.method.name != "test.content-ok" or not channel.sure or not event.trusted:
        return
    sent = channel.assemblies[1 - event.peer].last
    if sent is None or sent.method is None or sent.method.name != "test.content":
        return
    if sent.size != header.body_size:
        words = f"{header.body_size} octets come back of a content of {sent.size}"
        report.suspect(event, words, "content-header.body-size", ((sent.mark, "the test"),))
