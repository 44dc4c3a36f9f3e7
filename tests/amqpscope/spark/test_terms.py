"""When captures that were read before are read again."""

from dataclasses import replace

import pytest

from amqpscope.check.selection import Selection
from amqpscope.spark.terms import terms_of
from amqpscope.spark.work import Work

KEYLESS = replace(terms_of(Work()), locked=True)


def test_the_same_terms_are_no_reason():
    assert terms_of(Work()).differs(terms_of(Work())) == ""


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (Work(Selection(select=("FLW",))), "rules"),
        (Work(decode_as={5673: "amqp-1.0"}), "ports"),
        (Work(keylogs=(b"CLIENT_RANDOM 00 11",)), "key logs"),
        (Work(frames=True), "frames"),
    ],
)
def test_what_changes_rows_is_a_reason(work, reason):
    assert reason in KEYLESS.differs(terms_of(work))


def test_key_logs_matter_only_where_one_was_missing():
    assert terms_of(Work()).differs(terms_of(Work(keylogs=(b"CLIENT_RANDOM 00 11",)))) == ""


def test_tables_that_have_frames_too_are_as_good():
    assert terms_of(Work(frames=True)).differs(terms_of(Work())) == ""


def test_another_version_is_a_reason():
    before = replace(terms_of(Work()), version="0.0.9 (pure)")
    assert before.differs(terms_of(Work())) == "they were read by amqpscope 0.0.9 (pure)"
