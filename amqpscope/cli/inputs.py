"""What the commands that read captures share: their options, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from amqpscope.cli.output import UNREADABLE, complain

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.check.result import CaptureResult
    from amqpscope.check.selection import Selection
    from amqpscope.runs.input import Input


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    """The options of `cli.options.reader_options`, by the same names."""

    keylog: tuple[str, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    show_secrets: bool = False
    color: str = "auto"


class Inputs:
    """Makes inputs of captures, and remembers whether all could be read."""

    def __init__(
        self,
        options: ReaderOptions,
        *,
        failed: bool = False,
        complain: Callable[[str], None] = complain,
    ) -> None:
        from amqpscope.runs.input import read_keylogs

        self.options = options
        self.complain = complain
        self.failed = failed
        """Something could not be read."""
        self.keylogs = read_keylogs(options.keylog, self.fail)

    def fail(self, line: str) -> None:
        """Report something that cannot be read."""
        self.complain(line)
        self.failed = True

    def input(self, capture: Readable, *, follow: bool = False) -> Input:
        """How a capture is to be read."""
        from amqpscope.runs.input import Input

        return Input(capture, self.keylogs, self.options.decode_as, follow)

    def inputs(self, captures: Sequence[Readable]) -> Iterator[Input]:
        """How several captures are to be read."""
        return map(self.input, captures)

    def report(self, result: CaptureResult) -> None:
        """Print what the user should know about a capture beside its frames."""
        self.failed = self.failed or result.unreadable
        for line in result.lines():
            self.complain(line)

    @property
    def code(self) -> int:
        """The exit code, as far as reading goes."""
        return UNREADABLE if self.failed else 0


def make_selection(
    config: str | None,
    *,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    fail_on: str | None,
) -> Selection:
    """The rules that the command line and the configuration ask for; ConfigError if wrongly so."""
    from amqpscope.check.config import select_rules
    from amqpscope.check.selection import why_idle

    selection = select_rules(
        Path.cwd(), config, select=select, ignore=ignore, strict=strict, fail_on=fail_on
    )
    for word in selection.idle():
        complain(f"{word}: {why_idle(word)}")
    return selection
