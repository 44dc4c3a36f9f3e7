"""Faults on frames of AMQP 1.0 between two sockets: each does what it says, where it says."""

import socket
import struct

import pytest

from amqpscope.proxy.clock import Limits
from dissectors.notation import parse, write
from kit.proxy.relaying import was_reset
from kit.proxy.wire import IN_A_CHANNEL, OPENING, SENDING, Wire, fault, measured

SENT = [
    f'transfer[0] handle=3 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=false '
    f'| amqp-value("m{n}")'
    for n in range(4)
]
TRANSFER = "transfer && from == client"


@pytest.fixture
def wire(relay, server):
    """Start a relay with faults, and connect two peers through it."""

    def start(*faults, opening=SENDING, **settings):
        made = Wire(relay, server, *faults, **settings)
        made.play(opening)
        return made

    return start


def heard(end, count):
    return [end.hear() for _ in range(count)]


def canonical(line):
    return write(parse(line))


def test_a_delay_holds_a_frame_and_what_follows_it_in_order(wire):
    it = wire(fault("delivery-id == 1", "delay 500ms"))
    it.client.say(*SENT[:3])
    assert it.server.hear() == canonical(SENT[0])
    received, seconds = measured(it.server.hear)
    assert received == canonical(SENT[1])
    assert seconds > 0.4
    assert it.server.hear() == canonical(SENT[2])


def test_a_delay_holds_one_direction_alone(wire):
    it = wire(fault(TRANSFER, "delay 1s"))
    it.client.say(SENT[0])
    it.server.say("empty")
    received, seconds = measured(it.client.hear)
    assert received == "empty"
    assert seconds < 0.9


def test_a_connection_without_tls_is_not_asked_for_a_handshake(wire):
    it = wire(fault("delivery-id == 99", "drop"), limits=Limits(handshake=0.2))
    assert it.server.hears_nothing(0.6)
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])


def test_a_dropped_delivery_leaves_no_hole_in_the_numbers(wire):
    it = wire(fault("delivery-id == 1", "drop"))
    it.client.say(*SENT[:3])
    assert it.server.hear() == canonical(SENT[0])
    assert it.server.hear() == canonical(SENT[2].replace("delivery-id=2", "delivery-id=1"))
    # Its receiver would never renew the credit that it does not know was used.
    flow = it.client.hear()
    assert "next-incoming-id=1" in flow
    assert "handle=5 delivery-count=2 link-credit=9" in flow
    it.server.say("disposition[0] role=receiver first=0 last=1 settled=true state=accepted()")
    assert heard(it.client, 2) == [
        "disposition[0] role=receiver first=0 last=0 settled=true state=accepted()",
        "disposition[0] role=receiver first=2 last=2 settled=true state=accepted()",
    ]


def test_counters_of_flows_are_translated_behind_a_dropped_delivery(wire):
    it = wire(fault("delivery-id == 0", "drop"))
    it.client.say(*SENT[:2])
    it.server.hear()
    it.client.hear()
    it.server.say(
        "flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0 outgoing-window=100 "
        "handle=5 delivery-count=1 link-credit=10"
    )
    assert "next-incoming-id=2" in (flow := it.client.hear())
    assert "delivery-count=2 link-credit=10" in flow
    it.client.say(
        "flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=2 outgoing-window=100 "
        "handle=3 delivery-count=2"
    )
    assert "next-outgoing-id=1" in (flow := it.server.hear())
    assert "delivery-count=1" in flow


def test_a_duplicate_is_a_delivery_of_its_own_whose_answer_the_sender_never_sees(wire):
    it = wire(fault("delivery-id == 0", "duplicate"))
    it.client.say(*SENT[:2])
    first, copy, second = heard(it.server, 3)
    assert first == canonical(SENT[0])
    assert "delivery-id=1" in copy
    assert '"m0"' in copy
    assert "delivery-id=2" in second
    assert '"m1"' in second
    assert "link-credit=8" in it.client.hear()
    it.server.say("disposition[0] role=receiver first=0 last=2 settled=true state=accepted()")
    assert it.client.hear().startswith("disposition[0] role=receiver first=0 last=1 ")


