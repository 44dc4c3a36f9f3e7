"""What is wrong with the text of a fault."""

from __future__ import annotations

from amqpscope.filter.errors import FilterError


class FaultError(FilterError):
    """A fault that cannot be understood; `str()` shows the place with carets under it."""
