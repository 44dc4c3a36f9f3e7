"""What a test asks of the toy family in a process of its own, so that no other test meets it.

python -m kit.toy_session screens CAPTURE    each screen as text
python -m kit.toy_session keep CAPTURE       rows for Spark, kept between packets and not
"""

import asyncio
import sys
import time

PATIENCE = 30
SCREENS = {
    # key  what its screen shows once it is whole
    "1": "number 1, text hello",
    "2": "topic",
    "3": "put news number 1",
    "4": "An ok names a put that was sent before.",
    "5": "TCP closed by client",
    "6": "C→S news",
}


async def show_screens(path):
    """Press the keys of the screens, one after the other, and print what each shows."""
    from amqpscope.tui.app import Scope
    from amqpscope.tui.opening import OpenedCapture, ReaderProcess
    from amqpscope.tui.store import Store

    def text():
        strips = app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    app = Scope(Store(ReaderProcess(OpenedCapture(path))))
    async with app.run_test(size=(100, 30)) as pilot:
        end = time.monotonic() + PATIENCE
        while not (app.store.done and app.frame) and time.monotonic() < end:
            await pilot.pause(0.05)
        for key, words in SCREENS.items():
            await pilot.press(key)
            end = time.monotonic() + PATIENCE
            while words not in text() and time.monotonic() < end:
                await pilot.pause(0.1)
            print(f"{text()}\n\f", end="")


def rows(path, *, keep):
    """All rows of a capture of one connection, its state written and read after each packet."""
    from amqpscope.capture.reader import open_capture
    from amqpscope.spark.state_codec import Keeper, rows_of
    from amqpscope.spark.work import Work

    keeper = Keeper(Work())
    with open_capture(path) as batches:
        segments = [segment for batch in batches for segment in batch]
    replay, found = keeper.begin("ring"), []
    for segment in segments:
        found += rows_of(keeper.feed(replay, [segment]), "ring")
        if keep:
            replay = keeper.thaw(keeper.freeze(replay))
    return found + rows_of(replay.finish(segments[-1].packet, segments[-1].time), "ring")


if __name__ == "__main__":
    what, capture = sys.argv[1:]
    if what == "screens":
        asyncio.run(show_screens(capture))
    else:
        plain, kept = rows(capture, keep=False), rows(capture, keep=True)
        print(len(plain), plain == kept)
