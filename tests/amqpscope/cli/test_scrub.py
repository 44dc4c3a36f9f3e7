"""`amqpscope scrub`: the same conversation without secrets, bodies and names."""

import json
import shutil
import subprocess

BASIC = "captures/v091_pika_basic-rabbitmq.pcap"
ERRORS = "captures/v10_rhea-rabbitmq_errors.pcap"


def test_the_conversation_is_written_and_checked(amqpscope, root, tmp_path):
    out = tmp_path / "out.pcapng"
    done = amqpscope("scrub", root / ERRORS, "-o", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "replaced: " in done.stdout
    assert "findings: the same" in done.stdout
    assert "cannot promise" in done.stdout
    found = [
        [
            (each["rule"], each["frame"], each["peer"])
            for each in json.loads(lint.stdout)["findings"]
        ]
        for lint in (amqpscope("lint", "--format", "json", path) for path in (root / ERRORS, out))
    ]
    assert found[0] == found[1] != []
    if shutil.which("tshark"):
        command = ["tshark", "-r", out, "-T", "fields", "-e", "tcp.analysis.flags"]
        flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert flags.strip() == ""


def test_several_captures_go_to_a_directory(amqpscope, root, tmp_path):
    out = tmp_path / "scrubbed"
    done = amqpscope("scrub", root / BASIC, root / ERRORS, "-o", out, "--salt", "x")
    assert done.returncode == 0, done.stderr
    names = ["v091_pika_basic-rabbitmq.pcapng", "v10_rhea-rabbitmq_errors.pcapng"]
    assert sorted(each.name for each in out.iterdir()) == names
    assert b"guest" not in (out / names[0]).read_bytes()


def test_what_is_no_capture_leaves_nothing_behind(amqpscope, root, tmp_path):
    out = tmp_path / "out.pcapng"
    done = amqpscope("scrub", root / "README.md", "-o", out)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "Traceback" not in done.stderr
