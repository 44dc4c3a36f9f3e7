"""The compiler's marks on classes.

    @mypyc_attr(allow_interpreted_subclasses=True)    plain Python may build on it
    @mypyc_attr(free_list_len=1)                      the memory of the last one serves the next
    @mypyc_attr(acyclic=True)                         no reference leads back to it

The last two are for what is made for every frame and soon dropped: to get memory and to let the
garbage collector know of it takes longer than to fill it. What is marked acyclic must never be part
of a cycle, for nothing would collect that.

They mean nothing to Python. mypyc looks for this very name, which comes from a package that is
there only while something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["mypyc_attr"]

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**marks: Any) -> Callable[[type], type]:
        """Give back the class as it is."""
        return lambda marked: marked