def test_fields_are_set_and_the_rest_of_a_frame_is_kept(wire):
    it = wire(fault(TRANSFER, "set settled=true message-format=7", times=1))
    it.client.say(*SENT[:2])
    expected = SENT[0].replace("settled=false", "settled=true")
    assert it.server.hear() == canonical(expected.replace("format=0", "format=7"))
    assert it.server.hear() == canonical(SENT[1])


def test_a_state_is_set_by_its_name(wire):
    it = wire(fault("disposition", "set state=released"))
    it.client.say(SENT[0])
    it.server.hear()
    it.server.say("disposition[0] role=receiver first=0 settled=true state=accepted()")
    expected = "disposition[0] role=receiver first=0 settled=true state=released()"
    assert it.client.hear() == expected


def test_a_field_that_the_frame_does_not_have_is_reported_and_the_frame_passes(wire):
    it = wire(fault(TRANSFER, "set link-credit=0"))
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])
    assert any(
        "not applied to a transfer: no field link-credit" in s for s in it.relay.watch.new_lines()
    )


def test_a_frame_is_replaced_on_its_own_channel_and_handle(wire):
    it = wire(fault("delivery-id == 0", 'replace transfer delivery-tag=b"x" | amqp-value("new")'))
    it.client.say(*SENT[:2])
    replaced = it.server.hear()
    assert replaced.startswith('transfer[0] handle=3 delivery-id=0 delivery-tag=b"x"')
    assert '"new"' in replaced
    assert it.server.hear() == canonical(SENT[1])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_frame_is_injected_beside_another(wire, when):
    it = wire(fault("delivery-id == 0", f"inject empty when={when}"))
    it.client.say(SENT[0])
    expected = ["empty", canonical(SENT[0])]
    assert heard(it.server, 2) == (expected if when == "before" else expected[::-1])


def test_an_injected_message_says_what_every_client_needs_to_read_it(wire):
    it = wire(fault("delivery-id == 0", 'inject transfer | amqp-value("new")'))
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])
    injected = it.server.hear()
    for field in ("handle=3", "delivery-id=1", 'delivery-tag=b"amqpscope-1"', "message-format=0"):
        assert field in injected


@pytest.mark.parametrize("when", ["before", "after"])
def test_as_many_messages_are_injected_as_the_receiver_takes_and_no_number_is_left_out(wire, when):
    action = "inject " + "\n".join(['transfer | amqp-value("new")'] * 12) + f" when={when}"
    it = wire(fault("delivery-id == 0", action))
    it.client.say(SENT[0])
    taken = heard(it.server, 10 if when == "after" else 11)
    assert [f"delivery-id={number} " in frame for number, frame in enumerate(taken)].count(
        False
    ) == 0
    assert any("takes no more messages now" in line for line in it.relay.watch.new_lines())


def test_a_frame_is_injected_towards_the_sender_with_the_handle_of_its_peer(wire):
    action = "inject detach closed=true to=client"
    it = wire(fault("delivery-id == 0", action))
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])
    assert it.client.hear() == "detach[0] handle=5 closed=true"


@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("accept", "accepted()"),
        ("release", "released()"),
        ("modify delivery-failed=true", "modified(delivery-failed=true)"),
        (
            'reject condition=amqp:nope description="not today"',
            'rejected(error=error(condition=:amqp:nope description="not today"))',
        ),
    ],
)
def test_a_message_is_answered_in_its_receivers_place(wire, action, state):
    it = wire(fault("delivery-id == 0", action))
    it.client.say(*SENT[:2])
    assert it.client.hear() == (
        f"disposition[0] role=receiver first=0 last=0 settled=true state={state}"
    )
    assert "link-credit" in it.client.hear()
    assert it.server.hear() == canonical(SENT[1].replace("delivery-id=1", "delivery-id=0"))


def test_who_asks_for_a_message_that_is_refused_hears_that_there_is_none(wire):
    got = 'client: basic.get[1] queue="q"\n'
    it = wire(fault("basic.get-ok", "reject"), opening=IN_A_CHANNEL + got, v0_9=True)
    it.server.say(
        'basic.get-ok[1] delivery-tag=1 exchange="" routing-key="q" message-count=0',
        "content-header[1] class=basic body-size=2",
        'content-body[1] "hi"',
    )
    assert it.client.hear() == "basic.get-empty[1]"
    assert it.server.hear().startswith("basic.nack[1] delivery-tag=1")


