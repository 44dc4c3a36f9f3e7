"""`amqpscope stuck`: what key 5 of the screen shows, in words and for programs."""

import json

from kit.talks_v0_9 import OPENED


def stuck(amqpscope, *arguments):
    done = amqpscope("stuck", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_link_without_credit_says_since_when_and_who_is_waited_for(amqpscope, good):
    assert stuck(amqpscope, "--at", 10, good).splitlines() == [
        f"{good}, after frame 10 at 0.000 s:",
        "  stuck: link s, q, connection 1, client -> server",
        "    No credit (after 1 delivery): waiting for the server, since frame 10",
        "    No delivery may begin until a flow grants link-credit.",
    ]


def test_a_refusal_comes_with_the_finding_that_explains_it(amqpscope, root):
    text = stuck(amqpscope, root / "captures" / "v091_pika_chanerr-rabbitmq.pcap")
    assert "refused: channel 2, connection 1, client -> server" in text
    assert "406 PRECONDITION_FAILED - unknown delivery tag 99, frame 23" in text
    assert "Probable cause: A09-BAS-10 in frame 21" in text


def test_each_refusal_of_a_channel_number_that_is_opened_again_is_shown(amqpscope, recorded):
    again = "client: channel.close-ok[1]\nclient: channel.open[1]\nserver: channel.open-ok[1]\n"
    text = stuck(
        amqpscope,
        recorded(
            OPENED
            + 'server: channel.close[1] reply-code=404 reply-text="NOT_FOUND"\n'
            + again
            + 'server: channel.close[1] reply-code=406 reply-text="PRECONDITION_FAILED"\n'
            + again
        ),
    )
    refused = [line for line in text.splitlines() if line.startswith("  refused: ")]
    assert {line.partition(",")[0] for line in refused} == {
        "  refused: channel 1 of frame 8",
        "  refused: channel 1 of frame 12",
    }
    assert "Channel closed by the server: 404 NOT_FOUND, frame 10" in text
    assert "Channel closed by the server: 406 PRECONDITION_FAILED, frame 14" in text


def test_of_what_is_over_it_says_who_ended_it_and_what_held_it_until_then(amqpscope, root):
    text = stuck(amqpscope, root / "captures" / "v10_goamqp-qpidd_drain.pcapng")
    assert "Then the connection was closed by the client at 20.022 s, frame 33" in text
    assert "No credit (after 3 deliveries) for 19.7 s: waiting for the client" in text


def test_the_worst_comes_first_and_what_is_not_held_is_counted(amqpscope, root):
    text = stuck(amqpscope, root / "captures" / "v091_pika_prefetch-rabbitmq.pcapng")
    assert text.splitlines()[1].startswith("  stuck: consumer orders-consumer, orders")
    assert text.splitlines()[-1] == "  others: 1 idle"


def test_a_capture_in_which_nothing_is_held_says_so(amqpscope, good):
    assert stuck(amqpscope, "--at", 9, good).splitlines()[1:] == ["  nothing is stuck: 1 idle"]


def test_for_programs_it_has_the_same_facts(amqpscope, root):
    path = root / "captures" / "v10_proton-storybroker_rejected.pcapng"
    [found] = json.loads(stuck(amqpscope, "--format", "json", path))
    assert found["capture"] == str(path)
    [link] = [held for held in found["held"] if held["state"] == "refused"]
    assert (link["what"], link["refused"]["what"]) == ("link", "rejected")
    assert link["refused"]["times"] >= 1
    assert link["refused"]["frame"] > 0


def test_a_closed_tcp_window_comes_before_all_else(amqpscope, good):
    data = bytearray(good.read_bytes())
    ports = (5672).to_bytes(2) + (40000).to_bytes(2)
    window = data.rindex(ports) + 14  # of the last segment that the server sends
    data[window : window + 2] = bytes(2)
    good.write_bytes(data)
    text = stuck(amqpscope, good)
    assert "TCP window closed (no credit) for 1 s: waiting for the server" in text
    assert "It does not read from its socket, whose buffer is full." in text


def test_a_file_that_cannot_be_read_is_reported_and_the_rest_is_done(amqpscope, good):
    done = amqpscope("stuck", "none.pcap", good)
    assert done.returncode == 2
    assert done.stderr == "amqpscope: none.pcap: no such file or directory\n"
    assert f"{good}, after frame 13" in done.stdout


def test_a_frame_that_does_not_exist_is_an_error(amqpscope, good):
    done = amqpscope("stuck", "--at", 99, good)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"amqpscope: {good}: there is no frame 99, the last is 13\n"


def test_the_help_fits_80_columns(amqpscope):
    done = amqpscope("stuck", "--help", env={"COLUMNS": "80", "PATH": ""})
    assert max(map(len, done.stdout.splitlines())) <= 80
