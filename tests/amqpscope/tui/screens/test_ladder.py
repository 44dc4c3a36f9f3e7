"""The screen Ladder: arrows, joined dispositions, findings, folded runs, and files."""

import pytest

from amqpscope.insight.ladder import Fold

MANY = "v10_proton-rhea_manylinks.pcap"


def opened(root, drive, script, capture="demo.pcapng", **options):
    async def run(driver):
        await driver.press("3")
        await driver.until(lambda: driver.app.entry.name == "ladder", "the screen is chosen")
        await driver.until_shown("header AMQP 1.0.0")
        view = driver.app.view
        await driver.until(lambda: view.shown is not None and view.shown.final, "it is laid out")
        return await script(driver)

    return drive(root / "captures" / capture, run, **options)


def folds(driver):
    return [row for row in driver.app.view.shown.rows if isinstance(row, Fold)]


def test_frames_are_arrows_and_a_disposition_is_joined_to_its_transfer(root, drive):
    async def script(driver):
        return driver.lines()

    lines = opened(root, drive, script, size=(80, 40))
    transfer = next(line for line in lines if line.startswith("   14"))
    answer = next(line for line in lines if line.startswith("   16"))
    assert "▶" in transfer
    assert transfer.endswith("╮")
    assert "◀" in answer
    assert "╯" in answer


def test_a_finding_stands_below_its_arrow(root, drive):
    async def script(driver):
        return driver.lines()

    lines = opened(root, drive, script)
    below = next(at for at, line in enumerate(lines) if line.startswith("   11")) + 1
    assert "! warning FLW-013 (server, suspect)" in lines[below]


def test_the_cursor_selects_the_frame(root, drive):
    async def script(driver):
        await driver.press("j", "j")
        return driver.app.frame

    assert opened(root, drive, script) == 3


def test_a_run_can_be_opened_and_folded_again(root, drive):
    async def script(driver):
        view = driver.app.view
        first, before = folds(driver)[0], len(view.shown.rows)
        view.rows.go(view.rows.line_of(first.frame))
        await driver.press("space")
        await driver.until(lambda: len(view.shown.rows) > before and view.shown.final, "it is open")
        opened_rows = len(view.shown.rows)
        view.rows.go(view.rows.line_of(first.frame))
        await driver.press("space")
        await driver.until(
            lambda: len(view.shown.rows) == before and view.shown.final, "it is folded"
        )
        return first.count, before, opened_rows

    count, before, after = opened(root, drive, script, MANY)
    assert after > before
    assert count > 1


def test_all_frames_are_drawn_when_nothing_is_folded(root, drive):
    async def script(driver):
        await driver.press("x")
        view = driver.app.view
        await driver.until(
            lambda: not view.shown.request.collapse and view.shown.final, "all is drawn"
        )
        return len(folds(driver)), view.shown.ladders[0].frames

    assert opened(root, drive, script, MANY) == (0, 381)


@pytest.mark.parametrize(
    ("key", "name", "words"),
    [("e", "txt", "connection 1, amqp-1.0"), ("E", "mmd", "sequenceDiagram"), ("V", "svg", "<svg")],
)
def test_the_ladder_is_written_to_a_file_that_was_asked_for(
    root, drive, tmp_path, monkeypatch, key, name, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"demo-ladder.{name}").write_text("mine")

    async def script(driver):
        await driver.press(key)
        await driver.until_shown(f"write to: demo-ladder-2.{name}")
        assert not (tmp_path / f"demo-ladder-2.{name}").exists()
        await driver.press("enter")
        await driver.until_shown(f"written to demo-ladder-2.{name}")

    opened(root, drive, script)
    assert words in (tmp_path / f"demo-ladder-2.{name}").read_text(encoding="utf-8")
    assert (tmp_path / f"demo-ladder.{name}").read_text() == "mine"
