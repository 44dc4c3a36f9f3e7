"""Small things that findings are worded with."""

from __future__ import annotations


def a(name: str) -> str:
    """A name of the specification with its article: an end, a uint, a map."""
    return f"an {name}" if name[:1] in "aeio" else f"a {name}"
