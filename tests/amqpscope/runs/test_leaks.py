"""Originals are found in octets as they are, and in base64 wherever they begin."""

from base64 import b64encode

import pytest

from amqpscope.runs.leaks import find_leaks, is_telling

SECRET = b"hunter2-password"


@pytest.mark.parametrize("before", range(3))
def test_an_original_is_found(before):
    assert find_leaks(b"x" * before + SECRET + b"y", [SECRET]) == {SECRET}
    assert find_leaks(b64encode(b"x" * before + SECRET + b"tail"), [SECRET]) == {SECRET}
    assert find_leaks(b"nothing of it", [SECRET]) == set()


@pytest.mark.parametrize(
    ("octets", "telling"),
    [
        (b"ab", False),
        (b"abcd", True),
        (b"aaaaaaaa", False),
        (bytes(20), False),
        (b"\0\1\2\3\4\5\6\7", True),
    ],
)
def test_what_is_found_anywhere_is_not_looked_for(octets, telling):
    assert is_telling(octets) is telling
