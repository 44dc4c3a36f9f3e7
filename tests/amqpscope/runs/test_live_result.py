"""A recording followed while it is written: the same as reading it when it is done."""

import shutil

from amqpscope.check.selection import Selection
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.live import LiveResult
from amqpscope.runs.run import Run

FOUND = "FLW-016"


def test_a_recording_in_two_parts_gives_what_it_gives_whole(bad, tmp_path):
    whole = bad.read_bytes()
    path = tmp_path / "growing.pcapng"
    path.write_bytes(whole[: len(whole) // 2 + 1])
    run = Run(Input(str(path), follow=True), Selection())
    live = LiveResult(run)
    for batch in run.catch_up(path.stat().st_size):
        live.take(batch)
    half = live.so_far().frames
    assert live.so_far().findings == []
    with path.open("ab") as file:
        file.write(whole[len(whole) // 2 + 1 :])
    run.finish()
    for batch in run:
        live.take(batch)
    run.close()
    result = live.so_far()
    expected = check(str(bad), CheckSettings())
    assert 0 < half < result.frames
    assert (result.frames, result.packets, result.connections, result.error) == (
        expected.frames, expected.packets, expected.connections, None,
    )  # fmt: skip
    assert [repr(f) for f in result.findings] == [repr(f) for f in expected.findings]
    assert FOUND in {finding.rule for finding in result.findings}


def test_only_what_was_selected_is_found(bad, tmp_path):
    path = tmp_path / "bad.pcapng"
    if path != bad:
        shutil.copy(bad, path)
    selection = Selection(per_capture={"bad.*": (FOUND,)})
    with Run(Input(str(path), follow=True), selection) as run:
        live = LiveResult(run)
        run.finish()
        for batch in run:
            live.take(batch)
            assert all(FOUND not in map(str, step.findings) for step in batch.steps)
    assert FOUND not in {finding.rule for finding in live.so_far().findings}
