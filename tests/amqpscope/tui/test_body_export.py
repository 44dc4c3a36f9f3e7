"""Bodies written from the screen: one, or those of all frames shown."""

from kit.body_talk import TEXT


def test_the_body_of_a_message_is_written_to_a_file_that_is_named(
    drive, opened, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    async def script(driver):
        await driver.press(*"jjjjjjjjjjj", "e")  # frame 12 begins what 13 completes
        await driver.until_shown("body of frame 12 to file: made-000013.txt")
        await driver.press("enter")
        await driver.until_shown("8 octets written to made-000013.txt")
        await driver.press("e")
        await driver.until(lambda: driver.app.prompt.open, "it asks")
        await driver.press("enter")
        await driver.until_shown("made-000013.txt: cannot be written: file exists")
        await driver.press("b")
        await driver.until_shown("data as text")
        assert driver.app.frame == 13
        await driver.press("escape", "k", "k", "e")
        await driver.until_shown("2 bodies of frame 11 to directory:")
        await driver.press("escape", "g", "e")
        await driver.until_shown("frame 1 is not part of a message with a body")
        await driver.press("E")
        await driver.until_shown("bodies of the 14 frames shown, to directory: made-bodies")
        await driver.press("enter")
        await driver.until_shown("5 bodies written to made-bodies; secrets covered in 1")

    drive(opened(TEXT), script)
    assert (tmp_path / "made-000013.txt").read_bytes() == b"one body"
    assert len([*(tmp_path / "made-bodies").iterdir()]) == 5
