"""Words of 1.0 that say nothing of its users: what specifications and brokers define."""

from __future__ import annotations

import re
from typing import Final

from dissectors.secrets import OPEN_CLAIMS, OPEN_VALUES
from dissectors.v1_0 import names
from dissectors.v1_0.tables import COMPOSITES, RESTRICTED

SYMBOLS: Final = frozenset(
    (
        *(row.symbol for row in (*COMPOSITES, *RESTRICTED)),
        *(row.symbol for row in names.EXTENSIONS),
        *(str(value) for row in RESTRICTED for _, value in row.choices if isinstance(value, str)),
        *names.CAPABILITIES, *names.MECHANISMS, *names.CONDITIONS, *names.ANNOTATIONS,
        "amqp:local-transactions", "amqp:distributed-transactions", "amqp:promotable-transactions",
        "amqp:multi-txns-per-ssn", "amqp:multi-ssns-per-txn", "move", "copy",
        "selector", "no-local", "jms-selector", "filter", "sql-filter",
        "apache.org:selector-filter:string", "apache.org:no-local-filter:list",
    )
)  # fmt: skip
"""Symbols that may stay."""
KEYS: Final = frozenset((
    *names.ANNOTATIONS, *names.PROPERTIES, *names.CAPABILITIES, *OPEN_CLAIMS, *OPEN_VALUES,
    *names.CONDITIONS, *(row.symbol for row in names.EXTENSIONS), "selector", "no-local",
    "jms-selector", "supported-dist-modes", "durable", "auto-delete", "lifetime-policy", "rejected",
    "copyright", "information", "os", "framework", "user-agent", "capabilities", "condition",
))  # fmt: skip
"""Keys of maps that may stay."""
OPEN_KEYS: Final = frozenset(("product", "version", "platform", "framework", "os", "copyright"))
"""Keys of an open's properties whose values are about software, and may stay."""
VALUES: Final = frozenset((
    *names.OPERATIONS, *(value for values in OPEN_VALUES.values() for value in values),
    "READ", "CREATE", "UPDATE", "DELETE", "QUERY", "GET-TYPES", "GET-ATTRIBUTES", "GET-OPERATIONS",
))  # fmt: skip
"""Values of application properties that may stay."""
CONDITION: Final = re.compile(r"(?:amqp|com\.microsoft|rabbitmq|apache\.org|qd|jms)[:.][\w:.-]*")
"""Conditions of errors, of which vendors have more than are known here."""
LOCALE: Final = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
MECHANISM: Final = re.compile(r"[A-Z][A-Z0-9_-]{2,19}")
FIELD_WORDS: Final = frozenset(
    word
    for row in (*COMPOSITES, *RESTRICTED)
    for name in (row.name, *(each.name for each in getattr(row, "fields", ())),
                 *(str(label) for label, _ in getattr(row, "choices", ())))
    for word in name.lower().split("-")
)  # fmt: skip
"""What fields and types are called, word by word."""
