"""A recording that is rotated while it is followed, and one that ends in the middle of a block."""

import os
import threading
import time
from pathlib import Path

import pytest

from amqpscope.capture.reader import open_capture
from amqpscope.proxy.files import Files
from amqpscope.proxy.record import Recording, flows
from kit.proxy.relaying import noise

V4 = (("10.0.0.1", 40000), ("10.0.0.2", 5672))
BLOCK = noise(30_000)


def pour(recording, flow, times):
    for _ in range(times):
        recording.data(flow, BLOCK)
        recording.flush()


def test_a_series_is_followed_from_file_to_file(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000))
    there, _ = flows(*V4, 1)
    with open_capture(recording.files.first, follow=True) as capture:
        writer = threading.Thread(target=lambda: (pour(recording, there, 100), recording.close()))
        writer.start()
        got = b""
        for batch in capture:
            got += b"".join(segment.payload for segment in batch)
            if not batch and not writer.is_alive():
                capture.finish()
        assert got == BLOCK * 100
        assert capture.lost_files == 0
        assert capture.problem is None
        assert capture.position == recording.octets


def test_files_that_were_removed_before_they_were_read_are_counted(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000, keep=2))
    there, _ = flows(*V4, 1)
    with open_capture(recording.files.first, follow=True) as capture:
        assert capture.read() == []
        pour(recording, there, 40)
        recording.close()
        capture.finish()
        got = [segment for batch in capture for segment in batch]
        kept = recording.files.number - recording.files.keep
        assert capture.lost_files == kept - 1
    # Of the first file what was open, and the two that are left.
    assert 0 < len(got) < 40
    assert got[-1].payload == BLOCK


def test_another_series_in_the_same_folder_is_left_alone(tmp_path):
    (tmp_path / "other-00002.pcapng").write_bytes(b"no capture")
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=1 << 30))
    pour(recording, flows(*V4, 1)[0], 2)
    recording.close()
    with open_capture(recording.files.first, follow=True) as capture:
        capture.finish()
        assert sum(len(batch) for batch in capture) == 2


@pytest.mark.parametrize("cut", [1, 4, 11, 29, 30_000])
def test_a_block_that_is_cut_is_not_there_yet(tmp_path, cut):
    recording = Recording(Files(str(tmp_path / "run.pcapng")))
    path = recording.files.path
    pour(recording, flows(*V4, 1)[0], 2)
    recording.close()
    whole = Path(path).read_bytes()
    os.truncate(path, len(whole) - cut)
    with open_capture(path, follow=True) as capture:
        assert sum(len(batch) for batch in read_now(capture)) == 1
        with open(path, "ab") as file:
            file.write(whole[len(whole) - cut :])
        assert sum(len(batch) for batch in read_now(capture)) == 1
    os.truncate(path, len(whole) - cut)
    with open_capture(path, follow=True) as capture:
        capture.finish()
        assert sum(len(batch) for batch in capture) == 1
        assert capture.problem is None


def read_now(capture):
    """All batches up to the moment when there is nothing new."""
    return list(iter(capture.read, []))


def test_what_is_new_is_found_soon(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng")))
    there, _ = flows(*V4, 1)
    with open_capture(recording.files.path, follow=True) as capture:
        waits = []
        for _ in range(10):
            pour(recording, there, 1)
            begun = time.monotonic()
            while not capture.read():
                pass
            waits.append(time.monotonic() - begun)
            read_now(capture)
    recording.close()
    assert sorted(waits)[5] < 0.05
