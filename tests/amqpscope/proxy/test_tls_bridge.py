import ssl

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.sniff import IN_BAND_TLS_HEADER
from amqpscope.proxy.tls import TlsError
from amqpscope.proxy.tls_bridge import UPSTREAM, Crossing
from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy
from amqpscope.stream.types import CLIENT
from kit.proxy.tls_peers import NOW, VERSIONS, Certified, Peer, Plain, client, converse, server

HEADER = b"AMQP\x00\x01\x00\x00"
QUESTION, ANSWER = HEADER + b"question" * 9000, HEADER + b"answer" * 9000
TALK = [(CLIENT, QUESTION), (UPSTREAM, ANSWER)]


@pytest.fixture
def broker(tmp_path):
    return Certified(tmp_path, "broker.example")


@pytest.fixture
def crossing(config, broker):
    """Make a crossing whose upstream is broker.example, connected."""

    def make(**options):
        options = {"upstream_host": "broker.example", "upstream_port": 5671} | options
        if options.get("upstream_tls") or options.get("in_band"):
            options = {"cafile": str(broker.ca)} | options
        made = Crossing(TlsPolicy(TlsOptions(**options)), "127.0.0.1")
        made.upstream_connected()
        return made

    return make


def local_client(config, name="localhost", **how):
    """A client that trusts the local CA."""
    return Peer(client(load_or_make_ca(config, NOW).path, **how), name)


def in_band(peer, *, asks):
    """Let a peer begin TLS by AMQP's header."""
    peer.expected = IN_BAND_TLS_HEADER
    if asks:
        peer.clear = IN_BAND_TLS_HEADER
    return peer


@pytest.mark.parametrize("size", [None, 1000, 1])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sides", ["tls-plain", "plain-tls", "tls-tls"])
def test_both_directions_come_through_unchanged(crossing, config, broker, sides, version, size):
    from_client, to_upstream = sides.split("-")
    near = local_client(config, version=version) if from_client == "tls" else Plain()
    far = Peer(server(broker, version)) if to_upstream == "tls" else Plain()
    made = crossing(upstream_tls=to_upstream == "tls")
    question, answer = (QUESTION, ANSWER) if size != 1 else (HEADER + b"q", HEADER + b"a")
    near.say(question)
    recorded = converse(made, near, far, size)
    far.say(answer)
    recorded += converse(made, near, far, size)
    assert (far.plain, near.plain) == (question, answer)
    assert recorded == [(CLIENT, question), (UPSTREAM, answer)]
    assert made.settled
    assert not made.transparent
    for side in (CLIENT, UPSTREAM):
        assert (made.queued_octets(side), made.held_octets(side)) == (0, 0)


@pytest.mark.parametrize(
    "octets", [HEADER, b"AMQP\x02\x01\x00\x01", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x04", b"\x80\x2e"]
)
@pytest.mark.parametrize("size", [None, 1])
def test_plain_to_plain_steps_aside(crossing, octets, size):
    made, near, far = crossing(), Plain(), Plain()
    near.say(octets)
    assert converse(made, near, far, size) == [(CLIENT, octets)]
    assert far.plain == octets
    assert made.transparent
    assert made.describe() == ""


def test_a_server_that_speaks_first_steps_aside(crossing):
    made, near, far = crossing(), Plain(), Plain()
    far.say(b"220 hello")
    assert converse(made, near, far) == [(UPSTREAM, b"220 hello")]
    assert made.transparent


@pytest.mark.parametrize("begin", [b"A", b"AMQP\x02", b"\x16\x03\x01"])
def test_a_beginning_that_stays_unclear_is_passed_on_at_its_end(crossing, begin):
    made = crossing()
    assert made.feed(CLIENT, begin) == b""
    assert made.held_octets(CLIENT) == len(begin)
    assert made.end(CLIENT) == begin
    assert made.eof(CLIENT)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [None, 1])
def test_in_band_tls_is_asked_for_upstream_too(crossing, config, broker, version, size):
    near = in_band(local_client(config, version=version), asks=True)
    far = in_band(Peer(server(broker, version)), asks=False)
    far.clear = b""
    made = crossing(cafile=str(broker.ca))
    near.say(HEADER)

    # A server answers the header once it has heard it.
    def answer(data, turn=far.turn):
        out = turn(data)
        return (IN_BAND_TLS_HEADER if data.startswith(IN_BAND_TLS_HEADER[:1]) else b"") + out

    far.turn = answer
    recorded = converse(made, near, far, None if size is None else 8)
    assert recorded == [
        (CLIENT, IN_BAND_TLS_HEADER),
        (UPSTREAM, IN_BAND_TLS_HEADER),
        (CLIENT, HEADER),
    ]
    assert far.plain == HEADER
    far.say(ANSWER)
    assert converse(made, near, far) == [(UPSTREAM, ANSWER)]
    assert near.plain == ANSWER


