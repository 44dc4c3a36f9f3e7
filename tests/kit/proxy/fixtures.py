"""What the tests of the proxy share: relays, servers behind them, and the command itself."""

import os

import pytest

from amqpscope.proxy.process import Settings, start_process
from kit.proxy.relaying import Command, Relayed, Server, echo


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Where the local CA is kept: a place of the test's own, with nothing in it yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "amqpscope"


@pytest.fixture
def relay(tmp_path):
    """Start relays that end with the test."""
    started = []

    def start(upstream, listen=("127.0.0.1:0",), name="run.pcapng", **settings):
        settings = Settings(str(upstream), str(tmp_path / name), tuple(listen), **settings)
        started.append(Relayed(*start_process(settings)))
        return started[-1]

    yield start
    for each in started:
        each.watch.close()
        each.kill()


@pytest.fixture
def server():
    """Start servers that end with the test: `server(handler)`, by default an echo."""
    started = []

    def start(handler=echo, **how):
        started.append(Server(handler, **how))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def proxy(tmp_path):
    """Run the command in the test's own folder: `proxy(upstream, "--lint")`."""
    started = []

    def run(upstream, *arguments, **how):
        given = [upstream, "--listen", "127.0.0.1:0", *arguments]
        how = {"env": {**os.environ, "TMPDIR": str(tmp_path)}, "cwd": tmp_path, **how}
        started.append(Command(given, **how))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
