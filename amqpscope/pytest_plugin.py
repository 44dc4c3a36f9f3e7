"""A pytest plugin: the fixture `amqp_lint` checks a recorded capture and fails the test.

def test_our_client_keeps_to_the_protocol(amqp_lint, tmp_path):
    record_traffic(tmp_path / "run.pcap")
    amqp_lint(tmp_path / "run.pcap", ignore=["CON-008"])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from amqpscope.findings import Finding

Lint = Callable[..., "list[Finding]"]


@pytest.fixture
def amqp_lint(pytestconfig: pytest.Config) -> Lint:
    """Check a capture: fails the test at findings from `fail_on` on, returns the others.

    The arguments are those of `amqpscope lint`; what they leave open is taken from the
    configuration file of the project.
    """
    return partial(lint, pytestconfig.rootpath)


def lint(
    root: Path,
    capture: str | os.PathLike[str],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    strict: bool = False,
    fail_on: str = "",
    keylog: str | os.PathLike[str] | None = None,
) -> list[Finding]:
    """Check one capture, with the configuration that counts in a folder."""
    __tracebackhide__ = True
    from amqpscope.choice import FAIL_ON, Choice, resolve
    from amqpscope.config import find_config, read_config
    from amqpscope.linting import Work, check
    from amqpscope.report.lint_text import LintText

    if fail_on and fail_on not in FAIL_ON:
        raise ValueError(f"fail_on={fail_on!r}: expected one of {', '.join(FAIL_ON)}")
    config = find_config(root)
    choice = (Choice() if config is None else read_config(config)).merged(
        select=resolve(tuple(select)),
        ignore=resolve(tuple(ignore)),
        strict=strict,
        fail_on=fail_on,
    )
    keylogs = () if keylog is None else (Path(keylog).read_bytes(),)
    checked = check(os.fspath(capture), Work(choice, keylogs))
    if checked.unreadable or not checked.frames:
        reason = "; ".join(filter(None, (checked.error, *checked.notes))) or "no AMQP in it"
        pytest.fail(f"{checked.path}: {reason}", pytrace=False)
    if any(choice.fails(finding) for finding in checked.findings):
        pytest.fail("\n".join(LintText().lines([checked])), pytrace=False)
    return checked.findings