def test_in_band_tls_with_the_hello_right_behind_the_header(crossing, config, broker):
    """The client does not wait for the answer: its ClientHello is held until upstream agrees."""
    near = local_client(config)
    made = crossing(cafile=str(broker.ca))
    assert made.feed(CLIENT, IN_BAND_TLS_HEADER + near.turn(b"")) == IN_BAND_TLS_HEADER
    made.send(UPSTREAM, IN_BAND_TLS_HEADER)
    assert made.outgoing(UPSTREAM) == IN_BAND_TLS_HEADER
    assert not made.wants(CLIENT)
    assert made.feed(UPSTREAM, IN_BAND_TLS_HEADER) == IN_BAND_TLS_HEADER
    made.send(CLIENT, IN_BAND_TLS_HEADER)
    near.expected = IN_BAND_TLS_HEADER
    near.say(HEADER)
    far = Peer(server(broker))
    assert converse(made, near, far) == [(CLIENT, HEADER)]
    assert far.plain == HEADER


@pytest.mark.parametrize("size", [8, 1])
def test_in_band_tls_that_upstream_refuses_is_the_clients_affair(crossing, size):
    made, near, far = crossing(), Plain(), Plain()
    near.say(IN_BAND_TLS_HEADER)
    far.say(HEADER)
    recorded = converse(made, near, far, size)
    assert recorded == [(CLIENT, IN_BAND_TLS_HEADER), (UPSTREAM, HEADER)]
    assert (far.plain, near.plain) == (IN_BAND_TLS_HEADER, HEADER)
    assert made.transparent


def test_in_band_tls_is_answered_where_upstream_has_tls_anyway(crossing, config, broker):
    near = in_band(local_client(config), asks=True)
    far = Peer(server(broker))
    made = crossing(upstream_tls=True)
    near.say(HEADER)
    assert converse(made, near, far) == [(CLIENT, HEADER)]
    assert far.plain == HEADER


def test_a_client_that_asked_for_tls_must_begin_it(crossing):
    made = crossing(upstream_tls=True)
    made.feed(CLIENT, IN_BAND_TLS_HEADER)
    with pytest.raises(TlsError, match="the client asked for TLS and continues without it"):
        made.feed(CLIENT, HEADER)


@pytest.mark.parametrize("near", ["plain", "tls"])
def test_upstream_is_asked_in_band_when_the_user_says_so(crossing, config, broker, near):
    near = local_client(config) if near == "tls" else Plain()
    near.say(HEADER)
    made = crossing(in_band=True)
    assert converse(made, near, Plain()) == ([(CLIENT, HEADER)] if isinstance(near, Plain) else [])
    far = Peer(server(broker))
    far.clear = IN_BAND_TLS_HEADER
    recorded = converse(made, near, far)
    assert far.plain == HEADER
    assert recorded == ([] if isinstance(near, Plain) else [(CLIENT, HEADER)])


@pytest.mark.parametrize("answer", [HEADER, b"HTTP", None])
def test_upstream_that_does_not_take_the_header_gets_nothing_in_the_clear(crossing, answer):
    made = crossing(in_band=True)
    made.send(UPSTREAM, made.feed(CLIENT, HEADER + b"secret"))
    assert made.outgoing(UPSTREAM) == IN_BAND_TLS_HEADER
    with pytest.raises(TlsError, match="does not take AMQP's TLS header") as caught:
        made.end(UPSTREAM) if answer is None else made.feed(UPSTREAM, answer)
    assert caught.value.side == UPSTREAM
    assert made.outgoing(UPSTREAM) == b""


def test_the_client_waits_until_upstream_is_ready(crossing, config, broker):
    near, far = local_client(config), Peer(server(broker))
    made = crossing(upstream_tls=True)
    made.feed(CLIENT, near.turn(b""))
    assert made.outgoing(CLIENT) == b""
    assert not made.wants(CLIENT)
    assert made.held_octets(CLIENT) > 0
    converse(made, near, far)
    assert made.wants(CLIENT)
    assert near.done


@pytest.mark.parametrize(
    ("offered", "known", "agreed"),
    [
        (["amqp", "http/1.1"], ["http/1.1"], "http/1.1"),
        (["h2", "http/1.1"], ["h2", "http/1.1"], "h2"),
        (["amqp"], [], None),
        ([], ["amqp"], None),
    ],
)
def test_the_protocol_is_what_client_and_upstream_agree_on(
    crossing, config, broker, offered, known, agreed
):
    near = local_client(config, alpn=offered)
    far = Peer(server(broker, alpn=known))
    made = crossing(upstream_tls=True)
    converse(made, near, far)
    assert near.tls.selected_alpn_protocol() == agreed
    assert far.tls.selected_alpn_protocol() == agreed


