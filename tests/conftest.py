"""What all tests share: the checkout's place, the command line, hypothesis without a stopwatch."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# Processes started by tests must find the same build as the tests, not the sources in the
# directory they are started from.
os.environ["PYTHONSAFEPATH"] = "1"

# Nor may they find the user's profiles and notes.
HOME = tempfile.TemporaryDirectory(prefix="amqpscope-tests-")
os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = HOME.name

# A shell that starts a job in the background may let it ignore Ctrl-C, and so all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow now and then; that is no bug of the code under test.
settings.register_profile("amqpscope", deadline=None)
settings.load_profile("amqpscope")


ONCE = (
    # What starts brokers, clusters, terminals, browsers and other processes,
    "tests/amqpscope/cli/",
    "tests/amqpscope/proxy/",
    "tests/amqpscope/report/test_html_browser",
    "tests/amqpscope/spark/",
    "tests/amqpscope/runs/test_gate",
    "tests/amqpscope/runs/test_proxied",
    "tests/amqpscope/test_pytest_plugin",
    "tests/amqpscope/tui/",
    "tests/test_benchmarks",
    # and what plays all examples once more, in other ways.
    "tests/amqpscope/rules/v1_0/test_loss",
    "tests/amqpscope/rules/v1_0/test_recorded",
    "tests/amqpscope/rules/v0_9/test_loss",
    "tests/test_sharpness",
    "tests/test_relations",
    "tests/test_tshark_agreement",
)
"""The tests that take long and do not depend on how we were built."""


MISSING = ("not installed", "cannot install", "could not import")
"""How a test says that it needs something which is not there."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(ONCE):
            item.add_marker("once")
        if "spark" in item.fixturenames:
            # One process starts Spark for all of them.
            item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_runtest_setup(item):
    if item.get_closest_marker("tshark") and shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return required(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return required(report)


def required(report):
    """Where everything is said to be installed, a test that misses something has failed."""
    if os.environ.get("AMQPSCOPE_REQUIRE") and report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        if any(words in str(reason) for words in MISSING):
            report.outcome = "failed"
            report.longrepr = f"{reason}; but AMQPSCOPE_REQUIRE says that everything is there"
    return report


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def amqpscope():
    """Run the command line in a process of its own: `amqpscope("read", path).stdout`."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "amqpscope", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, **options
        )

    return run
