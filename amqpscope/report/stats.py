"""Statistics as text and as plain objects: what each connection, session, link and address did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from amqpscope.insight.statistics import (
    ConnectionNumbers,
    Histogram,
    LinkNumbers,
    SessionNumbers,
    Stall,
    addresses,
)
from amqpscope.model.ending import CONNECTION, LINK
from amqpscope.protocols.ending_words import full_words
from amqpscope.protocols.words import printable, seconds, size
from amqpscope.report.endings import ended_object
from amqpscope.stream.types import CLIENT, PEERS, SERVER
from amqpscope.wording import plural
from dissectors.secrets import clean_name


class Words(NamedTuple):
    """What the numbers of a link, or of what stands for one, are called."""

    delivery: str
    transfer: str
    presettled: str
    settled: str
    credit: str
    pending: str
    """What has no outcome."""


WORDS: Final = {
    "link": Words("delivery", "transfer", "sent settled", "settled", "out of credit",
                  "not settled"),
    "exchange": Words("message", "body frame", "", "confirmed", "blocked", "without confirm"),
    "queue": Words("message", "body frame", "without ack", "acked", "prefetch reached",
                   "not acked"),
}  # fmt: skip
"""By kind of place."""
USUAL_WORDS: Final = Words("message", "frame", "sent settled", "settled", "held up", "not settled")


def words_for(link: LinkNumbers) -> Words:
    """What the numbers of a link, or of what stands for one, are called.

    What a client sends to a queue goes over the default exchange.
    """
    published = link.kind == "queue" and link.sender == PEERS[CLIENT]
    return WORDS.get("exchange" if published else link.kind, USUAL_WORDS)


Delays = Mapping[str, Histogram]
"""How long messages took through the broker, by the address that they were delivered from."""
NO_DELAYS: Final[Delays] = {}


def stats_lines(connections: list[ConnectionNumbers], delays: Delays = NO_DELAYS) -> Iterator[str]:
    """All connections, then the addresses over all of them."""
    start = min((numbers.first for numbers in connections), default=0)
    for numbers in connections:
        yield from connection_lines(numbers, start)
        yield ""
    found = [link for link in addresses(connections).values() if link.deliveries]
    if found:
        yield "addresses"
        for link in sorted(found, key=lambda link: -link.deliveries):
            yield from link_lines(link, printable(link.address) or "(none)")
            yield from delay_lines(link, delays)


def delay_lines(link: LinkNumbers, delays: Delays) -> Iterator[str]:
    """How long the messages that an address delivers took through the broker."""
    found = delay_of(link, delays)
    if found is not None:
        part = "" if found.count == link.deliveries else f" ({found.count} of {link.deliveries})"
        yield f"    publish to deliver {latency(found)}{part}"


def delay_of(link: LinkNumbers, delays: Delays) -> Histogram | None:
    """The times through the broker of an address that it delivers from; None: not known."""
    return delays.get(link.address) if link.sender == PEERS[SERVER] else None


def connection_lines(numbers: ConnectionNumbers, start: int) -> Iterator[str]:
    """One connection; times are counted from `start`."""
    client, server = numbers.frames
    names = [printable(name) if name else "?" for name in numbers.containers]
    yield f"connection {numbers.number}  {numbers.client} -> {numbers.server}  {numbers.protocol}"
    yield f"  containers {names[0]} -> {names[1]}"
    yield (
        f"  frames {client} + {server}, {size(numbers.bytes[0])} + {size(numbers.bytes[1])}"
        f" (client + server) in {seconds(numbers.until - numbers.first)}"
    )
    if numbers.ending is not None:
        yield f"  ended: {full_words(numbers.ending, start, own=CONNECTION)}"
    common = ", ".join(f"{name} {count}" for name, count in numbers.names.most_common())
    yield f"  {common}"
    if any(numbers.transactions):
        yield f"  transactions: {numbers.transactions.words()}"
    for session in numbers.sessions:
        yield from session_lines(session)
    for link in numbers.links:
        yield from link_lines(link, printable(link.name) or "(no name)")
        if link.ending is not None and link.ending.what != CONNECTION:
            yield f"    ended: {full_words(link.ending, start, own=LINK)}"


def session_lines(session: SessionNumbers) -> Iterator[str]:
    """One end of a session, if it sent anything."""
    if session.transfers:
        yield (
            f"  session of the {session.peer} on channel {session.channel}:"
            f" {session.transfers} transfers{stalls(session.window, 'window closed')}"
        )


def link_lines(link: LinkNumbers, title: str) -> Iterator[str]:
    """One link or address."""
    words = words_for(link)
    other = link.name and link.address and link.kind == "link"
    address = f"  {printable(link.address)}" if other else ""
    kind = "" if link.name or link.kind == "link" else f"{link.kind} "
    yield f"  {kind}{title}{address}  (sent by the {link.sender})"
    parts = [plural(link.deliveries, words.delivery), plural(link.transfers, words.transfer)]
    parts.append(size(link.bytes))
    parts += [f"{count} {name}" for name, count in link.outcomes.most_common()]
    if link.presettled:
        parts.append(f"{link.presettled} {words.presettled}")
    if link.redelivered:
        parts.append(f"{link.redelivered} redelivered")
    if link.aborted:
        parts.append(f"{link.aborted} aborted")
    if link.unsettled:
        parts.append(f"{link.unsettled} {words.pending}")
    yield f"    {', '.join(parts)}"
    if link.latency.count:
        yield f"    {words.settled} after {latency(link.latency)}"
    if link.credit.count:
        yield f"    {stalls(link.credit, words.credit).removeprefix(', ')}"


def latency(histogram: Histogram) -> str:
    """The percentiles of a histogram."""
    found = histogram.object() or {}
    return ", ".join(f"{name} {seconds(int(value * 1e9))}" for name, value in found.items())


def stalls(stall: Stall, what: str) -> str:
    """How often and how long something was stalled."""
    if not stall.count:
        return ""
    times = "once" if stall.count == 1 else f"{stall.count} times"
    return f", {what} {times}, {seconds(stall.total)} in all, {seconds(stall.longest)} at most"


def stats_object(
    path: str, connections: list[ConnectionNumbers], delays: Delays = NO_DELAYS
) -> dict[str, Any]:
    """One capture, for JSON."""
    return {
        "capture": path,
        "connections": [connection_object(numbers) for numbers in connections],
        "addresses": [address_object(link, delays) for link in addresses(connections).values()],
    }


def address_object(link: LinkNumbers, delays: Delays) -> dict[str, Any]:
    """All links of an address in one direction, for JSON."""
    found, delay = link_object(link), delay_of(link, delays)
    del found["name"], found["channel"], found["ended"]
    found["publish_to_deliver"] = (
        None if delay is None else {"messages": delay.count, **(delay.object() or {})}
    )
    return found


def link_object(link: LinkNumbers) -> dict[str, Any]:
    """The numbers of a link as an object for JSON."""
    return {
        "kind": link.kind,
        "name": clean_name(link.name) or None,
        "address": clean_name(link.address) or None,
        "sender": link.sender,
        "channel": link.channel,
        "deliveries": link.deliveries,
        "transfers": link.transfers,
        "bytes": link.bytes,
        "presettled": link.presettled,
        "aborted": link.aborted,
        "outcomes": dict(link.outcomes),
        "unsettled": link.unsettled,
        "settle_latency": link.latency.object(),
        "credit_stalls": link.credit.object(),
        "ended": ended_object(link.ending),
    }


def connection_object(numbers: ConnectionNumbers) -> dict[str, Any]:
    """The numbers of a connection as an object for JSON."""
    return {
        "connection": numbers.number,
        "client": numbers.client,
        "server": numbers.server,
        "protocol": numbers.protocol,
        "containers": {
            peer: None if name is None else clean_name(name)
            for peer, name in zip(PEERS, numbers.containers, strict=True)
        },
        "frames": {"client": numbers.frames[0], "server": numbers.frames[1]},
        "bytes": {"client": numbers.bytes[0], "server": numbers.bytes[1]},
        "performatives": dict(numbers.names),
        "first": numbers.first / 1e9,
        "last": numbers.last / 1e9,
        "until": numbers.until / 1e9,
        "ended": ended_object(numbers.ending),
        "transactions": numbers.transactions._asdict(),
        "sessions": [
            {
                "peer": session.peer,
                "channel": session.channel,
                "transfers": session.transfers,
                "window_stalls": session.window.object(),
                "ended": ended_object(session.ending),
            }
            for session in numbers.sessions
        ],
        "links": [link_object(link) for link in numbers.links],
    }
