"""Show what went over the wire in AMQP traffic, and who broke the protocol.

The bytes are read by `dissectors`; this package follows the conversation and shows it.

    for step in amqpscope.steps("run.pcapng", where="transfer"):
        print(step.frame.number, step.event.name)

    for finding in amqpscope.lint("run.pcapng").findings:
        print(finding.frame, finding.rule, finding.message)

    with amqpscope.proxied("amqp://localhost:5672", fail_on="error") as proxy:
        run_the_client(proxy.url)

    with amqpscope.replayed("broker.pcapng") as broker:
        run_the_client(broker.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqpscope.runs.api import CaptureError as CaptureError
    from amqpscope.runs.api import CaptureResult as CaptureResult
    from amqpscope.runs.api import FilterError as FilterError
    from amqpscope.runs.api import Finding as Finding
    from amqpscope.runs.api import NotChecked as NotChecked
    from amqpscope.runs.api import Step as Step
    from amqpscope.runs.api import lint as lint
    from amqpscope.runs.api import steps as steps
    from amqpscope.runs.proxied import Violation as Violation
    from amqpscope.runs.proxied import proxied as proxied
    from amqpscope.runs.replayed import Diverged as Diverged
    from amqpscope.runs.replayed import replayed as replayed

__version__ = "0.1.0"

READING = (
    "CaptureError", "CaptureResult", "FilterError", "Finding", "NotChecked", "Step", "lint",
    "steps",
)  # fmt: skip
"""What `runs.api` offers."""


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
    if name in ("Violation", "proxied"):
        from amqpscope.runs import proxied

        return getattr(proxied, name)
    if name in ("Diverged", "replayed"):
        from amqpscope.runs import replayed

        return getattr(replayed, name)
    if name in READING:
        from amqpscope.runs import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
