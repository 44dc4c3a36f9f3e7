"""What a recording says of faults: both conversations, who did what, and nobody wrongly accused."""

import json
import subprocess

import pytest

import amqpscope as package
from amqpscope.capture.pieces import Pieces
from dissectors.notation import parse
from kit.proxy.relaying import digest, echo, noise, receive, talks
from kit.proxy.wire import SENDING, Wire, fault

SENT = [
    f'transfer[0] handle=3 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=true '
    f'| amqp-value("m{n}")'
    for n in range(3)
]


@pytest.fixture
def wire(relay, server):
    def start(*faults):
        made = Wire(relay, server, *faults)
        made.play(SENDING)
        return made

    return start


def lines(text, peer):
    return b"".join(
        parse(line.partition(": ")[2])
        for line in map(str.strip, text.splitlines())
        if line.startswith(peer)
    )


def finish(it):
    it.client.socket.close()
    it.server.socket.close()
    it.relay.settle()
    it.relay.stop()
    return it.relay.path


def test_without_a_match_the_recording_is_as_ever(wire):
    it = wire(fault("delivery-id == 99", "drop"))
    it.client.say(*SENT)
    for _ in SENT:
        it.server.hear()
    (talk,) = talks(finish(it)).values()
    assert talk.octets[0] == lines(SENDING, "client") + b"".join(map(parse, SENT))
    assert talk.octets[1] == lines(SENDING, "server")


def test_where_a_fault_acts_both_conversations_are_recorded_whole(wire):
    it = wire(fault("delivery-id == 1", "set message-format=7", name="odd"))
    it.client.say(*SENT)
    for _ in SENT:
        it.server.hear()
    near, far = it.client.socket.getsockname()[1], it.server.socket.getpeername()[1]
    recorded = talks(finish(it))
    assert set(recorded) == {near, far}
    opening, answers = lines(SENDING, "client"), lines(SENDING, "server")
    changed = [SENT[0], SENT[1].replace("format=0", "format=7"), SENT[2]]
    assert recorded[near].octets[0] == opening + b"".join(map(parse, SENT))
    assert recorded[far].octets[0] == opening + b"".join(map(parse, changed))
    for each in recorded.values():
        assert each.octets[1] == answers
        assert each.ends == ["fin", "fin"]


def marks_of(path):
    found = []
    with Pieces(path) as pieces:
        for batch in pieces:
            found += [piece.connection.marks for piece in batch]
    return {id(each): each for each in found if each is not None}.values()


@pytest.mark.parametrize(("action", "heard"), [("drop", 2), ("stall", 1), ("delay 30s", 1)])
def test_packet_comments_name_the_fault(wire, action, heard):
    it = wire(fault("delivery-id == 1", action, name="lost"))
    it.client.say(*SENT)
    for _ in range(heard):
        it.server.hear()
    marks = marks_of(finish(it))
    assert [{name for _, name, _ in each.faults} for each in marks] == [{"lost"}, {"lost"}]
    assert sorted(each.proxy for each in marks) == [0, 1]


def test_what_is_sent_later_in_the_name_of_a_fault_has_its_comment(wire, amqpscope):
    it = wire(fault("transfer && more", "reject", name="refused"))
    it.client.say(SENT[0].replace("settled=true", "more=true"))
    it.client.say('transfer[0] handle=3 | amqp-value("x")')
    assert "rejected" in it.client.hear()
    shown = amqpscope("read", finish(it)).stdout.splitlines()
    (line,) = [line for line in shown if "disposition" in line]
    assert "fault refused: reject on transfer" in line


@pytest.fixture
def acted(wire):
    """A recording: the second message is changed, the third ends the connection."""
    changed = fault("delivery-id == 1", "set message-format=7", name="odd")
    it = wire(changed, fault("delivery-id == 2", "disconnect", name="gone"))
    it.client.say(*SENT)
    it.server.hear(), it.server.hear()
    return finish(it)


CHANGED = "fault odd: set message-format=7 on transfer"
GONE = "fault gone: disconnect on transfer"


def test_the_list_of_frames_shows_where_faults_acted(acted, amqpscope):
    shown = amqpscope("read", acted).stdout.splitlines()
    (line,) = [line for line in shown if f"transfer        [{CHANGED}] " in line]
    assert line.split()[2] == "2"
    # Behind the last frame of each conversation, what ended both.
    assert sorted(line.strip() for line in shown if "gone" in line) == [
        f"{GONE}, connection {number}" for number in (1, 2)
    ]


