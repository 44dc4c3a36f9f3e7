"""Each recorded client meets its recorded server again, and nobody notices a difference."""

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.protocols.replay_acts import Choices
from amqpscope.protocols.replay_differences import Divergence
from amqpscope.protocols.v1_0.replay_message import request_text, substitute
from amqpscope.replay.outcome import describe, in_order
from amqpscope.stream.marks import COPY
from dissectors.notation import parse
from dissectors.v0_9.framing import decode_unit as decode_0_9
from dissectors.v1_0.framing import decode_unit
from kit import ROOT
from kit.conversation import record
from kit.exchange_v0_9 import script
from kit.rehearsal import conversations, recorded_talk, rehearse

CAPTURES = ROOT / "captures"
NAMES = sorted(
    path.name
    for path in CAPTURES.iterdir()
    if path.name.startswith(("v10_", "v091_")) and path.suffix in (".pcap", ".pcapng", ".gz")
)


UNGRANTED = "v10_uamqp-skrouterd-tls_basic.pcapng"
"""Its client sends without credit, and never gets any."""
ILLEGAL = (
    "v091_pika_chanerr-rabbitmq.pcap",
    "v10_proton-labbroker_filters.pcap",
    "v10_proton-labbroker_received_state.pcap",
    "v10_proton-labbroker_tx.pcap",
    "v10_proton-labbroker_types.pcap",
    "v10_proton-rhea_filters.pcap",
    "v10_proton-rhea_tx.pcap",
    "v10_proton-rhea_types.pcap",
    "v10_protoncpp-qpidd_tx.pcapng",
    "v10_rhea-rabbitmq_types.pcap",
)
"""Parts of these are only played when that is asked for."""
KEYS = {
    "v10_tls-proton-rabbitmq.pcap": "v10_tls-proton-rabbitmq.keys",
    "v091_tls-TLSv1_2-pika-rabbitmq.pcap": "v091_tls-TLSv1_2-pika-rabbitmq.keys",
}


def keys_of(name):
    return [(CAPTURES / KEYS[name]).read_bytes()] if name in KEYS else []


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNGRANTED])
def test_both_sides_of_a_recording_play_it_to_its_end(name):
    for recorded in conversations(CAPTURES / name, *keys_of(name)):
        exact = name in ILLEGAL
        client, server = rehearse(
            recorded, recorded, Choices(secrets=True, exact=exact), Choices(exact=exact)
        )
        assert client.divergences == []
        assert server.divergences == []
        assert client.over
        assert server.over


def test_a_message_that_never_gets_credit_is_reported_with_what_it_waits_for():
    recorded = conversations(CAPTURES / UNGRANTED)[0]
    client, _ = rehearse(recorded, recorded)
    assert [each.kind for each in client.divergences] == ["stuck"]
    assert "waits for credit on link" in client.divergences[0].where


def test_exactly_played_it_is_sent_without_credit():
    recorded = conversations(CAPTURES / UNGRANTED)[0]
    client, server = rehearse(recorded, recorded, Choices(secrets=True, exact=True))
    assert client.divergences == []
    assert server.divergences == []


@pytest.mark.parametrize(
    "text",
    [
        'transfer[0] handle=0 | amqp-value("SharedAccessSignature sr=x&sig=5ecret5ecret&se=1")',
        'transfer[0] handle=0 | application-properties({"password"="5ecret"}) amqp-value("x")',
        'transfer[0] handle=0 | properties(to="$cbs") amqp-value("5ecret")',
    ],
)
def test_a_frame_that_is_shown_does_not_show_its_secrets(text):
    recorded = conversations(CAPTURES / "v10_proton-labbroker_simple.pcap")[0]
    raw = parse(text)
    assert "5ecret" not in recorded.part(0, Choices()).show(raw)
    assert "5ecret" in recorded.part(0, Choices(show_secrets=True)).show(raw)


