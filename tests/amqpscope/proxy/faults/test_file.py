"""Faults from a TOML file."""

import pytest

from amqpscope.proxy.faults import read_faults

GOOD = """
[[fault]]
name = "lost"
on = "disposition && from == server"
action = "drop"
times = 2

[[fault]]
on = 'transfer'
action = '''inject empty
  header AMQP 1.0.0'''
chance = 0.5
"""


def test_a_file_has_the_same_as_the_command_line(tmp_path):
    path = tmp_path / "faults.toml"
    path.write_text(GOOD)
    lost, injected = read_faults(str(path))
    assert lost.name == "lost"
    assert str(lost) == "disposition && from == server => drop times=2"
    assert injected.action.notation.splitlines() == ["empty", "  header AMQP 1.0.0"]
    assert injected.counts.chance == 0.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected a table [[fault]]"),
        ("[fault]\non = 'flow'\n", "expected a table [[fault]]"),
        ("[[faults]]\n", "faults\n^^^^^^\nexpected [[fault]]"),
        ("[[fault]]\non = 'flow'\n", "expected action = a text"),
        ("[[fault]]\naction = 'drop'\n", "expected on = a text"),
        ("[[fault]]\non = 'flow'\naction = 'drop'\ntime = 1\n", "did you mean times"),
        ("[[fault]]\non = 'flow'\naction = 'drop'\ntimes = 'x'\n", "expected a number"),
        ("[[fault]]\non = 'flow'\naction = 'drop'\ntimes = 1.5\n", "is not a whole number"),
        ("[[fault]]\non = 'flwo'\naction = 'drop'\n", "did you mean flow"),
        ("[[fault]]\nname = 'a b'\non = 'flow'\naction = 'drop'\n", "expected name ="),
        ("[[fault]\n", "line 1"),
        ("a = " + "[" * 100_000, "faults.toml: "),
        ("#" * (1 << 21), "larger than 1,048,576 octets"),
        ("\xff", "not UTF-8 at octet 0"),
        (
            "[[fault]]\non = 'flow'\naction = 'drop'\n" * 1001,
            "1,001 faults; a proxy has at most 1,000",
        ),
        ("[[fault]]\ntimes = " + "9" * 5000, "a number or a date is out of range"),
        ("a." * 100_000 + "a = 1", "more than 64 parts"),
        ("'a' . " * 100_000 + "a = 1", "more than 64 parts"),
        (f"{'a' * 50}." * 20_000 + "a = 1", "more than 64 parts"),
        ("k" * 300_000 + " = 1", "kkk...\n^"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, reason):
    path = tmp_path / "faults.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"faults\.toml") as caught:
        read_faults(str(path))
    assert reason in str(caught.value)


@pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
def test_a_filter_may_have_any_number_of_dots(tmp_path, quote):
    path = tmp_path / "faults.toml"
    where = " || ".join(f"transfer.delivery-id == {n}" for n in range(100))
    path.write_text(f"# {'. a' * 100}\n[[fault]]\non = {quote}{where}{quote}\naction = 'drop'\n")
    assert len(read_faults(str(path))) == 1


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "faults.toml"
    path.write_text(GOOD, encoding="utf-8-sig")
    assert len(read_faults(str(path))) == 2


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        read_faults(str(tmp_path / "none.toml"))
