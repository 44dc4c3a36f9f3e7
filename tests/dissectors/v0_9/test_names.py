"""Names of reply codes, by dialect."""

import pytest

from dissectors.v0_9.dialects import dialect


@pytest.mark.parametrize(
    ("name", "code", "word", "level"),
    [
        ("0-9-1", 505, "unexpected-frame", "hard-error"),
        ("0-9-1-rabbit", 312, "no-route", "soft-error"),
        ("0-9", 310, "not-delivered", "soft-error"),
        ("0-9", 312, "no-route", "soft-error"),
        ("0-8", 404, "not-found", "soft-error"),
        ("0-8", 320, "connection-forced", "hard-error"),
        ("0-8", 200, "reply-success", ""),
    ],
)
def test_reply_codes_by_dialect(name, code, word, level):
    assert dialect(name).constant(code) == (code, word, level)


@pytest.mark.parametrize(
    ("name", "code"),
    [("0-8", 406), ("0-8", 505), ("0-9", 505), ("0-9-1", 310), ("0-9-1", 312), ("10-3", 404)],
)
def test_reply_codes_that_a_dialect_has_not(name, code):
    assert dialect(name).constant(code) is None
