"""The ladder as text: lanes, arrows, brackets, findings, and lines that keep to the width."""

import re

import pytest

from amqpscope.insight.ladder import Entry, Ladder, Note
from amqpscope.report.columns import columns
from amqpscope.report.ladder_text import LadderText

MS = 1_000_000
NOTE = Note("error", "FLW-016", "transfer-without-credit", "client", "sends with no credit", True)


def ladder(*entries, number=1, client="10.0.0.1:40000"):
    made = Ladder(number, client, "10.0.0.2:5672", "amqp-1.0")
    for each in entries:
        made.add(each)
    made.finish()
    return made


def unit(frame, sender=0, name="open", label="", ms=0, **rest):
    return Entry(
        frame, MS * (ms or frame) + MS, 1, sender, name, rest.pop("where", ""), label, **rest
    )


def lines(*ladders, width=80, side_by_side=False, **options):
    return list(LadderText(width, **options).lines(list(ladders), side_by_side=side_by_side))


TALK = (
    unit(1, 0, "transfer", "#0 8 B unsettled", where="q"),
    unit(2, 1, "disposition", "#0 accepted settled", joined=(1,), outcome="accepted", where="q"),
)


def test_a_transfer_and_its_disposition():
    assert lines(ladder(*TALK))[:4] == [
        "connection 1, amqp-1.0, 2 frames",
        "",
        f"{'client':>23}{'server':>55}",
        f"frame      time  10.0.0.1:40000{'10.0.0.2:5672':>47}",
    ]
    first, second = lines(ladder(*TALK))[4:]
    assert re.fullmatch(
        r"    1    0\.0000  │── transfer q #0 8 B unsettled ─+ accepted after 1 ms ──▶│─╮", first
    )
    assert re.fullmatch(r"    2    0\.0010  │◀── disposition q #0 accepted settled ─+│─╯", second)


def test_a_finding_is_below_its_arrow_in_words():
    text = "\n".join(lines(ladder(unit(1, notes=(NOTE,)))))
    assert "✗ error FLW-016 (client): sends with no credit" in text
    doubt = NOTE._replace(severity="info", sure=False)
    assert "i info FLW-016 (client, suspect):" in "\n".join(lines(ladder(unit(1, notes=(doubt,)))))


@pytest.mark.parametrize("width", [60, 80, 100, 133, 200])
def test_lines_keep_to_the_width(width):
    entries = [
        unit(n, n % 2, "transfer", "x" * 300, where="orders/" * 9, alike="a" if n > 5 else "")
        for n in range(1, 60)
    ]
    long = NOTE._replace(text="word " * 60 + "w" * 200)
    made = ladder(*entries, unit(60, notes=(long,)), unit(61, ms=9000, lost=True))
    made.end(61, MS * 9001, 0, "fin")
    shown = lines(made, width=width)
    assert max(map(columns, shown)) <= width
    assert len({line.rfind("│") for line in shown[5:12]}) == 1


def test_wide_characters_keep_the_lanes_straight():
    wide = lines(ladder(unit(1, label='"日本語のメッセージ"'), unit(2, label='"é́"')))
    ends = {columns(line[: line.rindex("│")]) for line in wide[4:]}
    assert len(ends) == 1


def test_plain_terminals_get_ascii():
    entries = [unit(n, name="transfer", alike="t") for n in range(1, 40)]
    made = ladder(*TALK, *(each._replace(frame=each.frame + 9) for each in entries))
    assert "\n".join(lines(made, plain=True)).isascii()


def test_colours_are_around_whole_lines():
    shown = lines(ladder(*TALK), colour=True)
    assert shown[4].startswith("\x1b[32m    1 ")
    assert shown[4].endswith("\x1b[0m")


def test_large_frame_numbers_have_room():
    shown = lines(ladder(unit(1234567), unit(1234568, 1)))
    assert shown[3].startswith("  frame      time")
    assert shown[4].startswith("1234567    0.0000  │──")


def test_connections_one_below_the_other_or_side_by_side():
    one = ladder(unit(1))
    two = ladder(unit(2)._replace(connection=2), number=2, client="10.0.0.3:5")
    assert [line for line in lines(one, two) if line.startswith("connection")] == [
        "connection 1, amqp-1.0, 1 frame",
        "connection 2, amqp-1.0, 1 frame",
    ]
    shown = lines(one, two, side_by_side=True)
    assert re.fullmatch(r" +client 1 +server +client 2", shown[3])
    assert re.fullmatch(r"    1    0\.0000  │── open ─+▶│ +│", shown[5])
    assert re.fullmatch(r"    2    0\.0010  │ +│◀── open ─+│", shown[6])


def test_a_finding_between_narrow_lanes_goes_over_the_others():
    made = [
        ladder(unit(n, notes=(NOTE,))._replace(connection=n), number=n, client=f"10.0.1.{n}:5")
        for n in (1, 2, 3)
    ]
    assert sum("error FLW-016 (client): sends with no credit" in line
               for line in lines(*made, side_by_side=True)) == 3  # fmt: skip
