"""A real browser for the tests of what is to be seen in one."""

import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Started once for all tests; skipped where there is none."""
    from kit.chromium import CHROMIUM, Browser

    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()
