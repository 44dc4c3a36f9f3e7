"""Frames that wait for a person: what is decided happens, and nothing else is touched."""

import json
import threading
import time

import pytest

import amqpscope as package
from amqpscope.capture.pieces import Pieces
from dissectors.notation import parse, write
from kit.proxy.relaying import PATIENCE, digest, noise, receive, reset
from kit.proxy.wire import IN_A_CHANNEL, SENDING, Wire, fault

SENT = [
    f'transfer[0] handle=3 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=true '
    f'| amqp-value("m{n}")'
    for n in range(4)
]
PUBLISHED = [
    'basic.publish[1] exchange="" routing-key="q"',
    "content-header[1] class=basic body-size=2",
    'content-body[1] "hi"',
]


@pytest.fixture
def wire(relay, server):
    """Start a relay that holds some frames, and connect two peers through it."""

    def start(where, opening=SENDING, **settings):
        made = Wire(relay, server, fault(where, "hold", name="stop"), **settings)
        made.play(opening)
        return made

    return start


def ask(it, **question):
    return it.relay.watch.ask_about_faults(question)


def decide(it, number, action, **more):
    return ask(it, do="decide", number=number, action=action, **more)


def wait_for_held(it, count=1):
    until = time.monotonic() + PATIENCE
    while len(held := ask(it, do="held")["held"]) < count:
        assert time.monotonic() < until
    return held


def canonical(line):
    return write(parse(line))


def test_a_held_frame_and_what_follows_it_wait_and_the_other_direction_does_not(wire):
    it = wire("delivery-id == 1")
    it.client.say(*SENT[:3])
    assert it.server.hear() == canonical(SENT[0])
    [held] = wait_for_held(it)
    assert (held["number"], held["connection"], held["from"]) == (1, 1, "client")
    assert (held["name"], held["octets"]) == ("transfer", len(parse(SENT[1])))
    it.server.say("empty")
    assert it.client.hear() == "empty"
    assert it.server.hears_nothing()
    assert decide(it, 1, "resume") == {"decided": [1]}
    assert [it.server.hear(), it.server.hear()] == [canonical(line) for line in SENT[1:3]]
    assert decide(it, 1, "resume") == {"error": "no frame 1 waits"}


def test_other_connections_do_not_wait(wire):
    it = wire("delivery-id == 1")
    it.client.say(*SENT[:2])
    wait_for_held(it)
    it.connect()
    it.play(SENDING)
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])


def test_a_held_delivery_that_is_dropped_leaves_no_hole_in_the_numbers(wire):
    it = wire("delivery-id == 1")
    it.client.say(*SENT[:3])
    it.server.hear()
    wait_for_held(it)
    decide(it, 1, "drop")
    assert it.server.hear() == canonical(SENT[2].replace("delivery-id=2", "delivery-id=1"))


def test_a_held_delivery_is_duplicated_as_two(wire):
    it = wire("delivery-id == 1")
    it.client.say(*SENT[:3])
    it.server.hear()
    wait_for_held(it)
    decide(it, 1, "duplicate")
    numbers = [it.server.hear().split("delivery-id=")[1].split()[0] for _ in range(3)]
    assert numbers == ["1", "2", "3"]


def test_numbers_that_an_edit_leaves_alone_are_translated_and_others_sent_as_written(wire):
    it = wire("transfer")
    it.client.say(*SENT[:3])
    wait_for_held(it)
    decide(it, 1, "drop")
    wait_for_held(it)
    shown = ask(it, do="frame", number=2)
    assert shown == {"frame": canonical(SENT[1]), "dialect": "", "secret": False}
    decide(it, 2, "edit", frame=shown["frame"].replace("format=0", "format=7"))
    passed = SENT[1].replace("format=0", "format=7").replace("delivery-id=1", "delivery-id=0")
    assert it.server.hear() == canonical(passed)
    wait_for_held(it)
    decide(it, 3, "edit", frame=SENT[2].replace("delivery-id=2", "delivery-id=77"))
    assert it.server.hear() == canonical(SENT[2].replace("delivery-id=2", "delivery-id=77"))


def test_other_frames_are_sent_in_the_place_of_one_and_beside_it(wire):
    it = wire("transfer")
    it.client.say(*SENT[:2])
    wait_for_held(it)
    decide(it, 1, "edit", frame="empty\nempty")
    assert [it.server.hear(), it.server.hear()] == ["empty", "empty"]
    wait_for_held(it)
    decide(it, 2, "edit", frame=f"# first\nempty\n{SENT[1]}\nempty")
    assert it.server.hear() == "empty"
    assert it.server.hear() == canonical(SENT[1].replace("delivery-id=1", "delivery-id=0"))
    assert it.server.hear() == "empty"


