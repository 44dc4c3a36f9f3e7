"""One channel and two writers who do not know of each other (A09-CHN-23; 2.2.5)."""

from __future__ import annotations

from amqpscope.model.v0_9.content import Tangle
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ADVISORY, INFO, Reporter, rule

LETTERS = "ABCDEFGHIJ"


@rule("A09-CHN-23", "2.2.5", ADVISORY, INFO, on="untangles")
def channel_shared_by_writers(event: Event, report: Reporter, tangle: Tangle) -> None:
    """A channel has one writer at a time.

    Where a content goes on after another has begun, there are two writers on the channel. This
    shows what each of them wrote, once both are through or the channel is over; what they broke
    with it is reported where it happened.

    Bad (publishing body-size=2):
        client: basic.publish[1] routing-key="b"   # <- A09-FRM-41, A09-CHN-23
        client: content-header[1] class=basic body-size=3
        client: content-body[1] "bbb"
        client: content-body[1] "aa"

    Good (publishing body-size=2):
        client: content-body[1] "aa"
        client: basic.publish[1] routing-key="b"
        client: content-header[1] class=basic body-size=3
        client: content-body[1] "bbb"
    """
    content = event.content
    goes_on = content is not None and content in tangle.contents and not content.writer
    if not goes_on and not tangle.resumed:
        return  # What was interrupted was given up, and not written by another.
    if not report.once(tangle):
        return
    channel = tangle.channel
    writers = "; ".join(sequences(tangle, event))
    written = [(entry.mark, entry.writer, entry.name) for entry in tangle.entries]
    if content is not None and content in tangle.contents:
        written.append((event.mark, content.writer, event.name))
    related = tuple(
        (mark, f"writer {LETTERS[min(writer, 9)]}: {name}") for mark, writer, name in written
    )
    text = f"two writers on channel {channel}: {writers}"
    report.suspect(event, text, "", related, peer=tangle.peer, mark=tangle.mark, about=channel)


def sequences(tangle: Tangle, event: Event) -> list[str]:
    """What each writer wrote, frame by frame."""
    found = []
    for content in tangle.contents[: len(LETTERS)]:
        own = [entry for entry in tangle.entries if entry.writer == content.writer]
        frames = ", ".join(f"{entry.name} ({entry.mark.frame})" for entry in own)
        if content is event.content and not content.complete:
            frames += f", {event.name} ({event.mark.frame})"
        found.append(f"{LETTERS[content.writer]} {frames}")
    return found
