"""Marks are set, noted, found and taken away."""

from amqpscope.tui.bookmarks import Bookmarks


def test_a_mark_is_set_and_taken_away():
    marks = Bookmarks()
    assert marks.toggle(7)
    assert marks.sign(7) == "*"
    assert not marks.toggle(7)
    assert marks.sign(7) == " "


def test_a_note_is_a_mark_of_its_own_kind():
    marks = Bookmarks()
    marks.write(3, "here")
    assert marks.sign(3) == "»"


def test_marks_are_visited_in_a_circle():
    marks = Bookmarks()
    for number in (9, 2, 5):
        marks.toggle(number)
    assert [marks.after(at) for at in (1, 2, 5, 9)] == [2, 5, 9, 2]
    assert [marks.before(at) for at in (9, 5, 2)] == [5, 2, 9]
    assert Bookmarks().after(1) == Bookmarks().before(1) == 0
