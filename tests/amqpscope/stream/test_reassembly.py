"""TCP put in order: every way in which segments come, are lost, or come twice."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.stream import ordering, reassembly
from amqpscope.stream.reassembly import PATIENCE, STRAYS, Reassembler
from amqpscope.stream.roles import EARLY
from amqpscope.stream.types import (
    ACK,
    BEYOND,
    CLIENT,
    FIN,
    INSIDE_TLS,
    PEERS,
    RST,
    SERVER,
    SYN,
    Chunk,
    End,
    Gap,
    Segment,
    Window,
)

A = bytes([10, 0, 0, 1])
B = bytes([10, 0, 0, 2])
ISN = {CLIENT: 1000, SERVER: 5000}
MOMENT = 10_000_000
"""Nanoseconds between two packets."""


class Wire:
    """Two peers that talk; sequence numbers are given as stream offsets."""

    def __init__(self, client_port=40000, server_port=5672, isn=None, ports=()):
        self.reassembler = Reassembler(ports)
        self.isn = isn or ISN
        client, server = client_port.to_bytes(2, "big"), server_port.to_bytes(2, "big")
        self.keys = {CLIENT: A + B + client + server, SERVER: B + A + server + client}
        self.packet = 0

    def segment(self, sender, offset, data=b"", ack=0, flags=ACK, window=100, missing=0):
        self.packet += 1
        seq = self.isn[sender] + 1 + offset & 0xFFFFFFFF
        acked = self.isn[1 - sender] + 1 + ack & 0xFFFFFFFF
        time = self.packet * MOMENT
        key = self.keys[sender]
        return Segment(self.packet, time, key, seq, acked, flags, window, data, missing)

    def send(self, *arguments, **options):
        return self.reassembler.feed(self.segment(*arguments, **options))

    def connect(self):
        out = self.send(CLIENT, -1, flags=SYN)
        out += self.send(SERVER, -1, flags=SYN | ACK)
        return out + self.send(CLIENT, 0)


@pytest.fixture
def wire():
    wire = Wire()
    assert wire.connect() == []
    return wire


def told(pieces):
    """Pieces as short tuples: chunks, gaps, ends and windows as the tests below spell them."""
    lines = []
    for piece in pieces:
        name = PEERS[piece.sender]
        if isinstance(piece, Chunk):
            lines.append((name, piece.offset, piece.data))
        elif isinstance(piece, Gap):
            lines.append((name + " gap", piece.offset, piece.size))
        elif isinstance(piece, End):
            lines.append((name, piece.reason))
        else:
            lines.append((name + " window", "zero" if piece.zero else "open"))
    return lines


# Connections begin


def test_data_from_inside_tls_says_so_at_once(wire):
    # The proxy records the handshake of TCP before it knows that TLS follows.
    [chunk] = wire.send(CLIENT, 0, b"AMQP", flags=ACK | INSIDE_TLS)
    assert chunk.connection.encrypted


def test_sender_of_the_syn_is_the_client():
    wire = Wire(client_port=5672, server_port=40000)
    wire.connect()
    (chunk,) = wire.send(CLIENT, 0, b"hi")
    assert chunk.connection.client == ("10.0.0.1", 5672)
    assert chunk.connection.server == ("10.0.0.2", 40000)
    assert chunk.connection.complete


def test_with_only_a_syn_ack_the_other_side_is_the_client():
    wire = Wire(client_port=80, server_port=40000)
    wire.send(SERVER, -1, flags=SYN | ACK)
    (chunk,) = wire.send(CLIENT, 0, b"hi")
    assert chunk.connection.client == ("10.0.0.1", 80)
    assert (chunk.connection.anchored, chunk.offset, chunk.ack) == ([False, True], 0, 0)


def test_lost_syn_ack_does_not_hide_what_the_client_acknowledges():
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 0)
    assert told(wire.send(SERVER, 0, b"hi")) == [("server", 0, b"hi")]


def test_syn_that_comes_after_its_syn_ack_is_of_the_same_connection():
    wire = Wire()
    wire.send(SERVER, -1, flags=SYN | ACK)
    assert wire.send(CLIENT, -1, flags=SYN) == []
    assert told(wire.send(CLIENT, 0, b"hi")) == [("client", 0, b"hi")]


def test_simultaneous_open_is_one_connection():
    wire = Wire()
    assert wire.send(CLIENT, -1, flags=SYN) == []
    assert wire.send(SERVER, -1, flags=SYN) == []
    assert told(wire.send(SERVER, 0, b"hi")) == [("server", 0, b"hi")]


def test_data_on_the_syn_begins_the_stream():
    wire = Wire()
    assert told(wire.send(CLIENT, -1, b"fast", flags=SYN)) == [("client", 0, b"fast")]
    assert wire.send(SERVER, -1, ack=4, flags=SYN | ACK) == []
    assert told(wire.send(CLIENT, 4, b"er")) == [("client", 4, b"er")]


def test_ipv6_addresses_are_text():
    one, two = bytes(15) + b"\x01", b"\xfe\x80" + bytes(13) + b"\x02"
    key = one + two + (50000).to_bytes(2, "big") + (5672).to_bytes(2, "big")
    (chunk,) = Reassembler().feed(Segment(1, 0, key, 1, 1, ACK, 1, b"x", 0))
    assert chunk.connection.client == ("::1", 50000)
    assert chunk.connection.server == ("fe80::2", 5672)


@pytest.mark.parametrize(
    ("source", "destination", "known", "sender"),
    [
        (40000, 5672, (), CLIENT),
        (5671, 40000, (), SERVER),
        (5672, 1024, (), SERVER),
        (8080, 40000, (), SERVER),
        (40000, 8080, (), CLIENT),
        (45000, 40000, (45000,), SERVER),
    ],
)
def test_client_is_guessed_when_the_capture_begins_midway(source, destination, known, sender):
    wire = Wire(client_port=source, server_port=destination, ports=known)
    (chunk,) = wire.send(CLIENT, 700, b"x")
    assert (chunk.sender, chunk.offset, chunk.connection.complete) == (sender, 0, False)
    assert chunk.ack == -1
    assert not chunk.connection.guessed


@pytest.mark.parametrize(
    ("source", "destination", "sender"),
    [(5672, 5671, CLIENT), (7777, 7777, CLIENT), (40000, 50000, SERVER), (50000, 40000, CLIENT)],
)
def test_ports_that_do_not_tell_the_client_are_marked_as_a_guess(source, destination, sender):
    wire = Wire(client_port=source, server_port=destination)
    assert wire.send(CLIENT, 700, b"x") == []
    chunk = wire.reassembler.finish()[0]
    assert (chunk.sender, chunk.data, chunk.connection.guessed) == (sender, b"x", True)


def test_where_ports_do_not_tell_the_client_a_late_syn_does():
    wire = Wire(client_port=40000, server_port=50000)
    assert wire.send(CLIENT, 0, b"hello") == []
    assert wire.send(SERVER, -1, flags=SYN | ACK) != []
    wire.send(CLIENT, -1, flags=SYN)
    (chunk,) = wire.send(SERVER, 0, b"hi", ack=5)
    assert chunk.sender == SERVER
    assert chunk.connection.client == ("10.0.0.1", 40000)
    assert chunk.connection.complete
    assert not chunk.connection.guessed


def test_the_first_segments_wait_for_a_syn_only_for_a_while():
    wire = Wire(client_port=40000, server_port=50000)
    out = [wire.send(CLIENT, 700 + i, b"x") for i in range(EARLY)]
    assert out[:-1] == [[]] * (EARLY - 1)
    assert len(out[-1]) == EARLY


def test_a_syn_elsewhere_is_of_another_connection_than_the_segments_before():
    wire = Wire(client_port=40000, server_port=50000)
    wire.send(CLIENT, 1 << 20, b"x")
    out = wire.send(CLIENT, -1, flags=SYN)
    assert told(out) == [("server", 0, b"x"), ("server", "reused"), ("client", "reused")]


def test_midway_the_other_direction_begins_with_its_own_first_segment():
    wire = Wire()
    wire.send(CLIENT, 700, b"abc", ack=300)
    (chunk,) = wire.send(SERVER, 300, b"xyz", ack=703)
    assert (chunk.sender, chunk.offset, chunk.ack) == (SERVER, 0, 3)
    (chunk,) = wire.send(CLIENT, 703, b"d", ack=303)
    assert (chunk.offset, chunk.ack) == (3, 3)


def test_midway_a_segment_before_the_first_one_seen_is_dropped():
    wire = Wire()
    wire.send(CLIENT, 700, b"abc")
    assert wire.send(CLIENT, 690, b"0123456789") == []
    assert told(wire.send(CLIENT, 703, b"d")) == [("client", 3, b"d")]


def test_midway_a_keep_alive_does_not_begin_the_stream_one_octet_early():
    wire = Wire()
    wire.send(CLIENT, 700, b"abc", ack=300)
    assert wire.send(SERVER, 299, ack=703) == []
    assert told(wire.send(SERVER, 300, b"x", ack=703)) == [("server", 0, b"x")]


@pytest.mark.parametrize("flags", [ACK, RST, RST | ACK, FIN | ACK])
def test_echo_of_a_forgotten_connection_makes_no_new_one(flags):
    wire = Wire()
    assert wire.send(CLIENT, 9, flags=flags) == []
    assert wire.reassembler.finish() == []


# Connections end


def test_fin_ends_one_direction_and_the_other_goes_on(wire):
    assert told(wire.send(CLIENT, 0, b"bye", flags=ACK | FIN)) == [
        ("client", 0, b"bye"),
        ("client", "fin"),
    ]
    (chunk,) = wire.send(SERVER, 0, b"more", ack=4)
    assert (chunk.data, chunk.ack) == (b"more", 3)
    assert told(wire.send(SERVER, 4, ack=4, flags=ACK | FIN)) == [("server", "fin")]
    assert wire.reassembler.finish() == []


def test_repeated_fin_and_last_ack_say_nothing_new(wire):
    wire.send(CLIENT, 0, b"bye", flags=ACK | FIN)
    wire.send(SERVER, 0, ack=4, flags=ACK | FIN)
    assert wire.send(CLIENT, 0, b"bye", flags=ACK | FIN) == []
    assert wire.send(CLIENT, 4, ack=1) == []


def test_fin_before_the_last_data_waits_for_it(wire):
    assert wire.send(CLIENT, 3, flags=ACK | FIN) == []
    assert told(wire.send(CLIENT, 0, b"abc")) == [("client", 0, b"abc"), ("client", "fin")]


def test_rst_ends_both_directions_its_sender_first(wire):
    assert told(wire.send(SERVER, 0, flags=RST)) == [("server", "rst"), ("client", "rst")]


def test_data_after_rst_is_ignored(wire):
    wire.send(SERVER, 0, flags=RST)
    assert wire.send(CLIENT, 0, b"late") == []
    assert wire.reassembler.finish() == []


def test_rst_gives_up_a_hole_and_delivers_what_waits(wire):
    wire.send(CLIENT, 2, b"cd")
    assert told(wire.send(CLIENT, 4, flags=RST)) == [
        ("client gap", 0, 2),
        ("client", 2, b"cd"),
        ("client", "rst"),
        ("server", "rst"),
    ]


def test_rst_shows_what_was_lost_before_it(wire):
    wire.send(CLIENT, 0, b"abc")
    assert told(wire.send(SERVER, 9, flags=RST | ACK, ack=7)) == [
        ("server gap", 0, 9),
        ("client gap", 3, 4),
        ("server", "rst"),
        ("client", "rst"),
    ]


def test_rst_without_numbers_shows_nothing():
    wire = Wire(isn={CLIENT: 2**32 - 3, SERVER: 2**32 - 3})
    wire.connect()
    wire.send(CLIENT, 0, b"a")
    # Sequence and ACK number are 0 here, which lie a little ahead.
    assert told(wire.send(SERVER, 2, flags=RST | ACK, ack=2)) == [
        ("server", "rst"),
        ("client", "rst"),
    ]


@pytest.mark.parametrize(("ack", "unseen"), [(3, False), (4, True), (30, True)])
def test_fin_tells_whether_its_sender_had_read_more_than_was_captured(wire, ack, unseen):
    (chunk,) = wire.send(CLIENT, 0, b"abc")
    wire.send(SERVER, 0, flags=FIN | ACK, ack=ack)
    assert chunk.connection.unseen == [unseen, False]


def test_what_acknowledges_a_fin_comes_after_it(wire):
    wire.send(CLIENT, 0, b"abc")
    assert wire.send(SERVER, 0, b"x", ack=4) == []
    fin = wire.send(CLIENT, 3, flags=FIN | ACK)
    assert told(fin) == [("client", "fin"), ("server", 0, b"x")]


def test_zero_is_no_ack_number_where_the_peer_has_passed_it():
    wire = Wire(isn={CLIENT: 2**32 - 3, SERVER: 5000})
    wire.connect()
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(SERVER, 0, b"x", ack=1)
    (chunk,) = wire.send(SERVER, 1, b"y", ack=2)
    assert chunk.ack == BEYOND


def test_numbers_that_wrap_to_zero_may_acknowledge_what_was_not_seen():
    wire = Wire(isn={CLIENT: 2**32 - 3, SERVER: 5000})
    wire.connect()
    (chunk,) = wire.send(SERVER, 0, b"x", ack=2)
    assert chunk.ack == BEYOND


def test_end_of_the_capture_ends_open_directions_only(wire):
    wire.send(CLIENT, 0, flags=ACK | FIN)
    assert told(wire.reassembler.finish()) == [("server", "capture")]


def test_new_syn_reuses_the_port_pair(wire):
    (old,) = wire.send(CLIENT, 0, b"old")
    wire.isn = {CLIENT: 77777, SERVER: 88888}
    assert told(wire.send(CLIENT, -1, flags=SYN)) == [("client", "reused"), ("server", "reused")]
    wire.send(SERVER, -1, flags=SYN | ACK)
    (new,) = wire.send(CLIENT, 0, b"new")
    assert (new.offset, new.ack) == (0, 0)
    assert new.connection is not old.connection


def test_port_pair_reused_after_rst_ends_nothing_twice(wire):
    wire.send(SERVER, 0, flags=RST)
    wire.isn = {CLIENT: 77777, SERVER: 88888}
    assert wire.connect() == []
    assert told(wire.send(SERVER, 0, b"new")) == [("server", 0, b"new")]


def test_repeated_syn_is_of_the_same_connection(wire):
    assert wire.send(CLIENT, -1, flags=SYN) == []
    assert wire.send(SERVER, -1, flags=SYN | ACK) == []
    assert told(wire.send(CLIENT, 0, b"x")) == [("client", 0, b"x")]


def test_refused_attempt_may_be_repeated_with_the_same_sequence_number():
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    assert told(wire.send(SERVER, -1, flags=RST | ACK)) == [("server", "rst"), ("client", "rst")]
    assert wire.connect() == []
    assert told(wire.send(CLIENT, 0, b"x")) == [("client", 0, b"x")]


# Order


def test_chunk_carries_packet_time_and_what_its_sender_had(wire):
    wire.send(CLIENT, 0, b"abcd")
    (chunk,) = wire.send(SERVER, 0, b"x", ack=3)
    assert (chunk.packet, chunk.time, chunk.ack) == (5, 5 * MOMENT, 3)


def test_chunk_that_waited_keeps_packet_time_and_ack(wire):
    wire.send(SERVER, 0, b"12345")
    wire.send(CLIENT, 3, b"def", ack=5)
    first, second = wire.send(CLIENT, 0, b"abc", ack=2)
    assert (first.packet, first.data, first.ack) == (6, b"abc", 2)
    assert (second.packet, second.time, second.data, second.ack) == (5, 5 * MOMENT, b"def", 5)


def test_retransmission_is_dropped(wire):
    wire.send(CLIENT, 0, b"abc")
    assert wire.send(CLIENT, 0, b"abc") == []
    assert told(wire.send(CLIENT, 1, b"bcde")) == [("client", 3, b"de")]


@pytest.mark.parametrize("data", [b"", b"\x00"])
def test_keep_alive_is_no_data(wire, data):
    wire.send(CLIENT, 0, b"abc")
    assert wire.send(CLIENT, 2, data) == []
    assert told(wire.send(CLIENT, 3, b"d")) == [("client", 3, b"d")]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(2, b"CD"), (0, b"abcdef")], [(0, b"ab"), (2, b"CD"), (4, b"ef")]),
        ([(2, b"CD"), (3, b"def"), (0, b"ab")], [(0, b"ab"), (2, b"CD"), (4, b"ef")]),
        ([(4, b"EF"), (2, b"cde"), (0, b"ab")], [(0, b"ab"), (2, b"cd"), (4, b"EF")]),
        ([(2, b"CD"), (2, b"cd"), (0, b"ab")], [(0, b"ab"), (2, b"CD")]),
        ([(3, b"D"), (5, b"F"), (2, b"cdefg"), (0, b"ab")],
         [(0, b"ab"), (2, b"c"), (3, b"D"), (4, b"e"), (5, b"F"), (6, b"g")]),
    ],
)  # fmt: skip
def test_first_copy_of_an_octet_wins(wire, parts, expected):
    out = []
    for offset, data in parts:
        out += wire.send(CLIENT, offset, data)
    assert told(out) == [("client", offset, data) for offset, data in expected]


def test_sequence_numbers_wrap():
    wire = Wire(isn={CLIENT: 0xFFFFFFFC, SERVER: 0xFFFFFFFF})
    wire.connect()
    assert told(wire.send(CLIENT, 0, b"abcd")) == [("client", 0, b"abcd")]
    assert wire.send(CLIENT, 6, b"gh") == []
    out = wire.send(CLIENT, 4, b"ef")
    assert told(out) == [("client", 4, b"ef"), ("client", 6, b"gh")]
    (chunk,) = wire.send(SERVER, 0, b"x", ack=8)
    assert chunk.ack == 8


# Loss


def test_hole_that_the_peer_acknowledged_becomes_a_gap_after_some_patience(wire):
    assert wire.send(CLIENT, 3, b"def") == []
    for _ in range(PATIENCE - 1):
        assert wire.send(SERVER, 0, ack=6) == []
    out = wire.send(SERVER, 0, ack=6)
    assert told(out) == [("client gap", 0, 3), ("client", 3, b"def")]
    assert out[0].packet == wire.packet
    assert out[1].packet == 4


def test_last_segment_lost_is_noticed_by_its_acknowledgement(wire):
    out = []
    for i in range(PATIENCE):
        out += wire.send(SERVER, i, b"x", ack=10)
    assert [line for line in told(out) if line[0] != "server"] == [("client gap", 0, 10)]


def test_acknowledged_segment_that_comes_a_little_later_is_no_loss(wire):
    assert wire.send(SERVER, 0, b"reply", ack=3) == []
    assert told(wire.send(CLIENT, 0, b"abc")) == [("client", 0, b"abc"), ("server", 0, b"reply")]
    for _ in range(PATIENCE):
        assert wire.send(SERVER, 5, ack=3) == []
    assert told(wire.reassembler.finish()) == [("client", "capture"), ("server", "capture")]


def test_one_damaged_acknowledgement_loses_nothing(wire):
    wire.send(SERVER, 0, ack=100000)
    for _ in range(PATIENCE):
        assert wire.send(SERVER, 0, ack=0) == []
    assert told(wire.send(CLIENT, 0, b"abc")) == [("client", 0, b"abc")]


def test_acknowledged_fin_that_the_capture_lost_is_no_gap(wire):
    for _ in range(2 * PATIENCE):
        assert wire.send(SERVER, 0, ack=1) == []
    assert told(wire.reassembler.finish()) == [("client", "capture"), ("server", "capture")]


def test_end_of_the_capture_gives_up_holes(wire):
    wire.send(CLIENT, 2, b"cd")
    wire.send(CLIENT, 6, b"gh")
    wire.send(SERVER, 0, ack=12)
    assert told(wire.reassembler.finish()) == [
        ("client gap", 0, 2),
        ("client", 2, b"cd"),
        ("client gap", 4, 2),
        ("client", 6, b"gh"),
        ("client gap", 8, 4),
        ("client", "capture"),
        ("server", "capture"),
    ]


def test_end_of_the_capture_gives_up_the_hole_before_a_fin(wire):
    wire.send(CLIENT, 3, flags=ACK | FIN)
    assert told(wire.reassembler.finish())[:2] == [("client gap", 0, 3), ("client", "capture")]


def test_fin_behind_a_lost_segment_ends_the_direction_once_acknowledged(wire):
    wire.send(CLIENT, 3, b"de", flags=ACK | FIN)
    out = []
    for _ in range(PATIENCE):
        out += wire.send(SERVER, 0, ack=6)
    assert told(out) == [("client gap", 0, 3), ("client", 3, b"de"), ("client", "fin")]


def test_too_many_segments_behind_a_hole_give_it_up(wire):
    out = []
    for i in range(ordering.MAX_WAITING + 1):
        out += wire.send(CLIENT, 1 + i, b"x")
    assert told(out)[0] == ("client gap", 0, 1)
    assert len(out) == ordering.MAX_WAITING + 2


def test_too_many_octets_behind_a_hole_give_it_up(wire):
    size = 60000
    out = []
    for i in range(ordering.MAX_HELD // size + 1):
        out += wire.send(CLIENT, 1 + i * size, bytes(size))
    assert told(out[:1]) == [("client gap", 0, 1)]


def test_snap_length_leaves_a_gap_behind_the_payload(wire):
    assert told(wire.send(CLIENT, 0, b"abc", missing=5)) == [
        ("client", 0, b"abc"),
        ("client gap", 3, 5),
    ]
    assert told(wire.send(CLIENT, 8, b"i")) == [("client", 8, b"i")]


def test_snap_length_and_disorder_together(wire):
    wire.send(CLIENT, 8, b"ij", missing=2)
    assert told(wire.send(CLIENT, 0, b"abc", missing=6)) == [
        ("client", 0, b"abc"),
        ("client gap", 3, 5),
        ("client", 8, b"ij"),
        ("client gap", 10, 2),
    ]


def test_one_segment_far_out_of_reach_is_ignored(wire):
    assert wire.send(CLIENT, 1 << 31, b"damaged") == []
    assert told(wire.send(CLIENT, 0, b"abc")) == [("client", 0, b"abc")]


@pytest.mark.parametrize("jump", [(1 << 30) + 10, 1 << 31, (1 << 32) - (1 << 27)])
def test_capture_that_slept_goes_on_behind_a_gap_of_unknown_size(wire, jump):
    wire.send(CLIENT, 0, b"abc")
    out = []
    for i in range(STRAYS + 1):
        out += wire.send(CLIENT, jump + i, b"x")
    assert told(out) == [("client gap", 3, -1), ("client", 3, b"x"), ("client", 4, b"x")]


# Windows


def test_window_is_told_when_it_closes_and_when_it_opens(wire):
    assert told(wire.send(SERVER, 0, window=0)) == [("server window", "zero")]
    assert wire.send(SERVER, 0, window=0) == []
    assert told(wire.send(SERVER, 0, b"x", window=9)) == [
        ("server window", "open"),
        ("server", 0, b"x"),
    ]


def test_rst_with_its_zero_window_closes_no_window(wire):
    pieces = wire.send(SERVER, 0, flags=RST, window=0)
    assert not any(isinstance(piece, Window) for piece in pieces)


# Bounds


def test_closed_connections_are_forgotten_in_the_end():
    reassembler = Reassembler()
    for i in range(reassembly.MAX_CLOSED + 50):
        key = A + B + (1024 + i).to_bytes(2, "big") + (5672).to_bytes(2, "big")
        reassembler.feed(Segment(i, i, key, 1, 1, ACK, 1, b"x", 0))
        reassembler.feed(Segment(i, i, key, 2, 1, RST, 1, b"", 0))
    assert len(reassembler._flows) == 2 * reassembly.MAX_CLOSED


def test_longest_idle_connections_are_given_up():
    reassembler = Reassembler()
    ended = []
    for i in range(reassembly.MAX_OPEN + 1):
        key = A + i.to_bytes(4, "big") + b"\xff\xff" + (5672).to_bytes(2, "big")
        pieces = reassembler.feed(Segment(i + 1, i, key, 1, 1, ACK, 1, b"x", 0))
        ended += [piece for piece in pieces if isinstance(piece, End)]
    assert {piece.reason for piece in ended} == {"idle"}
    assert len(ended) == 2 * (reassembly.MAX_OPEN // 8)
    assert ended[0].connection.server == ("0.0.0.0", 5672)


# Properties

STREAM = bytes(range(256)) * 4


@st.composite
def disorder(draw):
    """Segments of STREAM that cover it: cut, overlapping, repeated, moved within a window."""
    cuts = sorted(draw(st.sets(st.integers(1, len(STREAM) - 1), max_size=40)))
    parts = list(pairwise([0, *cuts, len(STREAM)]))
    whole = st.tuples(st.integers(0, len(STREAM)), st.integers(0, 200))
    extra = [(start, min(start + size, len(STREAM))) for start, size in draw(st.lists(whole))]
    keyed = [(i + draw(st.integers(0, 12)), part) for i, part in enumerate(parts)]
    keyed += [(draw(st.integers(0, len(parts))), part) for part in extra]
    return [part for _, part in sorted(keyed)]


@given(disorder(), st.integers(0, 0xFFFFFFFF))
def test_any_disorder_with_copies_and_overlaps_gives_the_stream(parts, isn):
    wire = Wire(isn={CLIENT: isn, SERVER: 1})
    out = wire.connect()
    for start, stop in parts:
        out += wire.send(CLIENT, start, STREAM[start:stop])
    assert all(isinstance(piece, Chunk) for piece in out)
    assert b"".join(piece.data for piece in out) == STREAM
    assert [piece.offset + len(piece.data) for piece in out[:-1]] == [p.offset for p in out[1:]]


@given(st.data())
def test_lost_segments_give_gaps_of_exactly_their_size(data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(STREAM) - 1), min_size=1, max_size=40)))
    parts = list(pairwise([0, *cuts, len(STREAM)]))
    lost = data.draw(st.sets(st.sampled_from(parts)))
    wire = Wire()
    out = wire.connect()
    for start, stop in parts:
        if (start, stop) not in lost:
            out += wire.send(CLIENT, start, STREAM[start:stop])
        out += wire.send(SERVER, 0, ack=stop)
    out += wire.reassembler.finish()
    seen = bytearray()
    for piece in out:
        if isinstance(piece, Gap):
            assert piece.offset == len(seen)
            seen += b"?" * piece.size
        elif isinstance(piece, Chunk):
            assert piece.offset == len(seen)
            seen += piece.data
    expected = bytearray(STREAM)
    for start, stop in lost:
        expected[start:stop] = b"?" * (stop - start)
    if parts[-1] in lost and parts[-1][1] - parts[-1][0] == 1 and len(seen) < len(STREAM):
        expected.pop()  # one octet at the very end might be the FIN
    assert seen == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from([CLIENT, SERVER]),
            st.integers(-5, 40),
            st.binary(max_size=12),
            st.integers(-5, 60),
            st.sampled_from([ACK, ACK, ACK, ACK | FIN, SYN, SYN | ACK, RST, 0]),
            st.integers(0, 1),
            st.integers(0, 4),
        ),
        max_size=60,
    )
)
def test_any_segments_give_pieces_in_order_and_each_direction_ends_once(segments):
    wire = Wire()
    out = []
    for segment in segments:
        out += wire.send(*segment)
    out += wire.reassembler.finish()
    at = {}
    ended = set()
    for piece in out:
        side = (id(piece.connection), piece.sender)
        assert isinstance(piece, Window) or side not in ended
        if isinstance(piece, End):
            ended.add(side)
        elif isinstance(piece, Chunk | Gap):
            assert piece.offset == at.get(side, 0)
            at[side] = piece.offset + (len(piece.data) if isinstance(piece, Chunk) else piece.size)
    assert set(at) <= ended
    assert wire.reassembler._order.held == 0


def test_when_a_connection_was_opened_is_told_by_its_newest_syn(wire):
    [chunk] = wire.send(CLIENT, 0, b"x")
    assert chunk.connection.opened == 2 * MOMENT
    [midway] = Wire().send(CLIENT, 0, b"x")
    assert midway.connection.opened == 0


# Who had read what: the ACK number of each chunk


def test_acknowledgements_after_a_fin_count_every_octet(wire):
    wire.send(CLIENT, 0, b"abc")
    wire.send(CLIENT, 3, flags=ACK | FIN)
    (before,) = wire.send(SERVER, 0, b"x", ack=3)
    (after,) = wire.send(SERVER, 1, b"y", ack=4)
    assert (before.ack, after.ack) == (3, 3)


def test_a_peer_never_knows_less_than_before(wire):
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(SERVER, 0, ack=6)
    (chunk,) = wire.send(SERVER, 0, b"x", ack=2)
    assert chunk.ack == BEYOND


def test_the_number_of_a_segment_that_repeats_old_octets_proves_nothing(wire):
    wire.send(CLIENT, 0, b"abcdef")
    wire.send(SERVER, 0, b"xy", ack=2)
    (chunk,) = wire.send(SERVER, 0, b"xyz", ack=2)
    assert (chunk.data, chunk.ack) == (b"z", BEYOND)


def test_zero_with_the_flag_set_acknowledges_nothing(wire):
    wire.send(SERVER, 0, b"hi")
    zero = -1 - ISN[SERVER]
    chunks = wire.send(CLIENT, 0, b"x", ack=zero) + wire.send(CLIENT, 1, b"y", ack=zero)
    assert [(chunk.data, chunk.ack <= 0) for chunk in chunks] == [(b"x", True), (b"y", True)]


# What was acknowledged comes first


def test_an_answer_waits_for_what_it_acknowledges(wire):
    assert wire.send(SERVER, 0, b"answer", ack=3) == []
    assert wire.send(SERVER, 6, b"more", ack=3) == []
    assert told(wire.send(CLIENT, 0, b"ask")) == [
        ("client", 0, b"ask"),
        ("server", 0, b"answer"),
        ("server", 6, b"more"),
    ]


def test_an_end_waits_behind_an_answer_that_waits(wire):
    assert wire.send(SERVER, 0, b"answer", ack=3, flags=ACK | FIN) == []
    out = wire.send(CLIENT, 0, b"ask")
    assert told(out) == [("client", 0, b"ask"), ("server", 0, b"answer"), ("server", "fin")]


def test_an_end_that_waited_keeps_the_packet_and_time_of_its_fin(wire):
    wire.send(CLIENT, 3, b"de", flags=ACK | FIN)
    (*_, end) = wire.send(CLIENT, 0, b"abc")
    assert (end.reason, end.packet, end.time) == ("fin", 4, 4 * MOMENT)


def test_an_answer_comes_after_the_gap_that_it_acknowledges(wire):
    wire.send(SERVER, 0, b"answer", ack=3)
    out = wire.reassembler.finish()
    assert told(out)[:2] == [("client gap", 0, 3), ("server", 0, b"answer")]


def test_a_number_that_the_next_segment_takes_back_holds_nothing_up(wire):
    wire.send(SERVER, 0, b"answer", ack=1 << 20)
    wire.send(SERVER, 6, b"more", ack=0)
    out = wire.send(CLIENT, 0, b"ask")
    assert told(out)[-1] == ("client", 0, b"ask")
    assert [line for line in told(wire.reassembler.finish()) if line[0].endswith("gap")] == []


def test_a_keep_alive_before_the_octet_that_it_repeats_is_no_data(wire):
    wire.send(SERVER, 0, ack=3)
    assert wire.send(CLIENT, 2, b"\0") == []
    assert told(wire.send(CLIENT, 0, b"abc")) == [("client", 0, b"abc")]


def test_two_that_acknowledge_each_other_do_not_wait_for_ever(wire):
    wire.send(SERVER, 0, b"late", ack=3)
    out = wire.send(CLIENT, 0, b"abc", ack=4)
    assert told(out) == [("server", 0, b"late"), ("client", 0, b"abc")]


# Each direction has its own beginning


def test_a_direction_without_its_syn_is_not_anchored():
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 8, b"x", ack=20)
    (*_, chunk) = wire.send(SERVER, 20, b"y", ack=0)
    assert chunk.connection.anchored == [True, False]


def test_a_syn_ack_that_comes_late_anchors_its_direction(wire):
    wire = Wire()
    wire.send(CLIENT, -1, flags=SYN)
    wire.send(CLIENT, 0, b"x")
    wire.send(SERVER, -1, flags=SYN | ACK)
    (chunk,) = wire.send(SERVER, 0, b"y", ack=1)
    assert (chunk.connection.anchored, chunk.offset) == ([True, True], 0)


def test_a_stray_syn_begins_nothing():
    wire = Wire(isn={CLIENT: 1 << 31, SERVER: 5000})
    wire.send(CLIENT, -1, flags=SYN)
    wire.isn = {CLIENT: 1000, SERVER: 5000}
    gap, chunk = wire.send(SERVER, 0, b"midway", ack=0)
    assert told([gap, chunk]) == [("client gap", 0, -1), ("server", 0, b"midway")]
    assert chunk.connection.anchored == [False, False]
    assert told(wire.send(CLIENT, 0, b"x", ack=6)) == [("client", 0, b"x")]
