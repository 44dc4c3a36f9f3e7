"""`read --bodies`: the bodies of messages as files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amqpscope.cli.inputs import Inputs
from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.cli.read import ReadOptions
    from amqpscope.runs.bodies import BodyFiles
    from amqpscope.runs.input import Input


def write_bodies(captures: Sequence[Readable], options: ReadOptions, directory: Path) -> int:
    """Write the bodies of all messages of which a frame passes the filter; the exit code."""
    from amqpscope.capture.source import CaptureError
    from amqpscope.runs.bodies import BodyFiles

    inputs = Inputs(options, complain=complain)
    for path in captures:
        files = BodyFiles(directory, str(path), show_secrets=options.show_secrets)
        try:
            write_capture(inputs.input(path, follow=options.follow), files, options, inputs)
        except CaptureError as error:
            inputs.fail(str(error))
            continue
        except KeyboardInterrupt:
            pass
        except OSError as error:
            complain(f"{directory}: cannot be written: {reason_of(error)}")
            return UNREADABLE
        lead = f"{path}: " if len(captures) > 1 else ""
        hint = " (--show-secrets writes them)" if files.masked else ""
        sys.stdout.write(f"{lead}{files.summary()}{hint}\n")
        if files.left_alone:
            inputs.failed = True
    return inputs.code


def write_capture(source: Input, files: BodyFiles, options: ReadOptions, inputs: Inputs) -> None:
    """Write the bodies of one capture, and say what the user should know about it."""
    from amqpscope.check.selection import Selection
    from amqpscope.cli.progress import CaptureBar
    from amqpscope.runs.run import Run

    where = options.where
    selection = None if where is None else Selection()
    with (
        CaptureBar(source.name, hidden=source.follow) as bar,
        Run(source, selection, watch=bar.update) as run,
    ):
        for batch in run:
            for step in batch.steps:
                files.take(step, where is None or where.matches(step))
        inputs.report(run.result())
