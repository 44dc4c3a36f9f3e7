"""The sources instead of the compiled modules, in a process that must keep its state.

A stream's state is pickled between batches. Classes that mypyc compiled cannot be unpickled (their
constructors cannot be left out), so whoever follows a stream runs the same modules from their
sources, which lie beside the compiled ones.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

PACKAGES: Final = ("amqpscope", "dissectors")


class Sources(MetaPathFinder):
    """Finds the sources of our packages."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module by its `.py` file."""
        if path is None or name.partition(".")[0] not in PACKAGES:
            return None
        for folder in path:
            base = os.path.join(folder, name.rpartition(".")[2])
            inside = os.path.join(base, "__init__.py")
            if os.path.isfile(inside):
                return importlib.util.spec_from_file_location(
                    name, inside, submodule_search_locations=[base]
                )
            if os.path.isfile(base + ".py"):
                return importlib.util.spec_from_file_location(name, base + ".py")
        return None


def use_sources() -> None:
    """Import our modules from their sources from now on, also those that are loaded already."""
    found = importlib.util.find_spec("amqpscope.analysis")
    if found is not None and (found.origin or "").endswith(".py"):
        return
    sys.meta_path.insert(0, Sources())
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        if name != __name__:
            del sys.modules[name]