def test_a_scrubbed_recording_still_shows_where_faults_acted(acted, amqpscope, tmp_path):
    out = tmp_path / "scrubbed.pcapng"
    done = amqpscope("scrub", acted, "-o", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"message-format=7" not in out.read_bytes()
    shown = amqpscope("read", out).stdout
    assert "[fault fault-1: set] " in shown
    assert shown.count("fault fault-2: disconnect, connection") == 2


def test_json_lines_name_the_faults(acted, amqpscope):
    lines = amqpscope("read", "-T", "jsonl", acted).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    frames = [each for each in found if each["kind"] == "amqp"]
    (changed,) = [each for each in frames if each.get("fault") == "odd"]
    assert (changed["name"], changed["fields"]["message-format"]) == ("transfer", 7)
    gone = {"kind": "fault", "fault": "gone", "action": "disconnect on transfer"}
    assert all({**gone, "connection": number} in found for number in (1, 2))


@pytest.mark.parametrize(
    ("command", "changed", "ended"),
    [
        (("ladder",), f"i {CHANGED}", f"{GONE}: the "),
        (("ladder", "--format", "mermaid"), CHANGED, f"{GONE}: the "),
        (("ladder", "--format", "svg"), CHANGED, f"{GONE}: the "),
        (("read", "--format", "html"), CHANGED, f"{GONE}: the "),
        (("read", "--format", "csv"), "fault,,odd", "fault,,gone"),
    ],
)
def test_every_picture_shows_where_faults_acted(acted, amqpscope, command, changed, ended):
    shown = amqpscope(*command, acted).stdout
    assert changed in shown or command[-1] == "csv"
    assert ended in shown


@pytest.mark.tshark
def test_wireshark_shows_the_comments_and_no_error(wire):
    it = wire(fault("delivery-id == 1", "corrupt", name="bent"))
    it.client.say(*SENT)
    it.server.hear()
    path = finish(it)
    command = ["tshark", "-r", path, "-T", "fields", "-e", "frame.comment"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "amqpscope fault bent: corrupt on transfer" in shown
    # A packet that only carries a comment acknowledges what was acknowledged before.
    odd = "tcp.analysis.flags && !tcp.analysis.duplicate_ack"
    command = ["tshark", "-r", path, "-Y", odd]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_findings_that_rest_on_a_fault_name_it_and_fail_nothing(wire, amqpscope):
    it = wire(fault("delivery-id == 1", "set handle=9", name="astray"))
    it.client.say(*SENT)
    for _ in SENT:
        it.server.hear()
    path = finish(it)
    done = amqpscope("lint", "--format", "json", path)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    found = document["findings"]
    errors = [each for each in found if each["severity"] == "error"]
    assert {(each["rule"], each["peer"], each["fault"]) for each in errors} >= {
        ("LNK-005", "client", "astray")
    }, found
    assert document["summary"]["error"] == 0
    text = amqpscope("lint", path).stdout
    assert "because of fault astray" in text
    assert "more because of faults" in text


def test_what_a_peer_did_before_a_fault_is_reported_once_and_counts(wire, amqpscope):
    it = wire(fault("delivery-id == 2", "delay 10ms"))
    it.client.say(SENT[0].replace("handle=3", "handle=8"), SENT[1], SENT[2])
    for _ in SENT:
        it.server.hear()
    done = amqpscope("lint", "--format", "json", "--select", "LNK-005", finish(it))
    (found,) = json.loads(done.stdout)["findings"]
    assert found["peer"] == "client"
    assert "fault" not in found
    assert done.returncode == 1


def test_connections_that_no_fault_can_match_pass_bit_for_bit(relay, server):
    it = relay(server(echo), faults=(fault("frame", "drop", connection=2),))
    for number in (1, 3):
        if number == 3:
            it.connect().close()
        with it.connect() as peer:
            octets = noise(300_000, number)
            peer.sendall(octets[:100_000])
            assert digest(receive(peer, 100_000)) == digest(octets[:100_000])


def test_the_fixture_of_pytest_takes_faults(server):
    with package.proxied(f"amqp://{server(echo)}", faults=["open => drop"], allow_empty=True) as it:
        assert it.faults.list()[0]["on"] == "open"
        assert it.faults.add("@flaky") == "@flaky"
        assert it.faults.count("@flaky") == 0
        it.faults.remove("@flaky")
        with pytest.raises(ValueError, match="there is no fault @flaky"):
            it.faults.count("@flaky")
        with pytest.raises(ValueError, match="did you mean drop"):
            it.faults.add("open => dorp")
    with (
        pytest.raises(ValueError, match="expected FILTER"),
        package.proxied("amqp://x", faults=["x"]),
    ):
        pass
