"""Text in the columns of a terminal."""

import pytest

from amqpscope.report.columns import columns, cut, folded, wrap


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("→…", 2)]
)
def test_some_characters_take_two_columns_and_some_none(text, width):
    assert columns(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab", 1, "…"),
    ],
)
def test_a_text_is_cut_to_a_width(text, width, shown):
    assert cut(text, width) == shown


def test_a_text_is_broken_between_words():
    assert wrap("one two three", 12, "> ", ". ") == ["> one two", ". three"]


def test_a_word_that_is_too_long_is_broken():
    assert wrap("abcdefghijkl mn", 10, "") == ["abcdefghij", "kl mn"]


@pytest.mark.parametrize("width", [0, 9])
def test_without_room_a_text_is_one_line(width):
    assert wrap("one two three", width, "  ") == ["  one two three"]


def test_a_tree_is_folded_below_its_branches():
    assert list(folded(["  one two three four", "  x"], 16)) == [
        "  one two three",
        "      four",
        "  x",
    ]
