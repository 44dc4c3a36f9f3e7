"""The recording: its packets, its files, and a disk that fills up."""

import os
import resource
import shutil
import stat
import subprocess

import pytest

from amqpscope.capture.reader import open_capture
from amqpscope.proxy.files import Files, RecordingError
from amqpscope.proxy.record import DATA, END, FULL, PAYLOAD, RESET, Recording, flows
from amqpscope.stream.types import ACK, FIN, RST, SYN
from kit.proxy.relaying import noise, talks

V4 = (("10.0.0.1", 40000), ("10.0.0.2", 5672))
V6 = (("2001:db8::1", 40000), ("2001:db8::2", 5672))
MIXED = (("::1", 40000), ("10.0.0.2", 5672))


def segments(path):
    with open_capture(str(path)) as capture:
        found = [segment for batch in capture for segment in batch]
        assert capture.problem is None
        assert capture.skipped == {}
    return found


def a_talk(path, addresses, *words, broken=False):
    recording = Recording(Files(str(path)))
    there, back = flows(*addresses, 7)
    recording.write_handshake(there, back)
    for word in words:
        recording.data(there, word)
        back.ack += len(word)
    recording.add(there, 0, 1, END)
    back.ack += 1
    recording.add(back, 0, 0 if broken else 1, RESET if broken else END)
    recording.close()
    return recording


@pytest.mark.parametrize("addresses", [V4, V6, MIXED])
def test_packets_are_read_back_as_they_were_written(tmp_path, addresses):
    path = tmp_path / "a.pcapng"
    sizes = [1, 2, 3, 4, 5, PAYLOAD - 1, PAYLOAD, PAYLOAD + 1, 200_000]
    words = [noise(size) for size in sizes]
    recording = a_talk(path, addresses, *words, broken=True)
    found = segments(path)
    assert len(found) == recording.packets
    assert [segment.flags & (SYN | ACK) for segment in found[:3]] == [SYN, SYN | ACK, ACK]
    assert b"".join(segment.payload for segment in found) == b"".join(words)
    assert found[-2].flags & FIN
    assert found[-1].flags & RST
    (talk,) = talks(path).values()
    assert talk.ends == ["fin", "rst"]


@pytest.mark.tshark
@pytest.mark.parametrize("addresses", [V4, V6, MIXED])
def test_tshark_finds_nothing_to_warn_of(tmp_path, addresses):
    path = tmp_path / "a.pcapng"
    a_talk(path, addresses, noise(100_000), b"x")
    done = subprocess.run(
        ["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-q", "-z", "expert,warn"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
    assert "appears to have been cut short" not in done.stderr


def test_a_recording_is_for_its_owner_alone_and_never_replaces_a_file(tmp_path):
    path = tmp_path / "a.pcapng"
    old = os.umask(0)
    try:
        Recording(Files(str(path))).close()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RecordingError, match=r"a\.pcapng: is there already"):
        Recording(Files(str(path)))
    (tmp_path / "link.pcapng").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordingError):
        Recording(Files(str(tmp_path / "link.pcapng")))


@pytest.mark.parametrize("place", ["missing/a.pcapng", "."])
def test_a_file_that_cannot_be_made_is_one_line(tmp_path, place):
    with pytest.raises(RecordingError, match=": "):
        Recording(Files(str(tmp_path / place)))


def test_each_file_of_a_series_opens_alone_and_all_of_them_in_a_row(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000))
    there, back = flows(*V4, 1)
    recording.write_handshake(there, back)
    sent = noise(1_000_000)
    for at in range(0, len(sent), 10_000):
        recording.data(there, sent[at : at + 10_000])
        recording.flush()
    recording.close()
    paths = sorted(tmp_path.iterdir())
    assert [path.name for path in paths[:2]] == ["run-00001.pcapng", "run-00002.pcapng"]
    assert 10 <= len(paths) <= 11
    assert all(path.stat().st_size < 120_000 for path in paths)
    assert b"".join(s.payload for path in paths for s in segments(path)) == sent
    whole = tmp_path / "whole.pcapng"
    with whole.open("wb") as file:
        for path in paths:
            file.write(path.read_bytes())
    (talk,) = talks(whole).values()
    assert talk.octets[0] == sent


@pytest.mark.parametrize(
    ("given", "first"),
    [("run.pcapng", "run-00001.pcapng"), ("run", "run-00001.pcapng"), ("a.b", "a.b-00001.pcapng")],
)
def test_files_of_a_series_are_known_by_their_names(tmp_path, given, first):
    files = Files(str(tmp_path / given), octets=100_000)
    Recording(files).close()
    assert files.first == str(tmp_path / first)
    assert [path.name for path in tmp_path.iterdir()] == [first]


def test_a_series_does_not_begin_among_the_files_of_another(tmp_path):
    (tmp_path / "run-00007.pcapng").write_bytes(b"precious")
    with pytest.raises(RecordingError, match=r"run-00007\.pcapng: is there already"):
        Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000))


def test_old_files_of_a_series_are_removed(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000, keep=3))
    there, _ = flows(*V4, 1)
    for _ in range(50):
        recording.data(there, noise(20_000))
        recording.flush()
    recording.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert names[-1] == os.path.basename(recording.files.path)


def test_a_series_goes_on_by_time_too(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), seconds=0.000_001))
    there, _ = flows(*V4, 1)
    for _ in range(3):
        recording.data(there, b"x")
        recording.flush()
    recording.close()
    assert len(list(tmp_path.iterdir())) == 4


def test_secrets_lie_in_every_file_of_a_series(tmp_path):
    recording = Recording(Files(str(tmp_path / "run.pcapng"), octets=100_000))
    there, _ = flows(*V4, 1)
    line = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"
    recording.secrets(line)
    for _ in range(2):
        recording.data(there, noise(120_000))
        recording.flush()
    recording.close()
    for path in sorted(tmp_path.iterdir()):
        with open_capture(str(path)) as capture:
            list(capture)
            assert capture.secrets == [line]


def test_a_full_disk_ends_the_recording_with_a_valid_file(tmp_path):
    path = tmp_path / "a.pcapng"
    recording = Recording(Files(str(path)))
    there, back = flows(*V4, 1)
    recording.write_handshake(there, back)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, limits[1]))
    try:
        for _ in range(10):
            recording.data(there, noise(60_000))
            recording.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert recording.problem == f"{path}: file too large"
    recording.close()
    (talk,) = talks(path).values()
    assert talk.octets[0] == noise(60_000) * 4


def test_the_arena_has_room_for_a_packet_of_any_size_below_its_mark(tmp_path):
    recording = Recording(Files(str(tmp_path / "a.pcapng")))
    there, _ = flows(*V6, 1)
    recording.position = FULL
    room = recording.view[FULL + there.head :][:PAYLOAD]
    assert len(room) == PAYLOAD
    recording.add(there, PAYLOAD, PAYLOAD, DATA)
    recording.add(there, 0, 0, RESET)
    recording.position = 0
    recording.close()


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos is not installed")
def test_capinfos_names_the_application(tmp_path):
    path = tmp_path / "a.pcapng"
    a_talk(path, V4, b"x")
    told = subprocess.run(["capinfos", path], capture_output=True, text=True, check=True).stdout
    assert "amqpscope" in told
