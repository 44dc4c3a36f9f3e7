"""Frames in an editor: what is wrong is shown in it, and what is left alone changes nothing."""

import pytest

from amqpscope.tui.editor import EditorError, edit_text

EMPTY = "empty"


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Let a shell script be the editor, with the file as `$1`; gives what it noted in `$NOTES`."""
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.delenv("VISUAL", raising=False)

    def use(script):
        path = tmp_path / "editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        monkeypatch.setenv("EDITOR", f"{path} --wait")
        return notes

    return use


def test_what_is_wrong_is_shown_in_the_editor_until_it_is_right(editor):
    notes = editor(
        'shift; cat "$1" >> "$NOTES"; ls -l "$1" >> "$NOTES"\n'
        'if grep -q "^empty" "$1"; then sed -i s/^empty/emtpy/ "$1"; '
        'else sed -i "s/^emtpy/close/" "$1"; fi'
    )
    assert edit_text(EMPTY, "") == "close"
    assert "# emtpy\n# ^\n" in notes.read_text()
    assert "-rw-------" in notes.read_text()


@pytest.mark.parametrize(
    "script", ["true", ': > "$2"', 'sed -i s/^empty/nonsense/ "$2"'], ids=["left", "empty", "wrong"]
)
def test_what_is_left_alone_or_stays_wrong_is_nothing(editor, script):
    editor(script)
    assert edit_text(EMPTY, "") is None


@pytest.mark.parametrize(("command", "reason"), [("false", "exit code 1"), ("/none", "no such")])
def test_an_editor_that_fails_is_one_line(monkeypatch, command, reason):
    monkeypatch.setenv("VISUAL", command)
    with pytest.raises(EditorError, match=reason):
        edit_text(EMPTY, "")
