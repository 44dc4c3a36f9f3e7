"""`amqpscope read` and `demo` as a user meets them: processes, pipes, terminals, signals."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from amqpscope.cli import IN_SHORT
from amqpscope.protocols.registry import names

COMMAND = [sys.executable, "-m", "amqpscope"]


@pytest.fixture
def simple(root):
    return root / "captures" / "v10_proton-labbroker_simple.pcap"


FRAMES = 33
LINES = 1 + FRAMES + 1
"""Of the simple capture: a heading, its frames, and a finding that comes later than its frame."""


def piped(command, **options):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60,
        check=False, **options,
    )  # fmt: skip


def on_terminal(*arguments, columns=80, **environment):
    """Run on a terminal of so many columns; what it printed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update({"COLUMNS": "", "TERM": "xterm", **environment})
        os.environ.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
        os.set_inheritable(1, True)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execv(sys.executable, [*COMMAND, *map(str, arguments)])
    printed = b""
    try:
        while octets := os.read(fd, 65536):
            printed += octets
    except OSError:  # the other end is closed
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return printed.decode().replace("\r\n", "\n")


def test_read_prints_frames(amqpscope, simple):
    done = amqpscope("read", simple)
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == LINES


def test_demo_reads_the_capture_that_comes_along(amqpscope, root):
    shown = amqpscope("demo").stdout
    assert shown.startswith(amqpscope("read", root / "captures" / "demo.pcapng").stdout)
    assert "error[MSG-001]" in shown
    assert amqpscope("demo", "--format", "jsonl").returncode == 0


def test_standard_input(simple):
    with simple.open("rb") as file:
        done = subprocess.run([*COMMAND, "read", "-"], stdin=file, capture_output=True, check=True)
    assert len(done.stdout.splitlines()) == LINES


def test_a_pipe_as_input(simple):
    done = piped(f"cat {simple} | {sys.executable} -m amqpscope read --format jsonl -")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    frames = [each["frame"] for each in objects if each["kind"] != "finding"]
    assert frames == list(range(1, FRAMES + 1))


@pytest.mark.parametrize("form", ["text", "jsonl", "csv"])
def test_piped_to_head_it_ends_quietly(root, form):
    big = root / "captures" / "v10_proton-labbroker_large.pcap.gz"
    done = piped(f"{sys.executable} -m amqpscope read --format {form} {big} {big} | head -n 1")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_a_full_disk_is_one_line(simple):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    done = piped(f"{sys.executable} -m amqpscope read {simple} > /dev/full")
    assert (done.returncode, done.stderr) == (
        2,
        "amqpscope: cannot write: no space left on device\n",
    )


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), (">&-", 0), ("2>&-", 0)])
def test_closed_streams(simple, closed, code):
    what = "-" if closed == "<&-" else simple
    done = piped(f"{sys.executable} -m amqpscope read {what} {closed}")
    assert done.returncode == code
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- wrong usage


@pytest.mark.parametrize("given", ["captures/demo.pcapng", "-"])
def test_a_capture_without_a_command_is_read(amqpscope, root, given):
    options = {"stdin": (root / "captures/demo.pcapng").open("rb")} if given == "-" else {}
    path = given if given == "-" else root / given
    done = amqpscope(path, "-Y", "open", **options)
    assert (done.returncode, done.stdout.count(" open ")) == (0, 2)


def test_a_capture_that_is_not_there_is_no_wrong_command(amqpscope):
    done = amqpscope("nosuch.pcapng")
    assert (done.returncode, done.stderr) == (
        2,
        "amqpscope: nosuch.pcapng: no such file or directory\n",
    )


