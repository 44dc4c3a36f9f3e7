"""A recording followed while it is written: the same as reading it when it is done."""

import shutil

from amqpscope.check.selection import Selection
from amqpscope.runs.follow import Follower, LiveResult
from amqpscope.runs.lint import CheckSettings, check

FOUND = "FLW-016"


def test_a_recording_in_two_parts_gives_what_it_gives_whole(bad, tmp_path):
    whole = bad.read_bytes()
    path = tmp_path / "growing.pcapng"
    path.write_bytes(whole[: len(whole) // 2 + 1])
    follower = Follower(str(path), Selection())
    gathered = LiveResult(follower)
    for batch in follower.catch_up(path.stat().st_size):
        gathered.take(batch)
    half = gathered.result().frames
    assert gathered.result().findings == []
    with path.open("ab") as file:
        file.write(whole[len(whole) // 2 + 1 :])
    follower.finish()
    for batch in follower:
        gathered.take(batch)
    follower.close()
    result = gathered.result()
    expected = check(str(bad), CheckSettings(Selection()))
    assert 0 < half < result.frames
    assert (result.frames, result.packets, result.connections, result.error) == (
        expected.frames, expected.packets, expected.connections, None,
    )  # fmt: skip
    assert [repr(f) for f in result.findings] == [repr(f) for f in expected.findings]
    assert FOUND in {finding.rule for finding in result.findings}


def test_only_what_was_chosen_is_found(bad, tmp_path):
    path = tmp_path / "bad.pcapng"
    if path != bad:
        shutil.copy(bad, path)
    follower = Follower(str(path), Selection(per_capture={"bad.*": (FOUND,)}))
    gathered = LiveResult(follower)
    follower.finish()
    for batch in follower:
        gathered.take(batch)
        assert all(FOUND not in map(str, step.findings) for step in batch.steps)
    follower.close()
    assert FOUND not in {finding.rule for finding in gathered.result().findings}
