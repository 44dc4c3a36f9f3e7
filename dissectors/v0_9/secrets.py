"""Fields that hold credentials, so that no output shows them unless it is asked to."""

from __future__ import annotations

from typing import Final

SECRET_FIELDS: Final = frozenset((
    # method, field
    ("connection.start-ok", "response"),
    ("connection.secure-ok", "response"),
    ("connection.update-secret", "new-secret"),
    ("message.transfer", "security-token"),
))  # fmt: skip
_METHODS: Final = frozenset(method for method, _ in SECRET_FIELDS)


def secret_field(method: str, field: str) -> bool:
    """Whether this field of a method holds a credential."""
    return (method, field) in SECRET_FIELDS


def secret_method(method: str) -> bool:
    """Whether a method holds one in some field, or anywhere if it is damaged."""
    return method in _METHODS
