"""`lint --format html` and `read --format html`: output, pipes, exit codes."""

import subprocess
import sys


def test_lint_writes_the_page_and_keeps_its_exit_code(amqpscope, bad, good, tmp_path):
    target = tmp_path / "report.html"
    done = amqpscope("lint", "--format", "html", "--output", target, bad)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert target.read_text(encoding="utf-8").endswith("</html>\n")
    assert amqpscope("lint", "--format", "html", "--select", "FLW-016", good).returncode == 0


def test_read_lists_the_frames(amqpscope, good):
    done = amqpscope("read", "--format", "html", good)
    assert done.returncode == 0
    assert done.stdout.count('<span id="c1-n') == 13


def test_standard_input_is_read_as_often_as_needed(bad):
    for command in ("lint", "read"):
        done = subprocess.run(
            [sys.executable, "-m", "amqpscope", command, "--format", "html", "-"],
            stdin=bad.open("rb"), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "<h1>-</h1>" in done.stdout
        assert 'id="c1-f11-FLW-016"' in done.stdout


def test_a_missing_capture_is_told_in_one_line(amqpscope, good):
    done = amqpscope("lint", "--format", "html", "missing.pcap", good)
    assert done.returncode == 2
    assert "missing.pcap: no such file" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.endswith("</html>\n")


def test_following_has_no_page(amqpscope, good):
    done = amqpscope("read", "--follow", "--format", "html", good)
    assert done.returncode == 2
    assert "--follow has none" in done.stderr


def test_a_baseline_takes_known_findings_out(amqpscope, bad, tmp_path):
    known = tmp_path / "known.json"
    amqpscope("lint", "--write-baseline", known, bad)
    done = amqpscope("lint", "--format", "html", "--baseline", known, bad)
    assert done.returncode == 0
    assert "Nothing found." in done.stdout


def test_a_consumer_of_0_9_1_is_held_and_plotted(amqpscope, root):
    capture = root / "captures" / "v091_pika_prefetch-rabbitmq.pcapng"
    page = amqpscope("lint", "--format", "html", capture).stdout
    assert "<b>prefetch reached</b> (3 of 3 unacked by the consumer" in page
    assert "the oldest is #5) for 10.9 s: waiting for the client, since frame 76" in page
    assert "Consumer <q>orders (orders-consumer)</q> over time, sent by the server" in page
    assert "highest 3, prefetch 3 (dashed), in the end 3" in page
    assert "<b>prefetch left</b>" in page
    assert "Publishes on <q>channel 2</q> over time, sent by the client" in page
    for title in ("unconfirmed publishes", "deliveries per second", "settle latency"):
        assert f"<b>{title}</b>" in page
