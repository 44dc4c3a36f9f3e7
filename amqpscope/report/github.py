"""Findings as GitHub workflow commands: annotations on the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from amqpscope.check.result import CaptureResult
    from amqpscope.findings import Finding

COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}
DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
PROPERTY: Final = DATA | str.maketrans({":": "%3A", ",": "%2C"})


def github_text(captures: Sequence[CaptureResult]) -> str:
    """A line per finding, and per capture that could not be read to its end."""
    return "".join(f"{line}\n" for checked in captures for line in commands(checked))


def commands(checked: CaptureResult) -> Iterator[str]:
    """The lines of one capture."""
    if checked.error is not None:
        command = "error" if checked.unreadable else "warning"
        path = visible(checked.path).translate(PROPERTY)
        yield f"::{command} file={path}::{visible(checked.error).translate(DATA)}"
    for finding in checked.findings:
        yield annotation(finding, checked.path)


def annotation(finding: Finding, path: str) -> str:
    """One finding; the frame's number is the line."""
    doubt = "" if finding.certainty == "sure" else f" ({finding.certainty})"
    title = f"{finding.rule} {finding.name}{doubt}"
    message = f"frame {finding.frame} ({finding.peer}): {finding.message}"
    command = COMMANDS["info" if finding.fault else finding.severity]
    if finding.fault:
        message += f" (because of fault {finding.fault})"
    return (
        f"::{command} file={visible(path).translate(PROPERTY)},"
        f"line={finding.frame},title={title.translate(PROPERTY)}"
        f"::{visible(message).translate(DATA)}"
    )


def visible(text: str) -> str:
    """Control characters as escapes: a log is shown on a terminal. Line ends have their own."""
    return "".join([c if c in "\r\n" else escaped(c) for c in text])
