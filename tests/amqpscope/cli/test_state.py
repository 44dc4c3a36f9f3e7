"""`amqpscope stats` and `state`."""

import json

import pytest


def test_stats_tell_of_each_capture(amqpscope, bad, good):
    done = amqpscope("stats", bad, good)
    assert (done.returncode, done.stderr) == (0, "")
    heads = [line for line in done.stdout.splitlines() if line.endswith(".pcapng:")]
    assert heads == [f"{bad}:", f"{good}:"]
    assert "out of credit" in done.stdout


def test_stats_for_programs(amqpscope, bad, good):
    documents = json.loads(amqpscope("stats", "--format", "json", bad, good).stdout)
    assert [document["capture"] for document in documents] == [str(bad), str(good)]
    assert documents[1]["connections"][0]["links"][0]["deliveries"] == 2


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_cannot_be_read_is_said_and_the_rest_is_done(amqpscope, good, form):
    done = amqpscope("stats", "--format", form, "none.pcap", good)
    assert done.returncode == 2
    assert done.stderr == "amqpscope: none.pcap: no such file or directory\n"
    assert str(good) in done.stdout


def test_a_capture_without_amqp_is_mentioned(amqpscope, recorded):
    done = amqpscope("stats", recorded("", name="other.pcapng"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "no AMQP in 3 packets" in done.stderr


def test_a_key_log_that_cannot_be_read_is_said(amqpscope, good):
    done = amqpscope("stats", "--keylog", "none.keys", good)
    assert done.returncode == 2
    assert "none.keys: key log cannot be read: no such file or directory" in done.stderr
    assert "connection 1" in done.stdout


@pytest.mark.parametrize(
    ("frame", "held"), [(9, "idle"), (10, "no credit"), (12, "idle"), (13, "no credit")]
)
def test_state_is_that_of_the_frame(amqpscope, good, frame, held):
    [connection] = json.loads(amqpscope("state", "--at", frame, "--format", "json", good).stdout)
    [link] = connection["sessions"][0]["links"]
    assert link["constraint"]["kind"] == held


def test_state_without_a_frame_is_that_of_the_end(amqpscope, good):
    assert amqpscope("state", good).stdout == amqpscope("state", "--at", 13, good).stdout


def test_state_in_words(amqpscope, good):
    done = amqpscope("state", "--at", 10, good)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no credit" in done.stdout
    assert done.stdout.rstrip().endswith("waiting for the server")


def test_a_frame_that_is_not_there_is_an_error(amqpscope, good):
    done = amqpscope("state", "--at", 99, good)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"amqpscope: {good}: there is no frame 99, the last is 13\n"


def test_a_capture_that_is_not_there_is_an_error(amqpscope):
    done = amqpscope("state", "none.pcap")
    assert done.returncode == 2
    assert done.stderr == "amqpscope: none.pcap: no such file or directory\n"
