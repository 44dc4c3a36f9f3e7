"""Reads the files with data that are beside the modules."""

from __future__ import annotations

from pkgutil import get_data


def read_text(package: str, name: str) -> str:
    """The text of a file in a package.

    `importlib.resources` does the same, and imports so much that each start takes 5 ms longer.
    """
    data = get_data(package, name)
    if data is None:
        raise FileNotFoundError(f"{package}: {name}")
    return data.decode("utf-8")
