"""Staging of files (A09-FIL-01 to 05, 12; 1.1.7).

A file is put at the partner's first: open, open-ok with what is there already, stage with the rest.
Only then a publish or deliver names it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.model.v0_9.staging import MAX_STAGED, Staging
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, Reporter, parameter, rule
from amqpscope.rules.v0_9.versions import KNOWN, OLD
from amqpscope.stream.types import PEERS
from dissectors.v0_9.codec import Method

STAGES: Final = "unasked file.open-ok file.stage | file.open"
WHAT: Final = {"file.open-ok": "file.open", "file.stage": "file.open-ok"}


@rule("A09-FIL-01", "1.1.7 grammar", MUST, ERROR, on=STAGES, dialects=OLD, needs="clear")
def file_staging_out_of_order(event: Event, report: Reporter, channel: Channel) -> None:
    """A file is staged by open, the partner's open-ok, and stage with the content.

    The open-ok says from where on the file is wanted, so nobody can stage before it. Another open
    while an open-ok waits for its stage is odd, and may be several files side by side.

    Bad (v0_9):
        client: file.open[1] identifier="f" content-size=3
        client: file.stage[1]   # <- A09-FIL-01
        client: content-header[1] class=file body-size=3
        client: content-body[1] "abc"

    Good (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=3
        client: content-body[1] "abc"
        client: file.publish[1] exchange="x" identifier="f"

    Bad (v0_8):
        client: file.open-ok[1] staged-size=0   # <- A09-FIL-01

    Good (v0_8):
        server: file.open[1] identifier="f" content-size=0
        client: file.open-ok[1] staged-size=0
        server: file.stage[1]
        server: content-header[1] class=file body-size=0
    """
    if event.kinds & kinds.UNASKED:
        report.sure(event, f"{event.name}, and no {WHAT[event.name]} waits for it")
        return
    for request in channel.pending[1 - event.peer]:
        if request.name == "file.open-ok" and event.knew(request.mark):
            words = "another file.open, and the open-ok before it has had no stage"
            report.suspect(event, words, "", ((request.mark, "the open-ok"),))
            return


@rule(
    "A09-FIL-02",
    "open content-size",
    MUST,
    ERROR,
    on="file.open-ok | odd-header",
    dialects=KNOWN,
    needs="trusted",
)
def file_size_wrong(event: Event, report: Reporter) -> None:
    """The size that an open announces is that of the file, and no more than it is staged already.

    The partner makes room for it in advance.

    Bad (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=4   # <- A09-FIL-02

    Good (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=3
        client: file.stage[1]
        client: content-header[1] class=file body-size=0

    Bad (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=4   # <- A09-FIL-02

    Good (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=3
        client: content-body[1] "abc"
    """
    method, request = event.unit.method, event.request
    if method is None:
        staging = find_staging(event)
        if staging is not None and not staging.staged:
            report_body(event, report, staging)
        return
    opened = None if request is None else request.staging
    size = number(method, "staged-size")
    if opened is not None and size > opened.size:
        words = f"open-ok says that {size} octets are staged of a file of {opened.size}"
        report.sure(event, words, "file.open-ok.staged-size", ((opened.mark, "its open"),))


@parameter("staging")
def find_staging(event: Event) -> Staging | None:
    """The file that a content header is of."""
    channel, content = event.channel, event.content
    staging = None if channel is None else channel.stagings[event.peer]
    if channel is None or staging is None or content is None or staging.content is not content:
        return None
    if event.unit.faults or not event.trusted:
        return None
    # A09-FIL-02 has reported a partner that says more than there can be.
    return staging if channel.sure and staging.staged <= staging.size else None


def report_body(event: Event, report: Reporter, staging: Staging) -> None:
    """Report a body that is not the rest of its file."""
    header = event.unit.content
    if header is None or header.body_size == staging.size - staging.staged or header.weight:
        return
    words = f"{header.body_size} octets are announced for a file of {staging.size}"
    if staging.staged:
        words += f", of which {staging.staged} are staged"
    related = ((staging.mark, "its open"), (staging.ok_mark, "the open-ok"))
    report.sure(event, words, "content-header.body-size", related)


@rule("A09-FIL-03", "open-ok staged-size 01", MUST, ERROR, on="odd-header", dialects=KNOWN)
def file_stage_size_wrong(event: Event, report: Reporter, staging: Staging) -> None:
    """What is staged already is not sent again: the content is the rest of the file.

    Otherwise the partner has a file with one part of it twice.

    Bad (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=2
        client: file.stage[1]
        client: content-header[1] class=file body-size=3   # <- A09-FIL-03

    Good (v0_9):
        client: file.open[1] identifier="f" content-size=3
        server: file.open-ok[1] staged-size=2
        client: file.stage[1]
        client: content-header[1] class=file body-size=1
        client: content-body[1] "c"
    """
    if staging.staged:
        report_body(event, report, staging)


@parameter("missing")
def find_missing(event: Event) -> str | None:
    """What is missing of the staging of the file that a publish or deliver names.

    Both may be sent before the staging is over, the texts say, so only a file of which nothing at
    all was seen can be wrong for sure.
    """
    own, method, connection = event.own, event.unit.method, event.connection
    channels = [*connection.channels.values(), *connection.closed.values()]
    if (
        method is None
        or not own.anchored
        or own.damaged
        or not all(each.whole[own.peer] for each in channels)
    ):
        return None  # Not all that this peer wrote on any channel was seen.
    staging = own.staged.get(text(method, "identifier"))
    if staging is None:
        return None if len(own.staged) >= MAX_STAGED else "was not staged on this connection"
    return None if staging.complete else "is not staged completely"


@rule("A09-FIL-04", "1.1.7.8", MUST, ERROR, on="file.publish", dialects=KNOWN, needs="trusted")
def file_publish_not_staged(event: Event, report: Reporter, method: Method, missing: str) -> None:
    """A file is staged before it is published.

    It may have been staged on an earlier connection, which is not seen here: a suspicion.

    Bad (v0_9):
        client: file.publish[1] exchange="x" identifier="f"   # <- A09-FIL-04

    Good (v0_9):
        client: file.open[1] identifier="f" content-size=0
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=0
        client: file.publish[1] exchange="x" identifier="f"

    Bad (v0_9):
        client: file.open[1] identifier="f" content-size=0
        server: file.open-ok[1] staged-size=0
        client: file.publish[1] exchange="x" identifier="f"   # <- A09-FIL-04

    Good (v0_8):
        client: file.open[1] identifier="f" content-size=0
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=0
        client: file.publish[1] exchange="x" identifier="f"
    """
    words = f"the file {text(method, 'identifier')!r} is published and {missing}"
    report.suspect(event, words, "file.publish.identifier")


@rule("A09-FIL-05", "1.1.7.10", MUST, ERROR, on="file.deliver", dialects=KNOWN, needs="trusted")
def file_deliver_not_staged(event: Event, report: Reporter, method: Method, missing: str) -> None:
    """A file is staged at the client before it is delivered.

    A deliver has no content of its own: without the staging there is no file.

    Bad (file_consuming):
        server: file.deliver[1] consumer-tag="t" delivery-tag=1 identifier="f" # <- A09-FIL-05
        client: file.ack[1] delivery-tag=1

    Good (file_consuming):
        server: file.open[1] identifier="f" content-size=1
        client: file.open-ok[1] staged-size=0
        server: file.stage[1]
        server: content-header[1] class=file body-size=1
        server: content-body[1] "a"
        server: file.deliver[1] consumer-tag="t" delivery-tag=1 identifier="f"
        client: file.ack[1] delivery-tag=1
    """
    name = text(method, "identifier")
    words = f"the file {name!r} is delivered and {missing}"
    report.sure_if(name not in event.own.staged, event, words, "file.deliver.identifier")


@rule("A09-FIL-12", "grammar against XML", IMPLIED, INFO, on="interrupts", dialects=OLD)
def file_return_content(event: Event, report: Reporter) -> None:
    """A file that comes back has its content with it, by one part of the text; by another not.

    The list of methods says that a return carries a content, the grammar has none. Both are taken
    as they come, and what expects the content waits in vain.

    Bad (v0_9):
        server: file.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="x" routing-key="z"
        server: channel.flow[1] active=true   # <- A09-FIL-12

    Good (v0_9):
        server: file.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="x" routing-key="z"
        server: content-header[1] class=file body-size=0
        server: channel.flow[1] active=true
        client: channel.flow-ok[1] active=true
    """
    assembly = event.assembly
    content = None if assembly is None else assembly.content
    if content is None or not content.optional or content.method is None:
        return
    if content.method.name == "file.return" and event.own.sound and not event.frame.cut:
        words = f"{event.name}, and the file.return before it had no content"
        words += f": the {PEERS[event.peer]} goes by the grammar"
        report.sure(event, words, "", ((content.mark, "the return"),))