def test_the_first_help_fits_a_terminal_and_names_every_command(amqpscope):
    lines = amqpscope("--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 24
    listed = [line for line in lines[lines.index("") :] if line.startswith("  ")]
    named = {line[at:].split()[0] for line in listed for at in (2, 40) if line[at:].strip()}
    assert named >= set(IN_SHORT)


USAGE = [
    (["read"], "Missing argument"),
    (["read", "--format", "xml", "x"], "xml"),
    (["read", "--decode-as", "5673", "x"], "expected"),
    (["read", "--decode-as", "0=amqp-1.0", "x"], "expected PORT=PROTOCOL"),
    (["read", "--decode-as", "70000=amqp-1.0", "x"], "expected PORT=PROTOCOL"),
    (["read", "--decode-as", "\u0663=amqp-1.0", "x"], "expected PORT=PROTOCOL"),
    (["read", "--decode-as", "5673=mqtt", "x"], "expected one of amqp-1.0"),
    (["read", "--nonsense", "x"], "nonsense"),
    (["raed", "x"], "raed"),
]


@pytest.mark.parametrize(("arguments", "words"), USAGE)
def test_wrong_usage_is_2_and_says_what_is_expected(amqpscope, arguments, words):
    done = amqpscope(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("where", "caret"),
    [("transfer &&", 11), ("transfer && nosuchfield == 1", 12), ("channel == ", 11), ("(flow", 5)],
)
def test_a_wrong_filter_has_a_caret_under_the_place(amqpscope, simple, where, caret):
    done = amqpscope("read", "-Y", where, simple)
    assert done.returncode == 2
    assert done.stdout == ""
    said, shown, marks = done.stderr.splitlines()[:3]
    assert said == "amqpscope: the filter does not parse"
    assert shown == where.rstrip() or shown == where
    assert marks.index("^") == caret


def test_a_filter(amqpscope, simple):
    done = amqpscope("read", "-Y", "transfer && from == client && !settled", simple)
    assert len(done.stdout.splitlines()) == 6


def test_bad_files_are_2_and_good_ones_are_shown(amqpscope, simple, tmp_path):
    done = amqpscope("read", tmp_path, simple, tmp_path / "missing")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.count("amqpscope: ") == 2
    assert "close" in done.stdout


def test_decode_as(amqpscope, recorded):
    path = recorded("client: close\nserver: close\n", handshake=False, port=9999)
    assert amqpscope("read", path).stdout == ""
    done = amqpscope("read", "--decode-as", "9999=amqp-1.0", path)
    assert len(done.stdout.splitlines()) == 3


METHODS = """
client: basic.publish[1] exchange="e" routing-key="k"
client: content-header[1] class=basic body-size=2
client: content-body[1] "hi"
server: basic.ack[1] delivery-tag=1
"""


def protocols(shown):
    return {json.loads(line)["protocol"] for line in shown.splitlines()}


@pytest.mark.parametrize(
    ("named", "found"),
    [("amqp-0-9-1", {"amqp-0-9-1"}), ("amqp-0-8", {"amqp-0-8"}), ("amqp-1.0", set())],
)
def test_the_protocol_that_is_named_for_a_port_is_the_one_that_is_read(
    amqpscope, recorded, named, found
):
    path = recorded(METHODS, handshake=False, port=9999)
    done = amqpscope("read", "--format", "jsonl", "--decode-as", f"9999={named}", path)
    assert protocols(done.stdout) == found
    assert ("no AMQP in" in done.stderr) is not bool(found)


def test_a_protocol_header_counts_more_than_the_protocol_that_is_named(amqpscope, recorded):
    text = 'client: header AMQP 1.0.0\nclient: open container-id="c"\n'
    path = recorded(text, port=9999)
    done = amqpscope("read", "--format", "jsonl", "--decode-as", "9999=amqp-0-9-1", path)
    assert protocols(done.stdout) == {"amqp-1.0"}


@pytest.mark.parametrize("command", ["lint", "state", "stats", "ladder"])
def test_every_command_reads_a_port_as_the_protocol_that_is_named(amqpscope, recorded, command):
    path = recorded(METHODS, handshake=False, port=9999)
    done = amqpscope(command, "--decode-as", "9999=amqp-0-9-1", path)
    assert "no AMQP" not in done.stdout + done.stderr
    done = amqpscope(command, "--decode-as", "9999=amqp-1.0", path)
    assert "no AMQP" in done.stdout + done.stderr


def test_the_help_names_the_protocols(amqpscope):
    shown = " ".join(amqpscope("read", "--help").stdout.split())
    assert f"PROTOCOL is one of {', '.join(names())}." in shown


def test_a_protocol_that_there_is_not_is_refused_with_those_that_there_are(amqpscope):
    done = amqpscope("read", "--decode-as", "5673=mqtt", "x")
    assert done.returncode == 2
    assert f"'mqtt': expected one of {', '.join(names())}" in done.stderr


# ---------------------------------------------------------------- terminals


def test_a_terminal_gets_colours_and_its_width(simple):
    printed = on_terminal("read", "--no-tui", simple, columns=80)
    assert "\x1b[32m" in printed
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()) <= 80


def test_no_color_is_respected(simple):
    assert "\x1b[" not in on_terminal("read", "--no-tui", simple, NO_COLOR="1")


def test_color_can_be_forced_and_forbidden(amqpscope, simple):
    assert "\x1b[" in amqpscope("read", "--color", "always", simple).stdout
    assert "\x1b[" not in on_terminal("read", "--no-tui", "--color", "never", simple)


def test_an_ascii_terminal_gets_ascii(root):
    path = root / "captures" / "v10_proton-labbroker_types.pcap"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for options in ([], ["-V"], ["-x"], ["--format", "jsonl"], ["--format", "csv"]):
        done = subprocess.run(
            [*COMMAND, "read", *options, path], capture_output=True, env=environment, check=True
        )
        assert done.stdout.isascii(), options
        assert done.stderr == b""


# ---------------------------------------------------------------- following a file that grows


@pytest.fixture
def follow(tmp_path, simple):
    """Start `read --follow` on the first octets of the simple; give the process and the file."""
    started = []

    def start(size, *options):
        path = tmp_path / "growing.pcapng"
        path.write_bytes(simple.read_bytes()[:size])
        process = subprocess.Popen(
            [*COMMAND, "read", "--follow", *options, path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, path

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_follow_shows_frames_as_they_come_and_ends_cleanly(follow, simple):
    data = simple.read_bytes()
    process, path = follow(len(data) // 2)
    seen = [process.stdout.readline() for _ in range(12)]
    assert seen[11].split()[0] == "11"
    with path.open("ab") as file:
        for at in range(len(data) // 2, len(data), 701):
            file.write(data[at : at + 701])
            file.flush()
            time.sleep(0.01)
    while not seen[-1].startswith("   33"):
        seen.append(process.stdout.readline())
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    rest, told = process.communicate(timeout=10)
    assert (process.returncode, rest, told) == (0, "", "")


def test_follow_waits_for_a_file_that_is_still_empty(follow, simple):
    process, path = follow(0)
    time.sleep(0.5)
    with path.open("ab") as file:
        file.write(simple.read_bytes())
    lines = [process.stdout.readline() for _ in range(LINES)]
    assert lines[-1].startswith("   33")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 0


def test_interrupt_while_reading_is_quiet(root, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "read", fifo], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with fifo.open("wb") as file:
        file.write((root / "captures" / "demo.pcapng").read_bytes()[:2000])
        file.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in told


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["read", "--help"], ["demo", "--help"]])
def test_help_fits_its_columns(amqpscope, arguments):
    done = amqpscope(*arguments)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_version_says_the_build(amqpscope):
    assert re.fullmatch(r"amqpscope \d+\.\d+\.\d+ \(.+\)\n", amqpscope("--version").stdout)
