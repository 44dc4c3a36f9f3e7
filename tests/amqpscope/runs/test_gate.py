"""The gate is green only when something was checked: `proxy --lint`, `proxied`, the fixture."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

import amqpscope as package
from amqpscope.check.result import CaptureResult
from amqpscope.proxy.relay import Status
from amqpscope.runs.gate import emptiness, shortfalls
from dissectors.notation import parse_conversation
from kit.proxy.relaying import PATIENCE, noise, receive, receive_all

GOOD = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s"
client: close
server: close
"""
BAD = GOOD.replace("client: open", "client: end\nclient: open", 1)
BROKEN = "CON-001"
SPEAKER = """
import os, socket, sys
print("the command's own output")
with socket.create_connection(("127.0.0.1", int(os.environ["AMQPSCOPE_PROXY_PORT"]))) as client:
    for peer, raw in {lines!r}:
        if peer == "client":
            client.sendall(raw)
        else:
            client.recv(len(raw), socket.MSG_WAITALL)
"""


def speaker(text):
    """A command that holds the client's part of a conversation."""
    lines = [(line.peer, line.raw) for line in parse_conversation(text)]
    return ("--", sys.executable, "-c", SPEAKER.format(lines=lines))


def speak(peer, text, who):
    for line in parse_conversation(text):
        if line.peer == who:
            peer.sendall(line.raw)
        else:
            assert receive(peer, len(line.raw)) == line.raw


@pytest.fixture
def broker(server):
    """Start the server's part of a conversation."""
    return lambda text: server(lambda peer: speak(peer, text, "server"))


def nobody():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def silent(peer):
    receive_all(peer)


# The command line


def test_no_client_is_no_pass(proxy, server):
    run = proxy(server(), "--lint", "--fail-on", "warning", "--", "true")
    assert run.wait() == 2
    line = run.wait_for("nothing was checked")
    assert "no client connected to 127.0.0.1:" in line
    assert "--allow-empty" in line
    assert "AMQPSCOPE_PROXY_URL" in line
    assert not any("Nothing found" in each for each in run.printed + run.said)


def test_no_client_is_a_pass_for_those_who_mean_it(proxy, server):
    assert proxy(server(), "--lint", "--allow-empty", "--", "true").wait() == 0


def test_a_command_that_fails_fails_with_its_own_code_all_the_same(proxy, server):
    assert proxy(server(), "--lint", "--", "sh", "-c", "exit 7").wait() == 7


def test_an_upstream_that_is_down_is_no_pass(proxy):
    command = "import os, socket; s = socket.create_connection(('127.0.0.1', " \
        "int(os.environ['AMQPSCOPE_PROXY_PORT'])))"  # fmt: skip
    run = proxy(nobody(), "--lint", "--", sys.executable, "-c", command)
    assert run.wait() == 2
    assert "took no connection: nothing was checked" in run.wait_for("took no connection")


def test_an_upstream_that_never_answers_is_no_pass(proxy, server):
    there = server(silent)
    run = proxy(there, "--lint")
    with socket.create_connection(run.address, PATIENCE) as client:
        client.sendall(next(iter(parse_conversation(GOOD))).raw)
        client.shutdown(socket.SHUT_WR)
        receive_all(client)
    assert run.end() == 2
    assert f"upstream {there} never answered in AMQP" in run.wait_for("nothing was checked")


def test_what_is_not_amqp_is_no_pass(proxy, server):
    run = proxy(server(), "--lint")
    with run.connect() as client:
        client.sendall(b"hello")
        receive(client, 5)
    assert run.end() == 2
    assert "no AMQP in" in run.wait_for("nothing was checked")


def test_amqp_that_was_answered_is_a_pass(proxy, broker):
    assert proxy(broker(GOOD), "--lint", *speaker(GOOD)).wait() == 0