@pytest.mark.parametrize(
    ("offered", "agreed"), [(["h2", "http/1.1"], "http/1.1"), (["amqp"], "amqp"), (["h2"], None)]
)
def test_the_protocol_when_upstream_is_plain(crossing, config, offered, agreed):
    near = local_client(config, alpn=offered)
    converse(crossing(), near, Plain())
    assert near.done
    assert near.tls.selected_alpn_protocol() == agreed


def test_a_client_whose_upstream_cannot_be_trusted_gets_no_handshake(crossing, config, tmp_path):
    near, far = local_client(config), Peer(server(Certified(tmp_path, "other.example")))
    made = crossing(upstream_tls=True)
    with pytest.raises(TlsError) as caught:
        converse(made, near, far)
    assert caught.value.side == UPSTREAM
    assert not near.done
    far.turn(made.outgoing(UPSTREAM))
    assert far.error.reason == "TLSV1_ALERT_UNKNOWN_CA"
    assert far.plain == b""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("first", [CLIENT, UPSTREAM])
def test_half_close_leaves_the_other_direction_open(crossing, config, broker, version, first):
    peers = [local_client(config, version=version), Peer(server(broker, version))]
    made = crossing(upstream_tls=True)
    peers[CLIENT].say(QUESTION)
    converse(made, *peers)
    peers[first].hang_up()
    converse(made, *peers)
    assert made.eof(first)
    assert not made.eof(1 - first)
    made.close(1 - first)
    converse(made, *peers)
    assert made.is_closed(1 - first)
    assert peers[1 - first].eof
    peers[1 - first].say(ANSWER)
    recorded = converse(made, *peers)
    assert recorded == [(1 - first, ANSWER)]
    assert peers[first].plain.endswith(ANSWER)
    peers[1 - first].hang_up()
    converse(made, *peers)
    assert made.eof(1 - first)
    made.close(first)
    converse(made, *peers)
    assert made.is_closed(first)


def test_the_last_word_waits_for_the_handshake(crossing, broker):
    made, far = crossing(upstream_tls=True), Peer(server(broker))
    made.send(UPSTREAM, made.feed(CLIENT, HEADER))
    assert made.end(CLIENT) == b""
    made.close(UPSTREAM)
    assert not made.is_closed(UPSTREAM)
    converse(made, Plain(), far)
    assert made.is_closed(UPSTREAM)
    assert (far.plain, far.eof) == (HEADER, True)


def test_what_was_cut_short_stays_cut_short(crossing, config, broker):
    near, far = local_client(config), Peer(server(broker))
    made = crossing(upstream_tls=True)
    near.say(HEADER)
    converse(made, near, far)
    made.end(CLIENT)
    assert made.eof(CLIENT)
    made.close(UPSTREAM)
    assert made.outgoing(UPSTREAM) == b""
    assert made.is_closed(UPSTREAM)


def test_a_port_probe_is_not_worth_a_line(crossing):
    made = crossing(upstream_tls=True)
    assert made.end(CLIENT) == b""
    assert made.eof(CLIENT)
    made.close(UPSTREAM)
    assert made.is_closed(UPSTREAM)


def test_a_client_that_leaves_while_upstream_is_asked_is_not_worth_a_line(crossing, config):
    made = crossing(upstream_tls=True)
    made.feed(CLIENT, local_client(config).turn(b""))
    with pytest.raises(TlsError) as caught:
        made.end(CLIENT)
    assert caught.value.quiet


def test_plaintext_for_an_upstream_in_its_handshake_is_counted(crossing):
    made = crossing(upstream_tls=True)
    made.send(UPSTREAM, made.feed(CLIENT, QUESTION))
    made.outgoing(UPSTREAM)
    assert made.queued_octets(UPSTREAM) == len(QUESTION)


def test_before_upstream_is_connected_nothing_goes_there(config, broker):
    options = TlsOptions(upstream_tls=True, upstream_host="broker.example", cafile=str(broker.ca))
    made = Crossing(TlsPolicy(options), "127.0.0.1")
    assert made.feed(CLIENT, HEADER) == HEADER
    made.send(UPSTREAM, HEADER)
    assert made.outgoing(UPSTREAM) == b""
    made.upstream_connected()
    far = Peer(server(broker))
    converse(made, Plain(), far)
    assert far.plain == HEADER


def test_describe_tells_the_versions(crossing, config, broker):
    made = crossing(upstream_tls=True)
    near = local_client(config, version=ssl.TLSVersion.TLSv1_2)
    converse(made, near, Peer(server(broker)))
    assert made.describe() == "TLSv1.2 -> TLSv1.3"