def test_a_refusal_takes_all_frames_of_a_delivery(wire):
    it = wire(fault(TRANSFER, "release", times=1))
    first = SENT[0].replace("settled=false", "settled=false more=true")
    it.client.say(first, 'transfer[0] handle=3 more=true | data(b"x")')
    assert it.client.hears_nothing()
    it.client.say('transfer[0] handle=3 | data(b"y")', SENT[1])
    assert "state=released()" in it.client.hear()
    assert '"m1"' in it.server.hear()


def test_what_passed_of_a_refused_delivery_is_aborted(wire):
    it = wire(fault("transfer && !more && from == client", "release", times=1))
    first = SENT[0].replace("settled=false", "settled=false more=true")
    it.client.say(first, 'transfer[0] handle=3 | data(b"y")', SENT[1])
    assert it.server.hear() == canonical(first)
    assert "aborted=true" in it.server.hear()
    assert it.server.hear() == canonical(SENT[1])
    assert "state=released()" in it.client.hear()


def test_a_link_is_detached_for_both_peers_and_their_answers_are_not_passed(wire):
    it = wire(fault("delivery-id == 0", "detach condition=amqp:gone"))
    it.client.say(*SENT[:2])
    assert it.server.hear() == canonical(SENT[0])
    # A broker that is told of an error may give up more than the link.
    assert it.server.hear() == "detach[0] handle=3 closed=true"
    assert it.client.hear().startswith(
        "detach[0] handle=5 closed=true error=error(condition=:amqp:"
    )
    # What was under way when the client heard of it goes nowhere.
    assert it.server.hears_nothing()
    attach, answer = [line.partition(": ")[2] for line in SENDING.splitlines()[-3:-1]]
    it.client.say("detach[0] handle=3 closed=true", attach)
    # The server still has a link of that name.
    assert it.server.hears_nothing()
    it.server.say("detach[0] handle=5 closed=true")
    assert it.server.hear() == canonical(attach)
    it.server.say(answer)
    assert it.client.hear() == canonical(answer)
    it.client.say(SENT[2])
    assert it.server.hear() == canonical(SENT[2].replace("delivery-id=2", "delivery-id=1"))


def test_a_link_that_is_half_attached_is_detached_when_it_is_whole(wire):
    it = wire(fault("attach && from == client", "detach"), opening=OPENING)
    attach = SENDING.splitlines()[-3:-1]
    it.play("\n".join(attach))
    assert it.client.hear().startswith("detach[0] handle=5")
    assert it.server.hear().startswith("detach[0] handle=3")


def test_a_session_is_ended_for_both_peers(wire):
    it = wire(fault("delivery-id == 0", "end"))
    it.client.say(SENT[0])
    it.server.hear()
    assert it.client.hear().startswith("end[0] error=")
    assert it.server.hear() == "end[0]"
    it.client.say(SENT[1], "end")
    it.server.say("end")
    it.play("\n".join(OPENING.splitlines()[-2:]))


def test_a_connection_is_closed_for_both_peers(wire):
    it = wire(fault("delivery-id == 0", "close condition=amqp:connection:forced"))
    it.client.say(SENT[0])
    it.server.hear()
    assert it.client.hear().startswith("close error=error(condition=:amqp:connection:forced")
    assert it.server.hear() == "close"
    it.client.say("close")
    it.server.say("close")
    assert it.client.hear() is None
    assert it.server.hear() is None


def test_a_stall_lets_nothing_more_through_in_one_direction(wire):
    it = wire(fault("delivery-id == 1", "stall"))
    it.client.say(*SENT[:3])
    assert it.server.hear() == canonical(SENT[0])
    assert it.server.hears_nothing()
    it.server.say("empty")
    assert it.client.hear() == "empty"


def test_a_stall_ends_after_its_time(wire):
    it = wire(fault("delivery-id == 0", "stall 400ms"))
    it.client.say(*SENT[:2])
    received, seconds = measured(lambda: heard(it.server, 2))
    assert received == [canonical(line) for line in SENT[:2]]
    assert seconds > 0.3


