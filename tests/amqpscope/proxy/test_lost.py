"""Recordings that lose something: said at once and at the end, with the true count, exit code 2."""

import os
import resource
import subprocess
import threading
import time

import pytest

from amqpscope.capture.reader import open_capture
from amqpscope.proxy.files import HELD_BACK, MOST_HELD_BACK, Files
from amqpscope.proxy.record import Recording, flows
from kit.proxy.relaying import PATIENCE, noise, receive, talks

V4 = (("10.0.0.1", 40000), ("10.0.0.2", 5672))


def packets(path):
    """How many packets a file holds, if all of it can be read."""
    with open_capture(str(path)) as capture:
        list(capture)
        assert capture.problem is None
        return capture.packets


def pour(recording, flow, times, size=20_000):
    for _ in range(times):
        recording.data(flow, noise(size))
        recording.flush()


@pytest.fixture
def limited():
    """Let files grow to so many octets only, for a while."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(octets=before[0]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))

    yield limit
    limit()


def talk(client, count, size=10_000):
    block = noise(size)
    for _ in range(count):
        client.sendall(block)
        assert receive(client, size) == block


def test_a_full_disk_is_reported_with_the_packets_that_the_file_holds(proxy, server, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    run = proxy(server(), "--write", "f.pcapng", preexec_fn=limit)
    with run.connect() as client:
        talk(client, 100)
    assert run.end() == 2
    held = packets(tmp_path / "f.pcapng")
    assert run.said[-1] == f"amqpscope: {held} packets recorded: f.pcapng"
    line = run.wait_for("the recording is not whole")
    lost = int(line.partition("not whole, ")[2].split()[0])
    assert "f.pcapng: file too large" in line
    assert held < 100 < lost


def test_recording_goes_on_when_there_is_room_again(tmp_path, limited):
    path = tmp_path / "f.pcapng"
    recording = Recording(Files(str(path)))
    there, back = flows(*V4, 1)
    recording.write_handshake(there, back)
    limited(100_000)
    pour(recording, there, 10)
    assert recording.news == [
        f"recording stopped: {path}: file too large; traffic goes on, not recorded"
    ]
    recording.news.clear()
    limited()
    pour(recording, there, 1)
    assert recording.news == []
    time.sleep(1.1)
    pour(recording, there, 5)
    lost = recording.lost
    recording.close()
    assert recording.news == [f"recording goes on in {path}; {lost} packets are not in it"]
    assert packets(path) == recording.packets == recording.packet_count()
    assert recording.packets + lost == 3 + 16
    assert recording.problem == f"{path}: file too large"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts: cannot install a small disk")
def test_a_disk_that_is_full_and_is_emptied(proxy, server, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount here")
    try:
        (disk / "other").write_bytes(bytes(1_500_000))
        run = proxy(server(), "--write", "disk/f.pcapng")
        with run.connect() as client:
            talk(client, 100)
            run.wait_for("no space left on device; traffic goes on, not recorded")
            (disk / "other").unlink()
            time.sleep(1.1)
            talk(client, 3)
            run.wait_for("recording goes on in disk/f.pcapng; ")
        assert run.end() == 2
        held = packets(disk / "f.pcapng")
        assert run.said[-1] == f"amqpscope: {held} packets recorded: disk/f.pcapng"
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_recording_that_is_removed_is_noticed(proxy, server, tmp_path):
    run = proxy(server(), "--write", "f.pcapng")
    with run.connect() as client:
        talk(client, 3)
        (tmp_path / "f.pcapng").unlink()
        time.sleep(1.1)
        talk(client, 3)
        run.wait_for("f.pcapng: was removed while it was written")
    assert run.end() == 2
    assert run.said[-1].startswith("amqpscope: 0 packets recorded")


def test_a_recording_that_is_removed_at_the_very_end_is_noticed(proxy, server, tmp_path):
    run = proxy(server(), "--lint", "--write", "f.pcapng")
    with run.connect() as client:
        talk(client, 3)
    (tmp_path / "f.pcapng").unlink()
    assert run.end() == 2
    run.wait_for("f.pcapng: was removed while it was written")


@pytest.mark.parametrize("size", [0, 1000, 25_000])
def test_a_recording_that_is_cut_stays_readable_and_goes_on(proxy, server, tmp_path, size):
    path = tmp_path / "f.pcapng"
    run = proxy(server(), "--write", "f.pcapng")
    with run.connect() as client:
        talk(client, 5)
        os.truncate(path, size)
        for _ in range(15):
            talk(client, 1)
            time.sleep(0.1)
        run.wait_for("f.pcapng: was cut while it was written: ")
        talk(client, 5)
    assert run.end() == 2
    assert not any("the relay has died" in line for line in run.said)
    held = packets(path)
    assert held >= 10
    assert run.said[-1] == f"amqpscope: {held} packets recorded: f.pcapng"


def test_a_recording_that_is_renamed_goes_on_under_its_new_name(proxy, server, tmp_path):
    run = proxy(server(), "--write", "f.pcapng")
    with run.connect() as client:
        talk(client, 2)
        (tmp_path / "f.pcapng").rename(tmp_path / "g.pcapng")
        talk(client, 2)
    assert run.end() == 0
    run.wait_for("f.pcapng: was renamed, and holds the recording still")
    assert len(talks(tmp_path / "g.pcapng")) == 1


# Rotation


def test_traffic_goes_on_when_an_old_file_cannot_be_removed(proxy, server, tmp_path):
    """A directory of that name, which unlink() does not take."""
    run = proxy(server(), "--rotate", "100kB", "--keep", "3", "-w", "f.pcapng")
    with run.connect() as client:
        until = time.monotonic() + PATIENCE
        while (oldest := min(tmp_path.glob("f-*.pcapng"))).name < "f-00005.pcapng":
            assert time.monotonic() < until
            talk(client, 10)
            time.sleep(0.05)
        oldest.unlink()
        oldest.mkdir()
        talk(client, 100)
        run.wait_for(f"{oldest.name}: cannot be removed (--keep 3): is a directory")
        talk(client, 10)
    assert run.end() == 0
    assert not any("Traceback" in line for line in run.said)


def test_traffic_goes_on_in_the_old_file_when_the_next_cannot_be_begun(proxy, server, tmp_path):
    run = proxy(server(), "--rotate", "100kB", "-w", "f.pcapng")
    with run.connect() as client:
        (tmp_path / "f-00002.pcapng").mkdir()
        talk(client, 20)
        line = run.wait_for("the recording goes on in f-00001.pcapng")
        assert "f-00002.pcapng: is there already" in line
        (tmp_path / "f-00002.pcapng").rmdir()
        time.sleep(1.1)
        talk(client, 5)
    assert run.end() == 0
    files = sorted(tmp_path.glob("f-*.pcapng"))
    assert len(files) == 2
    total = sum(map(packets, files))
    assert run.said[-1].startswith(f"amqpscope: {total} packets recorded")
    assert sum("goes on in" in line for line in run.said) == 1


def test_a_close_that_fails_is_reported_once_and_recording_goes_on(tmp_path):
    recording = Recording(Files(str(tmp_path / "f.pcapng"), octets=100_000))
    there, _ = flows(*V4, 1)
    pour(recording, there, 1)
    os.close(recording._fd)
    recording._fd = 1 << 20  # not one that the next file could get
    recording._rotate()
    pour(recording, there, 2)
    recording.close()
    assert recording.news == [f"{tmp_path / 'f-00001.pcapng'}: bad file descriptor"]
    assert recording.problem == recording.news[0]
    assert packets(tmp_path / "f-00002.pcapng") == 2


def test_files_wait_for_the_analysis_within_a_bound(tmp_path):
    files = Files(str(tmp_path / "f.pcapng"), octets=100_000, keep=2)
    files.needed = 1
    recording = Recording(files)
    there, _ = flows(*V4, 1)
    pour(recording, there, 50)
    assert len(list(tmp_path.iterdir())) == files.number
    files.reading(files.number - 5)
    assert len(list(tmp_path.iterdir())) == 6
    files.reading(files.number)
    assert len(list(tmp_path.iterdir())) == 2
    assert (files.unread, recording.news) == (0, [])
    recording.close()


def test_beyond_the_bound_files_go_and_that_is_said_once(tmp_path):
    files = Files(str(tmp_path / "f.pcapng"), seconds=0.000_001, keep=2)
    files.needed = 1
    recording = Recording(files)
    there, _ = flows(*V4, 1)
    pour(recording, there, MOST_HELD_BACK + 10, 1)
    assert files.unread == 9
    (line,) = recording.news
    assert "f-00001.pcapng: removed before it was analysed (--keep 2)" in line
    recording.close()


def test_a_bound_in_octets_holds_too(tmp_path):
    files = Files(str(tmp_path / "f.pcapng"), octets=10_000_000, keep=1)
    files.needed = 1
    recording = Recording(files)
    there, _ = flows(*V4, 1)
    pour(recording, there, 130, 1_000_000)
    used = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert used < HELD_BACK + 30_000_000
    assert files.unread > 0
    recording.close()


def fill(disk, leave):
    """Leave so many pages free."""
    pages = os.statvfs(disk).f_bavail - leave
    (disk / "other").write_bytes(bytes(pages * os.statvfs(disk).f_bsize))


def test_the_next_file_takes_the_room_of_the_oldest_when_the_disk_is_full(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root mounts: no small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", disk], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount here")
    try:
        recording = Recording(Files(str(disk / "f.pcapng"), octets=100_000, keep=3))
        there, _ = flows(*V4, 1)
        pour(recording, there, 14)
        # Room for the rest of the third file, and not for the beginning of a fourth.
        fill(disk, leave=5)
        pour(recording, there, 3)
        recording.close()
        names = sorted(path.name for path in disk.glob("f-*"))
        assert names == ["f-00002.pcapng", "f-00003.pcapng", "f-00004.pcapng"]
        assert (recording.problem, recording.news) == (None, [])
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_recording_begins_with_the_oldest_file_that_is_there(tmp_path):
    recording = Recording(Files(str(tmp_path / "f.pcapng"), octets=100_000, keep=2))
    there, _ = flows(*V4, 1)
    pour(recording, there, 40)
    recording.close()
    with open_capture(recording.files.first, follow=True) as capture:
        capture.finish()
        read = sum(len(batch) for batch in capture)
        assert capture.lost_files == recording.files.number - 2
    assert read == recording.packet_count() > 0


def test_files_that_go_while_they_are_looked_for_are_passed_over(tmp_path):
    recording = Recording(Files(str(tmp_path / "f.pcapng"), octets=100_000, keep=1))
    there, _ = flows(*V4, 1)
    done = threading.Event()

    def write():
        pour(recording, there, 400)
        recording.close()
        done.set()

    threading.Thread(target=write, daemon=True).start()
    with open_capture(recording.files.first, follow=True) as capture:
        for batch in capture:
            if not batch and done.is_set():
                capture.finish()
        assert capture.lost_files < recording.files.number
    assert done.wait(PATIENCE)
