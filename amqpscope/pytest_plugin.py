"""A pytest plugin: fixtures that check traffic and fail the test.

def test_our_client_keeps_to_the_protocol(amqp_proxy):
    proxy = amqp_proxy("amqp://localhost:5672", ignore=["CON-008"])
    run_the_client(proxy.url)

def test_a_recording(amqp_lint):
    amqp_lint("run.pcap", ignore=["CON-008"])

def test_our_client_does_as_ever(amqp_proxy, amqp_same_as):
    run_the_client(amqp_proxy("amqp://localhost:5672").url)
    amqp_same_as("golden.pcapng", ignore=["open.properties"])

def test_without_a_broker(amqp_replay):
    broker = amqp_replay("golden.pcapng", upstream="amqp://localhost:5672")
    run_the_client(broker.url)

Where there is no golden capture yet, the last one runs against the real broker and writes it;
`pytest --record` writes it again.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from amqpscope.check.result import CaptureResult
    from amqpscope.check.selection import Selection
    from amqpscope.findings import Finding
    from amqpscope.runs.proxied import Proxied
    from amqpscope.runs.replayed import Replayed

PROXIES: pytest.StashKey[list[Proxied]] = pytest.StashKey()
"""The proxies of a test."""
LAST = 20
"""Frames that a test shows which fails."""

Lint = Callable[..., "list[Finding]"]
Proxy = Callable[..., "Proxied"]
Replay = Callable[..., "Replayed | Proxied"]
SameAs = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the command line say that golden captures are written again."""
    add = partial(parser.getgroup("amqpscope").addoption, action="store_true")
    with suppress(ValueError):  # another plugin has it
        add(
            "--update-golden",
            help="amqp_same_as: store recordings as the golden ones, instead of comparing them.",
        )
    record = partial(
        add,
        dest="amqp_record",
        help="amqp_replay: record golden captures again, from the real broker.",
    )
    for names in (("--record", "--amqp-record"), ("--amqp-record",)):
        with suppress(ValueError):  # another plugin has --record
            record(*names)
            return


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
    from amqpscope.check.config import select_rules
    from amqpscope.runs.input import Input, read_keylogs
    from amqpscope.runs.lint import CheckSettings, check

    selection = select_rules(root, select=select, ignore=ignore, strict=strict, fail_on=fail_on)
    keylogs = read_keylogs([] if keylog is None else [keylog], fail)
    result = check(Input(os.fspath(capture), keylogs), CheckSettings(selection))
    if result.unreadable or not result.frames:
        fail("; ".join(result.lines()))
    judge(result, selection)
    return result.findings


def fail(reason: str) -> None:
    """Fail the test for a reason that needs no traceback."""
    __tracebackhide__ = True
    pytest.fail(reason, pytrace=False)


@pytest.fixture
def amqp_same_as(request: pytest.FixtureRequest) -> SameAs:
    """Compare a recording with a golden one: fails the test where they do something differently.

    The golden one is looked for beside the test; the second argument is the recording, by default
    that of the newest `amqp_proxy` of the test so far. `ignore`, `only` and `exact` are those of
    `amqpscope diff`. With `--update-golden` the recording becomes the golden one.
    """
    return partial(same_as, request)


def same_as(
    request: pytest.FixtureRequest,
    golden: str | os.PathLike[str],
    recording: str | os.PathLike[str] | None = None,
    *,
    ignore: Iterable[str] = (),
    only: Iterable[str] = (),
    exact: bool = False,
) -> None:
    """Compare a recording with a golden one, or make it the golden one."""
    __tracebackhide__ = True
    from amqpscope.insight.diff.differences import Scope
    from amqpscope.report.diff_text import DiffText
    from amqpscope.report.look import PLAIN_TEXT
    from amqpscope.runs.diff import CannotCompare, DiffSettings, compare_captures

    place = request.path.parent / golden
    given = os.fspath(newest_recording(request) if recording is None else recording)
    if request.config.getoption("--update-golden", default=False):
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given, place)
        return
    if not place.exists():
        fail(f"amqp_same_as: there is no {place}; --update-golden stores one")
    settings = DiffSettings(Scope(tuple(only), tuple(ignore)), exact)
    try:
        diff = compare_captures(str(place), given, settings)
    except CannotCompare as error:
        fail(f"amqp_same_as: {error}")
    else:
        if not diff.equal:
            fail("\n".join(DiffText(PLAIN_TEXT).lines(diff)))


def newest_recording(request: pytest.FixtureRequest) -> str:
    """What the newest proxy of a test has recorded."""
    __tracebackhide__ = True
    proxies = request.node.stash.get(PROXIES, [])
    if not proxies:
        fail("amqp_same_as: no recording is given, and the test has no amqp_proxy")
    newest = proxies[-1]
    _ = newest.checked  # all that has passed is in the file then
    return str(newest.recording)