def test_a_reset_reaches_both_peers(wire):
    it = wire(fault("delivery-id == 0", "reset"))
    it.client.say(SENT[0])
    assert was_reset(it.client.socket)
    assert was_reset(it.server.socket)


def test_a_disconnect_ends_both_directions_in_order(wire):
    it = wire(fault("delivery-id == 1", "disconnect"))
    it.client.say(*SENT[:3])
    assert it.server.hear() == canonical(SENT[0])
    assert it.server.hear() is None
    assert it.client.hear() is None


def test_an_upstream_that_resets_what_a_fault_has_ended_is_not_reported_for_it(wire):
    it = wire(fault("delivery-id == 0", "disconnect"))
    it.client.say(SENT[0])
    assert it.server.hear() is None
    it.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    it.server.socket.close()
    it.client.socket.close()
    it.relay.settle()
    assert not any("has reset" in line for line in it.relay.watch.new_lines())


def test_a_truncated_frame_is_the_last_that_arrives(wire):
    it = wire(fault("delivery-id == 0", "truncate"))
    it.client.say(*SENT[:2])
    whole, got = parse(SENT[0]), b""
    while octets := it.server.socket.recv(1 << 16):
        got += octets
    assert got == whole[: len(whole) // 2]
    assert it.client.hear() is None


def test_octets_are_corrupted_in_the_same_way_for_the_same_seed(wire):
    def corrupted(seed):
        it = wire(
            fault("delivery-id == 0", "corrupt octets=3", seed=seed), name=f"{len(runs)}.pcapng"
        )
        it.client.say(SENT[0])
        raw, got = parse(SENT[0]), b""
        while len(got) < len(raw):
            got += it.server.socket.recv(1 << 16)
        assert sum(a != b for a, b in zip(raw, got, strict=True)) == 3
        runs.append(got)

    runs = []
    for seed in (1, 1, 2):
        corrupted(seed)
    assert runs[0] == runs[1] != runs[2]


def test_octets_are_written_in_slices_from_a_frame_on(wire):
    it = wire(fault("delivery-id == 0", "slice 5 pause=20ms"))
    it.client.say(*SENT[:2])
    whole = b"".join(map(parse, SENT[:2]))
    first = it.server.socket.recv(1 << 16)
    assert len(first) == 5
    got, seconds = measured(lambda: [first, *iter_octets(it.server, len(whole) - 5)])
    assert b"".join(got) == whole
    assert seconds > len(whole) // 5 * 0.01


def iter_octets(end, size):
    while size:
        octets = end.socket.recv(1 << 16)
        size -= len(octets)
        yield octets


def test_octets_are_written_at_a_rate_from_a_frame_on(wire):
    it = wire(fault("delivery-id == 0", "rate 1kB/s"))
    body = "x" * 500
    it.client.say(SENT[0].replace("m0", body))
    received, seconds = measured(it.server.hear)
    assert body in received
    assert seconds > 0.3


def test_a_fault_acts_on_the_matches_that_its_counts_say(wire):
    it = wire(fault(TRANSFER, "set message-format=9", skip=1, every=2, times=1))
    it.client.say(*SENT)
    formats = ["message-format=9" in line for line in heard(it.server, 4)]
    # The first is skipped; of those left the second is acted on, and then no more.
    assert formats == [False, False, True, False]


def test_the_first_fault_that_acts_wins(wire):
    it = wire(
        fault(TRANSFER, "set message-format=8", times=1),
        fault(TRANSFER, "set message-format=9"),
    )
    it.client.say(*SENT[:2])
    assert "message-format=8" in it.server.hear()
    assert "message-format=9" in it.server.hear()


def test_a_fault_of_one_connection_leaves_the_others_alone(wire):
    it = wire(fault(TRANSFER, "drop", connection=2))
    it.client.say(SENT[0])
    assert it.server.hear() == canonical(SENT[0])
    it.connect()
    it.play(SENDING)
    it.client.say(*SENT[:2])
    assert it.server.hears_nothing()


def test_octets_that_are_no_frames_pass_untouched(wire):
    it = wire(fault("frame", "drop"), opening="")
    octets = bytes(range(256)) * 40
    it.client.socket.sendall(octets)
    assert b"".join(iter_octets(it.server, len(octets))) == octets
