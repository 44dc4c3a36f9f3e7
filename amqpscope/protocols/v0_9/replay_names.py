"""Names of AMQP 0-9 that are others in each run, and what brokers add to headers."""

from __future__ import annotations

from typing import Final

from dissectors.v0_9.values import Table, Value

NAMES: Final = frozenset((
    "queue", "routing-key", "exchange", "consumer-tag", "source", "destination", "correlation-id",
    "reply-to",
))  # fmt: skip
"""Fields whose values may be called otherwise now."""
ADDED: Final = ("x-death", "x-first-death-", "x-last-death-", "x-received-from", "timestamp_in_ms")
"""Headers that begin so are written by the broker: they have times and counts of its own."""


def renamed_value(value: Value, values: dict[str, str]) -> Value:
    """A name as it is called now, also as an argument or header."""
    if isinstance(value, Table):
        pairs = [(key, renamed_value(item, values)) for key, item in value]
        return Table(pairs, value.letters)
    return values.get(value, value) if isinstance(value, str) else value


def without_additions(headers: Table) -> Table:
    """Headers as their publisher wrote them."""
    kept = [at for at, (key, _) in enumerate(headers) if not str(key).startswith(ADDED)]
    return Table([headers[at] for at in kept], bytes(headers.letters[at] for at in kept))
