"""IP fragments: order, copies and bounds."""

from amqpscope.capture import fragments
from amqpscope.capture.fragments import Fragments


def test_fragments_in_any_order_give_the_whole():
    store = Fragments()
    assert store.add(b"a", 8, b"89", False) == b""
    assert store.add(b"a", 0, b"01234567", True) == b"0123456789"


def test_whole_is_given_once():
    store = Fragments()
    store.add(b"a", 0, b"01234567", True)
    assert store.add(b"a", 8, b"89", False)
    assert store.add(b"a", 8, b"89", False) == b""


def test_overlapping_fragments_fill_the_whole():
    store = Fragments()
    store.add(b"a", 0, b"0123456789abcdef", True)
    assert store.add(b"a", 8, b"89abcdefXY", False) == b"0123456789abcdefXY"


def test_datagrams_are_kept_apart_by_name():
    store = Fragments()
    store.add(b"a", 0, b"01234567", True)
    assert store.add(b"b", 8, b"89", False) == b""


def test_fragment_beyond_the_largest_datagram_is_refused():
    assert Fragments().add(b"a", 65528, bytes(100), False) == b""


def test_oldest_datagram_is_forgotten_first():
    store = Fragments()
    for i in range(fragments.MAX_DATAGRAMS + 1):
        store.add(i.to_bytes(2, "big"), 0, b"01234567", True)
    assert store.add(b"\x00\x00", 8, b"89", False) == b""
    assert store.add(b"\x00\x05", 8, b"89", False) == b"0123456789"
