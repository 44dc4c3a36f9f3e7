"""What was reported of an object."""

from amqpscope.model.ledger import Ledger


def test_a_topic_is_recorded_once():
    ledger = Ledger()
    assert not ledger.has("FLW-017")
    assert ledger.record("FLW-017", None)
    assert not ledger.record("FLW-017", None)
    assert ledger.has("FLW-017")
    assert ledger.record("FLW-018", None)


def test_a_topic_is_recorded_again_for_another_key_and_only_the_last_one_is_kept():
    ledger = Ledger()
    assert [ledger.record("FLW-016", key) for key in (10, 10, 20, 10)] == [True, False, True, True]
    assert ledger.key_of("FLW-016") == 10
    assert ledger.keys == {"FLW-016": 10}


def test_nothing_is_kept_for_what_nothing_was_reported_of():
    assert Ledger().keys is None
    assert Ledger().key_of("FLW-016") is None
