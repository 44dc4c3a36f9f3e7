"""The command `ladder`: formats, choices, pipes, and troubles told in one line."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest


def test_text_of_the_demo(amqpscope, root):
    done = amqpscope("ladder", root / "captures" / "demo.pcapng")
    assert done.returncode == 0
    assert "error MSG-001 (client)" in done.stdout
    assert "accepted after" in done.stdout
    assert done.stderr == ""


def test_svg_into_a_file(amqpscope, good, tmp_path):
    target = tmp_path / "ladder.svg"
    done = amqpscope("ladder", "--format", "svg", "--output", target, good)
    assert (done.returncode, done.stdout) == (0, "")
    assert ET.parse(target).getroot().tag.endswith("svg")


def test_mermaid(amqpscope, good):
    assert amqpscope("ladder", "-T", "mermaid", good).stdout.startswith("sequenceDiagram\n")


def test_standard_input(good):
    command = [sys.executable, "-m", "amqpscope", "ladder", "-"]
    done = subprocess.run(
        command, stdin=good.open("rb"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "connection 1, amqp-1.0, 13 frames" in done.stdout


def test_all_folds_nothing(amqpscope, root):
    path = root / "captures" / "v10_proton-labbroker_unsettled.pcap"
    assert "more transfers" in amqpscope("ladder", path).stdout
    everything = amqpscope("ladder", "--all", path).stdout
    assert "more transfers" not in everything
    assert everything.count("transfer uns #") == 40


def test_side_by_side(amqpscope, root):
    path = root / "captures" / "v10_proton-labbroker_outcomes.pcap"
    shown = amqpscope("ladder", "-c", 2, "-c", 3, "--together", path).stdout
    assert "client 2" in shown
    assert "client 3" in shown
    assert "client 1" not in shown


def test_secrets_are_hidden_unless_asked_for(amqpscope, root):
    path = root / "captures" / "v10_rhea-rabbitmq_plain.pcap"
    assert "guest" not in amqpscope("ladder", "-Y", "sasl-init", path).stdout


# fmt: off
TROUBLES = [
    (["missing.pcap"],                   "no such file",                    2),
    (["-Y", "transfer &&", "{good}"],    "the filter does not parse",       2),
    (["-Y", "detach", "{good}"],         "no frame matches the filter",     0),
    (["-c", "9", "{good}"],              "nothing to draw of connection 9", 0),
    (["-o", "/nowhere/x.svg", "{good}"], "cannot write: no such file",      2),
]
# fmt: on


@pytest.mark.parametrize(("arguments", "said", "code"), TROUBLES)
def test_troubles_are_one_line(amqpscope, good, arguments, said, code):
    done = amqpscope("ladder", *(each.format(good=good) for each in arguments))
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code