def test_what_is_wrong_is_shown_with_its_place_and_the_frame_waits_still(wire):
    it = wire("transfer")
    it.client.say(SENT[0])
    wait_for_held(it)
    for action, frame, reason in [
        ("edit", "transfer[0] handle=x", "^"),
        ("edit", "", "expected a frame"),
        ("edit", "basic.ack[1] delivery-tag=1", "is not a frame of this connection's protocol"),
        ("edit", "amqp-value(" + "[" * 20_000, "^"),
        ("edit", "x" * 70_000, "at most 65,536 characters"),
        ("exploded", "", "expected an action"),
        ("hold", "", "held already"),
        ("return", "", "return"),
        ("set nonsense=1", "", "^"),
    ]:
        assert reason in decide(it, 1, action, frame=frame)["error"], (action, frame[:20])
    assert it.server.hears_nothing(0.1)
    decide(it, 1, "set message-format=3")
    assert it.server.hear() == canonical(SENT[0].replace("format=0", "format=3"))


def test_a_decision_on_nothing_is_an_error(wire):
    it = wire("delivery-id == 9")
    for number in (2, "1", None, [], True, "all"):
        assert "error" in decide(it, number, "drop")


def test_a_sender_that_goes_on_is_held_up_and_loses_nothing(wire):
    it = wire("delivery-id == 0")
    it.client.say(SENT[0])
    wait_for_held(it)
    octets = parse(SENT[1].replace("m1", noise(10_000).hex())) * 500
    sender = threading.Thread(target=it.client.socket.sendall, args=(octets,), daemon=True)
    sender.start()
    sender.join(1)
    assert sender.is_alive()
    assert 0 < wait_for_held(it)[0]["behind"] < 500_000
    decide(it, 1, "resume")
    size = len(parse(SENT[0])) + len(octets)
    assert digest(receive(it.server.socket, size)) == digest(parse(SENT[0]) + octets)


def test_a_peer_that_hangs_up_is_named_and_its_frame_can_still_go(wire):
    it = wire("delivery-id == 0")
    it.client.say(*SENT[:2])
    it.client.socket.shutdown(1)
    wait_for_held(it)
    while not (held := wait_for_held(it)[0])["hung-up"]:
        pass
    assert held["hung-up"] == ["client"]
    decide(it, 1, "resume")
    assert [it.server.hear() for _ in range(3)] == [*map(canonical, SENT[:2]), None]


def test_a_frame_that_is_lost_with_its_connection_is_reported(wire):
    it = wire("delivery-id == 0")
    it.client.say(SENT[0])
    wait_for_held(it)
    reset(it.client.socket)
    it.relay.settle()
    assert ask(it, do="held")["held"] == []
    told = it.relay.watch.new_lines()
    assert any("transfer, held as 1, was not passed on" in line for line in told), told


def test_who_gives_up_when_is_counted_down(wire):
    timed = SENDING.replace('container-id="s"', 'container-id="s" idle-time-out=30000')
    it = wire("transfer", timed)
    it.client.say(SENT[0])
    [held] = wait_for_held(it)
    [deadline] = held["deadlines"]
    assert (deadline["peer"], deadline["what"]) == ("server", "idle-time-out")
    assert deadline["seconds"] == 30
    assert 20 < deadline["left"] <= 30


def test_heartbeats_are_counted_down_for_whoever_gets_nothing(wire):
    it = wire("basic.publish", IN_A_CHANNEL, v0_9=True)
    it.client.say(*PUBLISHED)
    [held] = wait_for_held(it)
    [deadline] = held["deadlines"]
    assert (deadline["peer"], deadline["what"]) == ("server", "heartbeat")
    assert deadline["seconds"] == 20


def test_a_message_of_several_frames_is_dropped_or_sent_again_as_a_whole(wire):
    it = wire("basic.publish", IN_A_CHANNEL, v0_9=True)
    it.client.say(*PUBLISHED, *PUBLISHED, *PUBLISHED)
    wait_for_held(it)
    decide(it, 1, "drop")
    wait_for_held(it)
    decide(it, 2, "duplicate")
    wait_for_held(it)
    decide(it, 3, "edit", frame='basic.publish[1] routing-key="other"')
    heard = [it.server.hear() for _ in range(9)]
    names = [line.split("[")[0] for line in heard]
    assert names == ["basic.publish", "content-header", "content-body"] * 3
    assert [line for line in heard if "other" in line] == [heard[6]]


