"""Marks are set, noted, found and taken away."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

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


@pytest.mark.tshark
def test_notes_are_kept_beside_a_capture_and_in_what_is_written(drive, root, tmp_path):
    path = tmp_path / "a.pcapng"
    shutil.copy(root / "captures" / "demo.pcapng", path)

    async def write(driver):
        await driver.press("j", "m", "j", "semicolon")
        await driver.type('why "now"?')
        await driver.press("enter")
        await driver.until_shown('» why "now"?')
        await driver.press("w")
        await driver.type(str(tmp_path / "b.pcapng"))
        await driver.press("enter")
        await driver.until_shown("25 frames written")
        assert not driver.app.marks.changed
        await driver.press("j", "m", "q")
        await driver.until_shown("keep 3 notes?")
        await driver.press("escape")
        assert driver.app.is_running
        await driver.press("q")
        await driver.until_shown("keep 3 notes?")
        await driver.press("y")

    async def read(driver):
        await driver.until(lambda: driver.app.marks.notes, "notes are read")
        changed = driver.app.marks.changed
        notes = dict(driver.app.marks.notes)
        await driver.press("q")
        return notes, changed

    drive(path, write)
    assert drive(path, read) == ({2: "", 3: 'why "now"?', 4: ""}, False)
    assert drive(tmp_path / "b.pcapng", read) == ({2: "", 3: 'why "now"?'}, False)
    shown = subprocess.run(
        ["tshark", "-r", tmp_path / "b.pcapng", "-Tfields", "-eframe.comment", "-Yframe.comment"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.splitlines() == ["amqpscope: marked", 'why "now"?']


def test_notes_of_another_capture_are_not_taken(tmp_path):
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"")
    (tmp_path / "a.pcapng.notes.toml").write_text(
        'removed = [7]\n[[note]]\nframe = 1\ntime = 5\ntext = "x"\n', encoding="utf-8"
    )
    marks = Bookmarks()
    marks.read_beside(str(path))
    assert marks.waiting == [(1, 5, "x")]
    store = SimpleNamespace(
        count=1,
        steps=SimpleNamespace(comments=[(7, "gone"), (8, "stays"), (8, "too")]),
        record=lambda number: SimpleNamespace(time=6),
    )
    assert marks.update(store)
    assert marks.notes == {8: "stays; too"}
    (tmp_path / "a.pcapng.notes.toml").write_text("[[note]]\nframe = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a note needs frame, time and text"):
        Bookmarks().read_beside(str(path))
