"""The ladder's layout: what is drawn, what is folded, and what answers what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.insight.ladder import (
    BEFORE,
    FEWEST,
    SHOWN,
    Arrow,
    Ended,
    Entry,
    Fold,
    Ladder,
    Lanes,
    Missing,
    Note,
    Pause,
    brackets,
    fold_label,
    row_text,
    together,
)

MS = 1_000_000
NOTE = Note("error", "FLW-016", "transfer-without-credit", "client", "no credit")


def entry(frame, name="transfer", *, ms=None, alike=None, **rest):
    time = MS * (frame if ms is None else ms) + MS
    alike = name if alike is None else alike
    return Entry(frame, time, 1, 0, name, "q", f"#{frame}", alike, **rest)


def laid(entries, **options):
    ladder = Ladder(1, "c:1", "s:2", "amqp-1.0", **options)
    for each in entries:
        ladder.add(each)
    ladder.finish()
    return ladder


def drawn(ladder):
    return [row.frame for row in ladder.rows if isinstance(row, Arrow)]


def folds(ladder):
    return [(row.frame, row.last, row.count) for row in ladder.rows if isinstance(row, Fold)]


def test_what_does_not_repeat_is_drawn():
    ladder = laid(entry(n, alike="") for n in range(1, 51))
    assert drawn(ladder) == list(range(1, 51))


def test_repetitions_are_folded_but_for_the_first_and_the_last():
    ladder = laid([*(entry(n) for n in range(1, 253)), entry(253, "close", alike="")])
    assert drawn(ladder) == [1, 2, 3, 251, 252, 253]
    assert folds(ladder) == [(4, 250, 247)]
    assert "247 more transfers" in row_text(ladder.rows[SHOWN])


def test_nothing_is_folded_when_not_asked_to():
    assert drawn(laid((entry(n) for n in range(1, 100)), collapse=False)) == list(range(1, 100))


def test_a_few_repetitions_are_not_worth_a_fold():
    few = SHOWN + BEFORE + FEWEST - 1
    assert drawn(laid(entry(n) for n in range(1, few + 1))) == list(range(1, few + 1))
    assert folds(laid(entry(n) for n in range(1, few + 2))) == [(4, 7, FEWEST)]


def test_a_finding_is_drawn_with_what_came_before_and_after_it():
    found = entry(50, alike="FLW-016 client", notes=(NOTE,))
    ladder = laid(found if n == 50 else entry(n) for n in range(1, 101))
    assert {48, 49, 50, 51, 52} <= set(drawn(ladder))
    assert folds(ladder) == [(4, 47, 44), (53, 98, 46)]


def test_evidence_is_drawn():
    ladder = laid((entry(n) for n in range(1, 101)), unfolded={60})
    assert 60 in drawn(ladder)


def test_a_fold_can_be_opened_by_its_range():
    ladder = laid((entry(n) for n in range(1, 101)), unfolded=range(4, 99))
    assert drawn(ladder) == list(range(1, 101))


def test_a_finding_that_repeats_itself_is_folded_and_counted():
    alike = {"alike": "FLW-016 client", "usual": 12, "notes": (NOTE,)}
    ladder = laid(entry(n, **alike) for n in range(1, 101))
    assert drawn(ladder) == [*range(1, 12 + BEFORE + 1), 99, 100]
    fold = next(row for row in ladder.rows if isinstance(row, Fold))
    assert fold_label(fold).endswith("with findings: FLW-016 x84")


def test_rows_stay_within_the_limit():
    ladder = laid((entry(n, alike="") for n in range(1, 1001)), most=100)
    assert len(ladder.rows) <= 101
    assert sum(row.count if isinstance(row, Fold) else 1 for row in ladder.rows) == 1000


def test_a_pause_has_a_row():
    ladder = laid([entry(1), entry(2, ms=3501)])
    pause = ladder.rows[1]
    assert isinstance(pause, Pause)
    assert row_text(pause) == "3.5 s without a frame"


def test_pauses_of_a_usual_length_are_folded_and_a_longer_one_is_not():
    steady = [entry(n, "empty", ms=2000 * n) for n in range(1, 101)]
    ladder = laid([*steady, entry(101, "empty", ms=200_000 + 60_000)])
    pauses = [row.duration // (1000 * MS) for row in ladder.rows if isinstance(row, Pause)]
    assert pauses == [2, 2, 2, 60]


def test_missing_octets_have_a_row():
    ladder = laid([entry(1), entry(2, lost=True)])
    assert isinstance(ladder.rows[1], Missing)
    assert row_text(ladder.rows[1]) == "octets of the client are missing here"


def test_the_ends_of_tcp_have_rows_and_a_reset_only_one():
    ladder = Ladder(1, "c", "s", "amqp-1.0")
    ladder.add(entry(1))
    ladder.end(1, 10, 0, "rst")
    ladder.end(1, 10, 1, "rst")
    assert [row_text(row) for row in ladder.rows if isinstance(row, Ended)] == [
        "the client resets TCP (RST)"
    ]


def answer(frame, *joined, **rest):
    return entry(frame, "disposition", alike="", joined=joined, outcome="accepted", **rest)


def test_an_answer_is_joined_to_what_is_drawn():
    ladder = laid([entry(1), entry(2), answer(3, 1, 2)])
    last = ladder.rows[-1]
    assert [row.frame for row in last.joined] == [1, 2]
    assert [row.answers[0].frame for row in ladder.rows[:2]] == [3, 3]


def test_a_drawn_transfer_knows_an_answer_that_is_folded():
    entries = [entry(1, alike=""), *(entry(n) for n in range(2, 50))]
    entries.insert(30, entry(500, "transfer", ms=30, joined=(1,), outcome="accepted"))
    ladder = laid(entries)
    assert 500 not in drawn(ladder)
    assert ladder.rows[0].answers[0].outcome == "accepted"


def test_a_transfer_that_was_held_back_knows_its_answer():
    ladder = laid([*(entry(n) for n in range(1, 40)), answer(40, 39)])
    held = next(row for row in ladder.rows if row.frame == 39)
    assert held.answers[0].frame == 40


def test_labels_are_made_for_what_is_drawn_only():
    made = []
    ladder = Ladder(1, "c", "s", "amqp-1.0")
    for n in range(1, 1001):
        ladder.add(entry(n), lambda n=n: made.append(n) or f"label {n}")
    ladder.finish()
    assert made == drawn(ladder)
    assert ladder.rows[0].entry.label == "label 1"


@pytest.mark.parametrize(
    ("said", "final"),
    [
        (["accepted"], (11, "accepted")),
        (["rejected", "accepted"], (11, "rejected")),
        (["accepted unsettled", "settled"], (12, "accepted")),
        (["received unsettled", "released"], (12, "released")),
        (["received unsettled", "accepted unsettled"], (12, "accepted unsettled")),
    ],
)
def test_what_settles_a_delivery_is_its_outcome(said, final):
    answers = [
        entry(n, "disposition", joined=(1,), outcome=word) for n, word in enumerate(said, 11)
    ]
    found = laid([entry(1), *answers]).rows[0].final
    assert (found.frame, found.outcome) == final


def test_brackets_of_one_track_do_not_overlap():
    ladder = laid(
        [entry(1), entry(2), answer(3, 1), entry(4, alike=""), answer(5, 2), answer(6, 4)]
    )
    found = brackets(ladder.rows)
    assert [(each.top, each.bottom, each.track) for each in found] == [
        (0, 2, 0),
        (1, 4, 1),
        (3, 5, 0),
    ]


def test_brackets_beyond_the_tracks_are_left_out():
    ladder = laid(
        [*(entry(n, alike="") for n in range(1, 9)), *(answer(n + 8, n) for n in range(1, 9))]
    )
    assert {each.track for each in brackets(ladder.rows, 3)} == {0, 1, 2}


def test_connections_of_one_server_share_its_lane():
    one, two = Ladder(1, "a:1", "s:5672", "amqp-1.0"), Ladder(2, "b:2", "s:5672", "amqp-1.0")
    lanes = Lanes([one, two])
    assert lanes.titles == [("client 1", "a:1"), ("server", "s:5672"), ("client 2", "b:2")]
    assert lanes.of(1, 1) == lanes.of(2, 1) == 1
    assert lanes.span(2) == (1, 2)


def test_side_by_side_rows_are_in_order_of_time():
    one, two = Ladder(1, "a:1", "s:5672", "amqp-1.0"), Ladder(2, "b:2", "s:5672", "amqp-1.0")
    for n in range(1, 21):
        (one if n % 2 else two).add(entry(n, alike="")._replace(connection=2 - n % 2))
    assert [row.frame for row in together([one, two])] == list(range(1, 21))


@given(
    st.lists(
        st.tuples(st.sampled_from(["transfer", "flow", "open"]), st.booleans(), st.booleans())
    ),
    st.sampled_from([0, 5, 30]),
)
def test_every_frame_is_drawn_or_counted_once(kinds, most):
    entries = [
        entry(
            n, name, alike="" if name == "open" else name, notes=(NOTE,) if bad else (), lost=lost
        )
        for n, (name, bad, lost) in enumerate(kinds, 1)
    ]
    ladder = laid(entries, most=most)
    assert len(drawn(ladder)) + sum(count for _, _, count in folds(ladder)) == len(entries)
    assert drawn(ladder) == sorted(set(drawn(ladder)))
