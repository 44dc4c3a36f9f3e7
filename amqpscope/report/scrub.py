"""What `scrub` has done, and what it cannot promise, in lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from amqpscope.wording import plural

SHOWN: Final = 5
"""Words and findings that are listed."""
PROMISE: Final = (
    "cannot promise: numbers, times, sizes, ports and punctuation stay, and so do the names of"
    " products and the words of the protocol; who knows the traffic may still recognise it"
)
KINDS: Final = {
    # as it is called: one, and several
    "credential": ("credential", "credentials"),
    "message body": ("body", "bodies"),
    "number in a body": ("number in bodies", "numbers in bodies"),
    "address": ("address", "addresses"),
    "name": ("name", "names"),
    "host name": ("host name", "host names"),
    "property": ("property", "properties"),
    "delivery tag": ("delivery tag", "delivery tags"),
    "text of an error": ("text of an error", "texts of errors"),
    "undecodable octets": ("run of undecodable octets", "runs of undecodable octets"),
    "product": ("product", "products"),
}


def replaced_line(counts: Counter[str], hosts: int) -> str:
    """What was replaced, by kind."""
    found = [f"{counts[kind]:,} {KINDS[kind][counts[kind] != 1]}" for kind in KINDS if counts[kind]]
    found.append(f"{hosts:,} IP address{'es' * (hosts != 1)}")
    return f"replaced: {', '.join(found)}"


def doubt_lines(short: int, shared: Sequence[str], kept: Sequence[str]) -> Iterator[str]:
    """What stays, and what is not sure."""
    words = [each for each in kept if each.isprintable() and any(map(str.isalpha, each))]
    named = [each for each in words if " " in each or "." in each or each[0].isupper()]
    if named:
        yield f"kept: {_listed(named)}; {plural(len(words), 'word')} of the protocol in all"
    if short:
        yield f"too short to be looked for in the result: {plural(short, 'value')}"
    if shared:
        yield f"in use by the protocol or a product too, and kept there: {_listed(shared)}"
    yield PROMISE


def finding_lines(
    missing: Sequence[tuple[str, int, str]], extra: Sequence[tuple[str, int, str]], same: int
) -> Iterator[str]:
    """Whether the rules find the same."""
    if not missing and not extra:
        yield f"findings: the same {same:,}" if same else "findings: none, as before"
    for word, found in (("no longer found", missing), ("found only now", extra)):
        if found:
            places = [f"{rule} at frame {frame} ({peer})" for rule, frame, peer in found]
            yield f"findings differ: {word}: {_listed(places)}"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - SHOWN
    shown = ", ".join(words[:SHOWN])
    return f"{shown} and {more:,} more" if more > 0 else shown