@pytest.mark.parametrize("option", [("--fail-on", "error"), ("--allow-empty",), ("-T", "sarif")])
def test_what_would_do_nothing_without_lint_is_refused(amqpscope, tmp_path, option):
    done = amqpscope("proxy", "amqp://127.0.0.1", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert "goes with --lint" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_analysis_that_was_killed_is_no_pass(proxy, broker):
    there = broker(GOOD)
    run = proxy(there, "--lint")
    with run.connect() as client:
        speak(client, GOOD, "client")
    os.kill(run.child(), signal.SIGKILL)
    run.wait_for("the analysis ended by signal 9")
    assert run.end() == 2
    run.wait_for("starts again from the recording")


def test_an_analysis_that_is_asked_to_end_goes_on(proxy, broker):
    run = proxy(broker(GOOD), "--lint")
    with run.connect() as client:
        speak(client, GOOD, "client")
    os.kill(run.child(), signal.SIGTERM)
    time.sleep(0.3)
    assert run.end(signal.SIGTERM) == 0


# The report


def test_the_commands_output_is_its_own(proxy, broker):
    run = proxy(broker(BAD), "--lint", *speaker(BAD))
    assert run.wait() == 1
    assert run.printed == ["the command's own output"]
    assert any(f"error[{BROKEN}]" in line for line in run.said)


def test_frames_too_leave_the_commands_output_alone(proxy, broker):
    run = proxy(broker(GOOD), "-T", "jsonl", *speaker(GOOD))
    assert run.wait() == 0
    assert run.printed == ["the command's own output"]


def test_the_report_has_the_formats_of_lint(proxy, broker, tmp_path):
    found = {}
    for form in ("text", "json", "jsonl", "sarif", "junit", "github", "html"):
        run = proxy(broker(BAD), "--lint", "-T", form, "-o", form, *speaker(BAD))
        assert run.wait() == 1, run.said
        found[form] = (tmp_path / form).read_text()
        assert BROKEN in found[form]
    assert found["text"].startswith(f"error[{BROKEN}]")
    assert json.loads(found["json"])["findings"][0]["rule"] == BROKEN
    assert json.loads(found["jsonl"].splitlines()[0])["rule"] == BROKEN
    assert json.loads(found["sarif"])["runs"]
    assert ElementTree.fromstring(found["junit"]).tag == "testsuites"
    assert found["github"].startswith("::error")
    assert "<!doctype html>" in found["html"][:100].lower()


def test_a_report_of_what_was_not_checked_says_so(proxy, server, tmp_path):
    for form in ("json", "sarif", "junit", "github", "html"):
        proxy(server(), "--lint", "-T", form, "-o", form, "--", "true").wait()
        assert "no client connected" in (tmp_path / form).read_text(), form


def test_a_report_that_cannot_be_written_is_known_at_the_start(proxy, server, tmp_path):
    run = proxy(server(), "--lint", "--output", "no/report")
    assert run.wait() == 2
    assert run.said == ["amqpscope: no/report: no such file or directory"]
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_seen_enough_changes_no_exit_code(proxy, broker):
    reader, writer = os.pipe()
    run = proxy(broker(BAD), "--lint", stdout=writer)
    os.close(writer)
    os.close(reader)
    with run.connect() as client:
        speak(client, BAD, "client")
    assert run.end() == 1


# Rotation


@pytest.mark.parametrize("rotate", [("100kB", "2"), ("5MB", "2"), ("10MB", "1")])
def test_no_file_that_the_analysis_needs_goes_unannounced(proxy, server, tmp_path, rotate):
    """One bulk connection from the start: files are due to go before the analysis has begun."""
    size, keep = rotate
    run = proxy(server(silent), "--lint", "--rotate", size, "--keep", keep, "-w", "f.pcapng")
    block = noise(1 << 20)
    with run.connect() as client:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            client.sendall(block)
        client.shutdown(socket.SHUT_WR)
        receive_all(client)
    assert run.end() == 2
    assert not any("bug of amqpscope" in line or "Traceback" in line for line in run.said)
    # No AMQP in it, or not all of it seen: either way in words.
    assert any("nothing was checked" in line for line in run.said), run.said
    assert len(list(tmp_path.glob("f-*.pcapng"))) <= int(keep) + 1


def test_a_rotated_run_whose_analysis_died_ends_in_words(proxy, server):
    run = proxy(server(), "--lint", "--rotate", "0.01s", "--keep", "2", "-w", "f.pcapng")
    with run.connect() as client:
        for _ in range(50):
            client.sendall(b"x" * 1000)
            receive(client, 1000)
            time.sleep(0.01)
        os.kill(run.child(), signal.SIGKILL)
        run.wait_for("the analysis ended by signal 9")
        for _ in range(20):
            client.sendall(b"x" * 1000)
            receive(client, 1000)
            time.sleep(0.01)
    assert run.end(signal.SIGTERM) == 2
    assert not any("Traceback" in line for line in run.said)
    run.wait_for("removed before they were analysed")


def test_the_end_counts_the_packets_that_the_files_hold(proxy, server, amqpscope, tmp_path):
    run = proxy(server(), "--rotate", "0.01s", "--keep", "3", "-w", "f.pcapng")
    with run.connect() as client:
        for _ in range(30):
            client.sendall(b"x")
            receive(client, 1)
            time.sleep(0.012)
    assert run.end() == 0
    last = run.said[-1]
    files = sorted(tmp_path.glob("f-*.pcapng"))
    assert 3 <= len(files) <= 4
    done = amqpscope("lint", "--format", "json", "--ring", *files)
    held = json.loads(done.stdout)["captures"][0]["packets"]
    assert f"amqpscope: {held} packets recorded: {files[0].name} and the files after it" in last
    assert "packets before them removed by --keep" in last


# Python


def test_a_block_without_traffic_is_not_checked(server):
    with (
        pytest.raises(package.NotChecked, match="no client connected"),
        package.proxied(f"amqp://{server()}"),
    ):
        pass
    with package.proxied(f"amqp://{server()}", allow_empty=True) as proxy:
        pass
    assert proxy.findings == []


def test_a_block_whose_upstream_is_down_is_not_checked():
    def go():
        with package.proxied(f"amqp://{nobody()}") as proxy:
            try:
                with socket.create_connection((proxy.host, proxy.port), PATIENCE) as client:
                    client.recv(1)
            except ConnectionResetError:
                pass

    with pytest.raises(package.NotChecked, match="took no connection"):
        go()


def test_a_block_whose_relay_was_killed_is_not_checked(broker):
    def go():
        with package.proxied(f"amqp://{broker(GOOD)}") as proxy:
            with socket.create_connection((proxy.host, proxy.port), PATIENCE) as client:
                speak(client, GOOD, "client")
            os.kill(proxy.process.pid, signal.SIGKILL)
            proxy.process.wait()
            kept.append(proxy)

    kept = []
    with pytest.raises(package.NotChecked, match="the relay has died"):
        go()
    assert kept[0].status.problem == "the relay has died"


@pytest.mark.parametrize(
    ("fail_on", "raised"), [(None, False), ("never", False), ("error", True), ("info", True)]
)
def test_a_block_fails_on_what_it_is_told_to(broker, fail_on, raised):
    def go():
        with (
            package.proxied(f"amqp://{broker(BAD)}", fail_on=fail_on) as proxy,
            socket.create_connection((proxy.host, proxy.port), PATIENCE) as client,
        ):
            speak(client, BAD, "client")

    if raised:
        with pytest.raises(package.Violation, match=BROKEN):
            go()
    else:
        go()


def test_a_severity_that_there_is_not_is_refused(server):
    with (
        pytest.raises(ValueError, match="fail_on='fatal': expected one of error, warning"),
        package.proxied(f"amqp://{server()}", fail_on="fatal"),
    ):
        pass


@pytest.mark.parametrize(("upstream", "scheme"), [("amqp://", "amqp"), ("ws://", "ws")])
def test_the_url_of_a_block_has_the_scheme_to_speak(server, upstream, scheme):
    with package.proxied(f"{upstream}{server()}", allow_empty=True) as proxy:
        assert proxy.url.startswith(f"{scheme}://127.0.0.1:")


TEST = """
import os

def test_it(amqp_proxy):
    proxy = amqp_proxy("amqp://{upstream}", {how})
    {body}
"""


@pytest.mark.parametrize(
    ("how", "body", "told"),
    [
        ("", "pass", "amqp_proxy: no client connected to 127.0.0.1:"),
        ("", "os.kill(proxy.process.pid, 9)", "amqp_proxy: the relay has died"),
        ("allow_empty=True", "pass", ""),
    ],
)
def test_the_fixture_fails_when_nothing_was_checked(tmp_path, server, how, body, told):
    (tmp_path / "conftest.py").write_text("from amqpscope.pytest_plugin import amqp_proxy\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TEST.format(upstream=server(), how=how, body=body))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == bool(told), done.stdout
    assert told in done.stdout
    assert "Traceback" not in done.stdout


# What counts as checked


STATUS = Status(["127.0.0.1:1"], "u:1", "a", "a", 100, 9, 0, 1, 0, None)


@pytest.mark.parametrize(
    ("checked", "status", "told"),
    [
        (CaptureResult("a", frames=1), STATUS, ""),
        (CaptureResult("a", error="cut short"), STATUS, "a: cut short"),
        (CaptureResult("a", notes=["connection x is TLS"]), STATUS, "a: connection x is TLS"),
        (CaptureResult("a", protocols=["amqp-0-10"]), STATUS, "amqp-0-10 is not checked beyond"),
        (CaptureResult("a", gaps=2), STATUS, "a: octets are missing at 2 places"),
        (CaptureResult("a"), STATUS._replace(problem="a: full", lost=3), "3 packets lost: a: full"),
    ],
)
def test_what_was_not_recorded_or_not_analysed_is_named(checked, status, told):
    short = shortfalls(checked, status, in_order=True)
    assert len(short) == bool(told)
    assert told in "".join(short)


def test_a_run_in_which_one_client_of_two_was_refused_is_not_empty():
    status = STATUS._replace(accepted=2, refused=1)
    assert emptiness(CaptureResult("a", frames=2), status, answered=True) == ""