ONE_BY_ONE = """
> header AMQP 1.0.0
< header AMQP 1.0.0
> open container-id="c"
> begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
> attach[0] name="l" handle=0 role=receiver source=source(address="q") target=target()
> flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0 link-credit=3
< open container-id="s"
< begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
< attach[0] name="l" handle=0 role=sender source=source(address="q") initial-delivery-count=0
< transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" | amqp-value("l")
> disposition[0] role=receiver first=0 settled=true state=accepted()
< transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" | amqp-value("b")
> disposition[0] role=receiver first=1 settled=true state=rejected()
> close
< close
"""


def client_octets(text, *names):
    """What the client of a talk says, up to its first flow, with other words in it."""
    said = b"".join(parse(line[2:]) for line in text.splitlines()[:7] if line.startswith(">"))
    return said.replace(*names) if names else said


def test_a_message_waits_for_the_outcome_that_came_before_it(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    part.receive(client_octets(ONE_BY_ONE), 0.0)
    part.proceed(0.0)
    assert part.messages == [0, 1]
    part.receive(parse(ONE_BY_ONE.splitlines()[11][2:]), 0.0)
    part.proceed(0.0)
    assert part.messages == [0, 2]


def test_it_does_not_wait_for_long_where_the_live_client_answers_later(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    part.receive(client_octets(ONE_BY_ONE), 0.0)
    part.proceed(0.0)
    assert part.hasten()
    part.proceed(0.2)
    assert part.messages == [0, 2]


def test_an_open_is_answered_where_the_live_client_begins_nothing_before_the_answer(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    part.receive(parse("header AMQP 1.0.0") + parse('open container-id="c"'), 0.0)
    part.proceed(0.0)
    part.out.clear()
    assert part.hasten()
    part.proceed(0.2)
    assert decode_unit(bytes(part.out)).name == "open"
    assert not part.hasten()


def test_a_grant_goes_ahead_of_a_message_that_was_recorded_beyond_its_credit(tmp_path):
    grant = "> flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0"
    overrun = [line for line in ONE_BY_ONE.strip().splitlines() if "disposition" not in line]
    overrun = [f"{grant} link-credit=1" if line.startswith(grant) else line for line in overrun]
    overrun.insert(-2, f"{grant} delivery-count=1 link-credit=1")
    part = recorded_talk(tmp_path / "talk.pcapng", "\n".join(overrun)).part(0, Choices())
    server = [parse(line[2:]) for line in overrun if line.startswith("<")]
    part.start()
    for octets in server[:-3]:
        part.receive(octets, 0.0)
        part.proceed(0.0)
    part.out.clear()
    part.receive(server[-3], 0.0)
    part.proceed(0.0)
    assert decode_unit(bytes(part.out)).name == "flow"
    part.receive(server[-2], 0.0)
    part.proceed(0.0)
    assert bytes(part.out).endswith(parse("close"))
    assert part.divergences == []


def test_a_message_that_names_its_link_names_the_live_one(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    part.receive(client_octets(ONE_BY_ONE, b"\xa1\x01l", b"\xa1\x01L"), 0.0)
    part.proceed(0.0)
    assert b"\xa1\x01L" in bytes(part.out)[-20:]


def test_the_error_that_answered_a_frame_which_is_left_out_is_not_waited_for():
    recorded = conversations(CAPTURES / "v091_pika_chanerr-rabbitmq.pcap")[0]
    client, server = rehearse(recorded, recorded)
    assert client.notes == ["frame 21 (basic.ack) is not legal and left out"]
    assert client.divergences == []
    assert [each.frame for each in server.divergences] == [21, 24]


def test_what_answers_octets_that_are_missing_is_not_played():
    holed = CAPTURES / "accused" / "R6-websocket-one-packet-lost-FLW-017.pcap"
    recorded = conversations(holed)[0]
    assert recorded.problem == "octets of the server are missing before frame 9"
    client, server = rehearse(recorded, recorded)
    assert client.divergences == server.divergences == []


def test_what_did_not_come_is_reported_in_its_place():
    late, early = Divergence("changed", 9, "", "", ""), Divergence("missing", 4, "", "", "")
    extra = Divergence("extra", 0, "", "", "")
    assert in_order([late, extra, early]) == [early, late, extra]


def test_after_the_close_of_the_live_peer_nothing_but_its_answer_is_sent(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(0, Choices())
    part.start()
    part.out.clear()
    forced = 'close error=error(condition=:amqp:connection:forced description="no")'
    said = [parse(line[2:]) for line in ONE_BY_ONE.splitlines() if line.startswith("< ")][:2]
    part.receive(b"".join(said) + parse(forced), 0.0)
    part.proceed(0.0)
    assert bytes(part.out).endswith(parse("close"))
    assert b"\xa1\x01q" not in part.out  # the attach
    assert [(each.kind, each.where) for each in part.divergences] == [("changed", "close")]


def test_a_peer_that_ends_tcp_is_one_difference(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    part.receive(client_octets(ONE_BY_ONE), 0.0)
    part.proceed(0.0)
    part.lose_peer()
    (only,) = part.divergences
    assert (only.frame, only.seen) == (11, "the client ends TCP")
    assert only.where.endswith(", and 1 behind it")


def test_of_a_proxy_with_faults_the_side_of_the_client_is_played(tmp_path):
    with (tmp_path / "both.pcapng").open("wb") as file:
        writer = CaptureWriter(file)
        for port in (50000, 50001):
            talk = ConnectionWriter(writer, ("127.0.0.1", port), ("127.0.0.1", 5672))
            talk.open(0)
            writer.comment = COPY if port == 50001 else ""
            talk.data(0, 1, b"AMQP\0\1\0\0")
    assert [each.number for each in conversations(tmp_path / "both.pcapng")] == [1]


def test_what_was_in_flight_when_we_closed_is_no_difference(tmp_path):
    lines = [line for line in ONE_BY_ONE.strip().splitlines() if "disposition" not in line]
    quiet = "\n".join(line for line in lines if "transfer" not in line)
    part = recorded_talk(tmp_path / "talk.pcapng", quiet).part(0, Choices())
    part.start()
    for line in lines:
        part.proceed(0.0)
        if line.startswith("<"):
            part.receive(parse(line[2:]), 0.0)
    assert part.messages == [0, 2]
    assert part.divergences == []


def test_a_message_fills_the_frames_that_the_live_peer_takes_and_not_more(tmp_path):
    text = ONE_BY_ONE.replace('amqp-value("l")', f'amqp-value("{"x" * 3000}")')
    part = recorded_talk(tmp_path / "talk.pcapng", text).part(1, Choices())
    asked = parse('open container-id="c"'), parse('open container-id="c" max-frame-size=1024')
    part.receive(client_octets(text, *asked), 0.0)
    part.proceed(0.0)
    assert part.notes == []
    sizes = [size for size in sizes_of(bytes(part.out)) if size > 500]
    assert sizes[:2] == [1024, 1024]
    assert max(sizes) == 1024


def sizes_of(octets):
    """The sizes of the frames behind a header."""
    at = 8
    while at < len(octets):
        size = int.from_bytes(octets[at : at + 4])
        yield size
        at += size


@pytest.mark.parametrize(
    ("recorded", "live"),
    [("discharge(txn-id=b\"1\" fail=false)", "discharge(txn-id=b\"1\" fail=true)"),
     ("declare()", "discharge(txn-id=b\"1\")")],
)  # fmt: skip
def test_a_request_to_a_coordinator_is_compared(recorded, live):
    one, other = (
        parse(f"transfer[0] handle=0 | header() amqp-value({each})") for each in (recorded, live)
    )
    start = decode_unit(one).payload, decode_unit(other).payload
    assert request_text(one[start[0] :]) != request_text(other[start[1] :])
    assert request_text(one[start[0] :]).startswith(recorded.partition("(")[0])


ASK_AND_REPLY = """
> header AMQP 1.0.0
< header AMQP 1.0.0
> open container-id="c"
< open container-id="s"
> begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
< begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
> attach[0] name="a" handle=0 role=sender target=target(address="q") initial-delivery-count=0
< attach[0] name="a" handle=0 role=receiver target=target(address="q")
< flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0 link-credit=9
> attach[0] name="r" handle=1 role=receiver source=source(address="r")
< attach[0] name="r" handle=1 role=sender source=source(address="r") initial-delivery-count=0
> flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=1 link-credit=9
> transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("one")
< transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("ONE")
> transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" settled=true | amqp-value("two")
< transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" settled=true | amqp-value("TWO")
> close
< close
"""
ASK_AND_REPLY_0_9 = """
client: queue.declare[1] queue="r"
server: queue.declare-ok[1] queue="r"
client: basic.consume[1] queue="r" consumer-tag="r" no-ack=true
server: basic.consume-ok[1] consumer-tag="r"
client: basic.publish[1] routing-key="q"
client: content-header[1] class=basic body-size=3
client: content-body[1] "one"
server: basic.deliver[1] consumer-tag="r" delivery-tag=1 routing-key="r"
server: content-header[1] class=basic body-size=3
server: content-body[1] "ONE"
client: connection.close[0] reply-code=200
server: connection.close-ok[0]
"""


def wait_in_vain(part):
    """Nothing comes for as long as a peer may take that thinks."""
    for now in (1.0, 2.0, 3.0):
        part.loosen()
        part.proceed(now)


@pytest.mark.parametrize("side", [0, 1])
def test_no_message_goes_ahead_of_one_that_it_may_answer(side, tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ASK_AND_REPLY).part(side, Choices())
    part.start()
    for line in ASK_AND_REPLY.strip().splitlines()[: 13 if side == 0 else 12]:
        part.proceed(0.0)
        if line[0] == "><"[1 - side]:
            part.receive(parse(line[2:]), 0.0)
    part.proceed(0.0)
    wait_in_vain(part)
    assert part.messages[side] == (1 if side == 0 else 0)
    assert part.divergences == []


def test_no_delivery_goes_ahead_of_the_publish_that_it_may_answer(tmp_path):
    said = script(ASK_AND_REPLY_0_9, "channel")
    with (tmp_path / "talk.pcapng").open("wb") as file:
        record(
            said, ConnectionWriter(CaptureWriter(file), ("127.0.0.1", 50000), ("127.0.0.1", 5672))
        )
    part = conversations(tmp_path / "talk.pcapng")[0].part(1, Choices())
    part.start()
    raws = [each.raw for each in said if each.sender == 0 and each.raw]
    for raw in raws[:-4]:
        part.receive(raw, 0.0)
        part.proceed(0.0)
    wait_in_vain(part)
    assert part.messages == [0, 0]
    for raw in raws[-4:-1]:
        part.receive(raw, 3.0)
        part.proceed(3.0)
    assert part.messages == [1, 1]


def test_a_message_that_is_passed_on_waits_for_its_source_alone(tmp_path):
    echoed = ASK_AND_REPLY.replace('"ONE"', '"one"').replace('"TWO"', '"two"')
    lines = echoed.strip().splitlines()
    lines[13], lines[14] = lines[14], lines[13]  # both were sent before the first came back
    part = recorded_talk(tmp_path / "talk.pcapng", "\n".join(lines)).part(1, Choices())
    part.start()
    for line in lines[:13]:
        part.proceed(0.0)
        if line[0] == ">":
            part.receive(parse(line[2:]), 0.0)
    part.proceed(0.0)
    assert part.messages == [1, 0]
    wait_in_vain(part)
    assert part.messages == [1, 1]


DRAINED = """
> flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0 link-credit=9 drain=true
> disposition[0] role=receiver first=0 settled=true state=accepted()
< end[0] error=error(condition=:amqp:internal-error)
> close
< close
"""


def test_a_drain_is_not_answered_where_the_recorded_session_ended_in_an_error(tmp_path):
    lines = ONE_BY_ONE.strip().splitlines()[:10] + DRAINED.strip().splitlines()
    part = recorded_talk(tmp_path / "talk.pcapng", "\n".join(lines)).part(1, Choices())
    part.receive(client_octets(ONE_BY_ONE) + parse(lines[10][2:]), 0.0)
    part.proceed(0.0)
    assert part.messages == [0, 1]
    part.out.clear()
    part.proceed(0.0)
    assert not part.out
    part.receive(parse(lines[11][2:]), 0.0)
    part.proceed(0.0)
    assert decode_unit(bytes(part.out)).name == "end"


def test_an_addition_is_reported_with_the_frame_that_it_came_before(tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", ONE_BY_ONE).part(1, Choices())
    more = parse('attach[0] name="x" handle=1 role=receiver source=source(address="x")')
    part.receive(client_octets(ONE_BY_ONE) + more, 0.0)
    (only,) = part.divergences
    assert (only.kind, only.frame) == ("extra", 11)
    assert describe("a.pcap", only)[0] == (
        "a.pcap: before frame 11, attach of link 'x': not in the recording"
    )


ACKED_IN_PART = """
client: queue.declare[1] queue="r"
server: queue.declare-ok[1] queue="r"
client: basic.consume[1] queue="r" consumer-tag="r"
server: basic.consume-ok[1] consumer-tag="r"
server: basic.deliver[1] consumer-tag="r" delivery-tag=1 routing-key="r"
server: content-header[1] class=basic body-size=0
server: basic.deliver[1] consumer-tag="r" delivery-tag=2 routing-key="r"
server: content-header[1] class=basic body-size=0
client: basic.ack[1] delivery-tag=2 multiple=true
client: connection.close[0] reply-code=200
server: connection.close-ok[0]
client: channel.close-ok[1]
"""


def replayed_0_9(path, text):
    """The server of a recorded talk, and what its client says, frame by frame."""
    said = script(text, "channel")
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        record(said, ConnectionWriter(writer, ("127.0.0.1", 50000), ("127.0.0.1", 5672)))
    raws = [each.raw for each in said if each.sender == 0 and each.raw]
    return conversations(path)[0].part(1, Choices()), raws


def test_an_acknowledgement_of_some_messages_alone_is_reported_so(tmp_path):
    part, raws = replayed_0_9(tmp_path / "talk.pcapng", ACKED_IN_PART)
    raws[-3] = parse("basic.ack[1] delivery-tag=2", "0-9-1-rabbit")
    for raw in raws[:-1]:
        part.receive(raw, 0.0)
        part.proceed(0.0)
    assert [each.where for each in part.divergences] == [
        "basic.ack on channel 1 for 1 of 2 messages"
    ]


def test_what_a_client_says_after_its_close_is_not_waited_for(tmp_path):
    part, raws = replayed_0_9(tmp_path / "talk.pcapng", ACKED_IN_PART)
    for raw in raws[:-1]:
        part.receive(raw, 0.0)
        part.proceed(0.0)
    assert part.over == "fin"
    assert part.divergences == []


def test_a_message_with_a_damaged_header_is_shown_without_it(tmp_path):
    part, raws = replayed_0_9(tmp_path / "talk.pcapng", ASK_AND_REPLY_0_9)
    publish, header = raws[-4], raws[-3]
    damaged = decode_0_9(header[:7] + b"\0\x63" + header[9:], part.dialect)
    assert damaged.content is not None
    assert part.show_message(publish, damaged, b"one") == " | ".join(
        ['basic.publish[1] exchange="" routing-key="q"', 'content-body[1] "one"']
    )


def test_a_property_may_name_a_link_that_is_called_otherwise_now(tmp_path):
    one = 'application-properties({"associated-link-name"="r"}) amqp-value("one")'
    text = ASK_AND_REPLY.replace('amqp-value("one")', one)
    part = recorded_talk(tmp_path / "talk.pcapng", text).part(1, Choices())
    part.start()
    for line in text.strip().splitlines()[:13]:
        if line[0] == ">":
            live = line[2:].replace('name="r"', 'name="R"').replace('name"="r"', 'name"="R"')
            part.receive(parse(live), 0.0)
            part.proceed(0.0)
    assert part.messages[0] == 1
    assert part.divergences == []


def test_a_property_names_a_node_as_it_is_called_now():
    text = 'transfer[0] handle=0 | application-properties({{"to"="{}"}}) amqp-value("x")'
    recorded, live = (parse(text.format(each)) for each in ("dyn-1", "dyn-2"))
    start = decode_unit(recorded).payload
    assert substitute(recorded[start:], {"dyn-1": "dyn-2"}, {}) == live[start:]
