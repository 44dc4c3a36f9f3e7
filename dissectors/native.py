"""The compiler's mark on a class that plain Python may build on.

    @mypyc_attr(allow_interpreted_subclasses=True)
    class Event: ...

It means nothing to Python. mypyc looks for this very name, which comes from a package that is
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