@pytest.fixture
def amqp_proxy(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[Proxy]:
    """Put a proxy before a broker: fails the test at its end if what passed broke a rule.

    It fails too when nothing could be checked: no AMQP passed, the upstream never answered, or not
    all was recorded; `allow_empty=True` lets a test pass in which nothing passes. The first
    argument is the upstream, the others are those of `amqp_lint`, and `write` for a file to record
    to, and `faults`, rules as `--fault` takes them. What it gives has `url`, `host`, `port`,
    `findings`, `recording` and `faults` (list, add, remove, count). A test that fails shows its
    faults, how often each has acted, and the last frames.
    """
    __tracebackhide__ = True
    proxies: list[Proxied] = []
    request.node.stash[PROXIES] = proxies
    failures: list[str] = []
    with ExitStack() as stack:

        def start(
            upstream: str,
            *,
            write: str | Path | None = None,
            allow_empty: bool = False,
            faults: Iterable[str] = (),
            **how: Any,
        ) -> Proxied:
            from amqpscope.check.config import select_rules
            from amqpscope.runs.proxied import proxied

            selection = select_rules(pytestconfig.rootpath, **how)
            stack.enter_context(collect_failures(failures))
            proxy = stack.enter_context(
                proxied(
                    upstream,
                    write=write,
                    selection=selection,
                    faults=faults,
                    allow_empty=allow_empty,
                )
            )
            proxies.append(proxy)
            return proxy

        yield start
    if failures:
        fail("amqp_proxy: " + "\n".join(failures))
    for proxy in proxies:
        judge(proxy.checked, proxy.selection)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show what passed through the proxies of a test that fails."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for proxy in item.stash.get(PROXIES, []):
            report.sections.append(("amqpscope proxy", "\n".join(describe(proxy))))


def describe(proxy: Proxied) -> Iterator[str]:
    """The faults of a proxy, and the last frames that passed."""
    from amqpscope.proxy.faults.fault import line_of
    from amqpscope.report.look import PLAIN_TEXT
    from amqpscope.report.text import TextLines
    from amqpscope.runs.api import CaptureError, steps

    with suppress(RuntimeError):
        yield from map(line_of, proxy.faults.list())
    try:
        last = deque(steps(proxy.recording), LAST)
    except CaptureError as error:
        yield str(error)
        return
    lines = TextLines(PLAIN_TEXT)
    if last:
        lines.begin(last[0].frame.time)
        yield from lines.heading()
        yield from lines.lines(list(last))


@pytest.fixture
def amqp_replay(pytestconfig: pytest.Config) -> Iterator[Replay]:
    """Play the broker of a golden capture: fails the test at its end if the client diverged.

    The first argument is the capture, the others are those of `amqpscope.replayed`, and `upstream`
    for the real broker: with `--record`, and where there is no capture yet, its traffic is recorded
    through a proxy. What it gives has `url`, `host` and `port`.
    """
    __tracebackhide__ = True
    again = bool(pytestconfig.getoption("amqp_record", default=False))
    failures: list[str] = []
    with ExitStack() as stack:

        def start(
            capture: str | os.PathLike[str], *, upstream: str | None = None, **how: Any
        ) -> Replayed | Proxied:
            from amqpscope.runs.replayed import replayed

            path = Path(capture)
            if again or not path.exists():
                if upstream is None:
                    fail(f"{path}: expected upstream= to record it from")
                return stack.enter_context(record(path, str(upstream)))
            stack.enter_context(collect_divergences(failures))
            return stack.enter_context(replayed(path, **how))

        yield start
    if failures:
        fail("amqp_replay: " + "\n".join(failures))


@contextmanager
def record(path: Path, upstream: str) -> Iterator[Proxied]:
    """Record a golden capture; it takes its place when the test is over."""
    from amqpscope.runs.proxied import proxied

    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with proxied(upstream, write=fresh) as proxy:
            yield proxy
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def collect_divergences(failures: list[str]) -> Iterator[None]:
    """Keep how clients diverged, until every replay of the test has ended."""
    from amqpscope.runs.replayed import Diverged

    try:
        yield
    except Diverged as error:
        failures.append(str(error))


@contextmanager
def collect_failures(failures: list[str]) -> Iterator[None]:
    """Keep why a proxy could not check all, until every proxy of the test has ended."""
    from amqpscope.check.result import NotChecked

    try:
        yield
    except NotChecked as error:
        failures.append(str(error))


def judge(result: CaptureResult, selection: Selection) -> None:
    """Fail the test if a finding is bad enough."""
    __tracebackhide__ = True
    from amqpscope.report.lint_text import LintText

    if any(map(selection.fails, result.findings)):
        fail("\n".join(LintText().lines([result])))