def test_secrets_are_neither_listed_nor_unmarked(wire):
    it = wire("connection.start-ok", "", v0_9=True)
    it.play("\n".join(IN_A_CHANNEL.splitlines()[:3]))
    it.client.say(IN_A_CHANNEL.splitlines()[3].partition(": ")[2])
    held = wait_for_held(it)
    assert "secret" not in json.dumps(held)
    assert ask(it, do="frame", number=1)["secret"] is True


def test_frames_are_held_by_a_filter_that_can_be_changed_and_taken_off(wire):
    it = wire("delivery-id == 99")
    assert "^" in ask(it, do="intercept", filter="trnsfer")["error"]
    ask(it, do="intercept", filter="transfer")
    it.client.say(*SENT[:3])
    wait_for_held(it)
    ask(it, do="intercept", filter="delivery-id == 3")
    decide(it, 1, "resume")  # what waits behind it is not held by a filter that is gone
    assert [it.server.hear() for _ in range(3)] == [*map(canonical, SENT[:3])]
    it.client.say(SENT[3])
    wait_for_held(it)
    ask(it, do="intercept", filter="")
    decide(it, 2, "resume")
    assert it.server.hear() == canonical(SENT[3])
    assert [each["name"] for each in ask(it, do="list")["faults"]] == ["stop"]


def test_a_connection_that_was_open_before_is_caught_up_with(relay, server):
    it = Wire(relay, server, holdable=True)
    it.play(SENDING)
    it.client.socket.sendall(parse(SENT[0]) + parse(SENT[1])[:9])  # in the middle of a frame
    assert it.server.hear() == canonical(SENT[0])
    ask(it, do="intercept", filter="transfer")
    while ask(it, do="held")["late"]:
        pass
    it.client.socket.sendall(parse(SENT[1])[9:])
    assert it.server.hear() == canonical(SENT[1])
    it.client.say(*SENT[2:4])
    assert wait_for_held(it)[0]["summary"].startswith("#2 ")
    decide(it, 1, "drop")  # for which the numbers must be known from the beginning
    wait_for_held(it)
    decide(it, 2, "resume")
    assert it.server.hear() == canonical(SENT[3].replace("delivery-id=3", "delivery-id=2"))
    flow = it.client.hear()
    assert "next-incoming-id=1" in flow  # as far as the server itself has counted, and one more
    assert "delivery-count=3 link-credit=8" in flow


def test_what_is_only_kept_passes_unchanged_and_is_learned_without_stopping_others(relay, server):
    it = Wire(relay, server, holdable=True)
    it.play(SENDING)
    octets = parse(SENT[1].replace("m1", noise(100).hex())) * 4000
    it.client.socket.sendall(octets)
    assert digest(receive(it.server.socket, len(octets))) == digest(octets)
    ask(it, do="intercept", filter="flow && from == client")
    late = it.client, it.server
    it.connect()
    started = time.monotonic()
    it.play(SENDING)
    assert time.monotonic() - started < PATIENCE / 2
    it.client, it.server = late
    while ask(it, do="held")["late"]:
        pass
    it.client.say("flow next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9")
    wait_for_held(it)


def test_all_that_waits_is_passed_on_at_once_and_what_comes_later_is_held_again(wire):
    it = wire("transfer")
    it.client.say(*SENT[:3])
    wait_for_held(it)
    decide(it, "all", "resume")
    assert [it.server.hear() for _ in range(3)] == [*map(canonical, SENT[:3])]
    it.client.say(SENT[3])
    assert wait_for_held(it)[0]["number"] == 2


def test_a_proxy_that_ends_passes_on_what_it_holds(wire):
    it = wire("transfer")
    it.client.say(*SENT[:3])
    wait_for_held(it)
    it.relay.watch.stop()
    assert [it.server.hear() for _ in range(3)] == [*map(canonical, SENT[:3])]


def test_nobody_is_blamed_for_what_a_person_did_and_the_recording_says_what_that_was(wire):
    it = wire("transfer")
    it.client.say(*SENT[:2])
    wait_for_held(it)
    decide(it, 1, "edit", frame=SENT[0].replace("delivery-id=0", "delivery-id=9"))
    it.server.hear()
    wait_for_held(it)
    decide(it, 2, "resume")
    it.server.hear()
    it.client.socket.close()
    it.server.socket.close()
    it.relay.settle()
    it.relay.stop()
    comments = set()
    with Pieces(it.relay.path) as pieces:
        for batch in pieces:
            for piece in batch:
                marks = piece.connection.marks
                comments |= {name for _, name, _ in marks.faults} if marks else set()
    assert comments == {"stop"}
    findings = package.lint(it.relay.path).findings
    wrong = [each for each in findings if each.severity == "error"]
    assert wrong
    assert {each.fault for each in wrong} == {"stop"}
