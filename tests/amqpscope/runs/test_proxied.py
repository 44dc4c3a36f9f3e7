"""The proxy as a context manager, and as a fixture of pytest."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import amqpscope as package
from amqpscope.proxy.process import StartError
from dissectors.notation import parse_conversation
from kit.proxy.relaying import PATIENCE, receive, receive_all, talks

BAD = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
client: open container-id="c"
server: open container-id="s"
client: close
server: close
"""
BROKEN = "CON-001"
LINES = list(parse_conversation(BAD))


def speak(peer, who):
    for line in LINES:
        if line.peer == who:
            peer.sendall(line.raw)
        else:
            assert receive(peer, len(line.raw)) == line.raw


@pytest.fixture
def bad(server):
    """A server to a client that begins a session before it opens the connection."""
    return server(lambda peer: speak(peer, "server"))


def hold(proxy):
    with socket.create_connection((proxy.host, proxy.port), PATIENCE) as client:
        speak(client, "client")
        client.shutdown(socket.SHUT_WR)
        receive_all(client)


def test_findings_are_there_while_the_proxy_runs_and_after(bad):
    with package.proxied(f"amqp://{bad}") as proxy:
        assert proxy.findings == []
        hold(proxy)
        assert BROKEN in {finding.rule for finding in proxy.findings}
        assert proxy.frames == len(LINES)
        first = len(proxy.findings)
        hold(proxy)
        assert len(proxy.findings) == 2 * first
    assert len(proxy.findings) == 2 * first
    assert proxy.frames == 2 * len(LINES)
    assert not Path(proxy.recording).exists()


def test_the_url_is_one_to_connect_to(bad):
    with package.proxied(f"amqp://{bad}", allow_empty=True) as proxy:
        assert proxy.url == f"amqp://127.0.0.1:{proxy.port}"
        assert proxy.address == f"127.0.0.1:{proxy.port}"


def test_the_recording_is_kept_where_it_was_wanted(bad, tmp_path):
    with package.proxied(f"amqp://{bad}", write=tmp_path / "run.pcapng") as proxy:
        hold(proxy)
    assert proxy.recording == str(tmp_path / "run.pcapng")
    assert len(talks(proxy.recording)) == 1


def test_rules_can_be_chosen(bad):
    with package.proxied(f"amqp://{bad}", ignore=[BROKEN]) as proxy:
        hold(proxy)
    assert BROKEN not in {finding.rule for finding in proxy.findings}


def test_what_goes_wrong_inside_is_seen_outside_and_the_relay_ends(bad):
    def fail():
        with package.proxied(f"amqp://{bad}") as proxy:
            kept.append(proxy)
            hold(proxy)
            raise KeyError("own")

    kept = []
    with pytest.raises(KeyError, match="own"):
        fail()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((kept[0].host, kept[0].port), PATIENCE)
    assert kept[0].frames == len(LINES)


def test_a_relay_that_dies_leaves_what_was_recorded(bad):
    def go():
        with package.proxied(f"amqp://{bad}") as proxy:
            kept.append(proxy)
            hold(proxy)
            proxy.process.kill()
            proxy.process.wait()
            assert proxy.frames == len(LINES)

    kept = []
    with pytest.raises(package.NotChecked, match="the relay has died"):
        go()
    assert kept[0].frames == len(LINES)


def test_what_cannot_begin_says_why():
    with pytest.raises(StartError, match="http:// is not known"), package.proxied("http://x"):
        pass


def test_the_relay_complains_in_words():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with package.proxied(f"amqp://127.0.0.1:{port}", allow_empty=True) as proxy:
        with pytest.raises(ConnectionResetError):
            socket.create_connection((proxy.host, proxy.port), PATIENCE).recv(1)
        assert proxy.status.refused == 1
        (line,) = proxy.problems
    assert "connection refused" in line


def test_the_package_is_light_until_the_proxy_is_wanted():
    code = "import sys, amqpscope; print('amqpscope.analysis' in sys.modules, amqpscope.proxied)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("False <function proxied")


def test_it_has_no_other_names():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


TEST = """
import socket

def test_it(amqp_proxy):
    proxy = amqp_proxy("amqp://{upstream}", {how})
    with socket.create_connection((proxy.host, proxy.port)) as client:
        for raw in {raws!r}:
            client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
"""


@pytest.fixture
def run_test(tmp_path):
    """Run a test that uses the fixture."""

    def run(upstream, how=""):
        raws = [line.raw for line in LINES if line.peer == "client"]
        fixture = "from amqpscope.pytest_plugin import amqp_proxy\n"
        (tmp_path / "conftest.py").write_text(fixture)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "test_it.py").write_text(TEST.format(upstream=upstream, how=how, raws=raws))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_a_violation_on_the_wire_fails_the_test(run_test, bad):
    done = run_test(bad)
    assert done.returncode == 1
    assert f"error[{BROKEN}]" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("how", [f"ignore=[{BROKEN!r}], select=['CON-001']", "fail_on='never'"])
def test_the_arguments_of_the_fixture_are_those_of_lint(run_test, bad, how):
    assert run_test(bad, how).returncode == 0
