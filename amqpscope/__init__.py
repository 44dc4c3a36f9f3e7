"""Tell what went over the wire in AMQP traffic, and who broke the protocol.

The bytes are read by `dissectors`; this package follows the conversation and shows it.

    with amqpscope.proxied("amqp://localhost:5672", fail_on="error") as proxy:
        run_the_client(proxy.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqpscope.runs.proxied import NotChecked as NotChecked
    from amqpscope.runs.proxied import Violation as Violation
    from amqpscope.runs.proxied import proxied as proxied

__version__ = "0.1.0"


def build() -> str:
    """Say how this copy runs: `compiled`, or `pure Python` and why."""
    from importlib.resources import files
    from importlib.util import find_spec

    core = find_spec("amqpscope.analysis")
    if core is not None and core.origin is not None and not core.origin.endswith(".py"):
        return "compiled"
    note = files(__name__).joinpath("build.txt")
    if not note.is_file():
        return "pure Python: run from the sources"
    return note.read_text(encoding="utf-8").strip()


def __getattr__(name: str) -> object:
    """What is heavy to import comes when it is asked for."""
    if name in ("NotChecked", "Violation", "proxied"):
        from amqpscope.runs import proxied as proxying

        return getattr(proxying, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
