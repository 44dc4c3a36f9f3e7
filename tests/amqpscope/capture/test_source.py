"""Octets from files, pipes and compressed files."""

import gzip
import lzma
import os
import sys
import threading

import pytest
import zstandard

from amqpscope.capture import source
from amqpscope.capture.source import CaptureError, Source

DATA = os.urandom(300_000) + bytes(700_000)


def whole(path, **options):
    octets = Source(str(path), **options)
    try:
        return b"".join(iter(octets.read, None)), octets.problem
    finally:
        octets.close()


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def xz(data):
    return lzma.compress(data, preset=0)


@pytest.mark.parametrize(
    "stored",
    [
        DATA,
        gzip.compress(DATA),
        gzip.compress(DATA[:400_000]) + gzip.compress(DATA[400_000:]),
        gzip.compress(DATA) + bytes(512),
        zstd(DATA),
        zstd(DATA[:400_000]) + zstd(DATA[400_000:]),
        xz(DATA),
        xz(DATA[:400_000]) + bytes(8) + xz(DATA[400_000:]),
    ],
    ids=[
        "plain",
        "gzip",
        "two gzip members",
        "padded gzip",
        "zstd",
        "two zstd frames",
        "xz",
        "two padded xz streams",
    ],
)
def test_octets_are_the_same_however_stored(tmp_path, stored):
    (tmp_path / "c").write_bytes(stored)
    assert whole(tmp_path / "c") == (DATA, None)


@pytest.mark.parametrize("pack", [gzip.compress, zstd, xz], ids=["gzip", "zstd", "xz"])
def test_cut_compressed_data_is_given_as_far_as_it_goes(tmp_path, pack):
    stored = pack(DATA)
    (tmp_path / "c").write_bytes(stored[:200_000])
    data, problem = whole(tmp_path / "c")
    assert data == DATA[: len(data)]
    assert "cut short" in problem
    assert "ends at byte 200000" in problem


@pytest.mark.parametrize(
    ("pack", "name"),
    [(gzip.compress, "gzip"), (zstd, "zstd"), (xz, "xz")],
    ids=["gzip", "zstd", "xz"],
)
def test_garbage_behind_compressed_data_is_told(tmp_path, pack, name):
    (tmp_path / "c").write_bytes(pack(DATA) + b"garbage that is no member")
    data, problem = whole(tmp_path / "c")
    assert data == DATA
    assert problem.startswith(f"damaged {name} data near byte")


def test_compressed_zeros_are_unpacked_in_bounded_blocks(tmp_path):
    (tmp_path / "c").write_bytes(zstd(bytes(200_000_000)))
    octets = Source(str(tmp_path / "c"))
    sizes = [len(block) for block in iter(octets.read, None)]
    octets.close()
    assert sum(sizes) == 200_000_000
    assert max(sizes) <= source.PIECE * 32 * 1024


@pytest.mark.parametrize("size", [0, 1, 3, 5, 6])
def test_short_files_come_whole(tmp_path, size):
    (tmp_path / "c").write_bytes(DATA[:size])
    assert whole(tmp_path / "c") == (DATA[:size], None)


def test_pipe_is_read_to_its_end():
    reader, writer = os.pipe()
    threading.Thread(target=lambda: (os.write(writer, b"abc"), os.close(writer))).start()
    assert whole(f"/dev/fd/{reader}", follow=True) == (b"abc", None)
    os.close(reader)


def test_standard_input(tmp_path, monkeypatch):
    (tmp_path / "c").write_bytes(DATA)
    with open(tmp_path / "c", "rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert whole("-") == (DATA, None)


def test_growing_file_is_followed(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"0123456")
    octets = Source(str(path), follow=True)
    assert octets.read() == b"0123456"
    assert octets.read() == b""
    with path.open("ab") as file:
        file.write(b"789")
    assert octets.read() == b"789"
    octets.close()


def test_growing_compressed_file_is_followed(tmp_path):
    path = tmp_path / "c"
    packer = zstandard.ZstdCompressor().compressobj()
    flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    path.write_bytes(packer.compress(b"0123456") + packer.flush(flush))
    octets = Source(str(path), follow=True)
    assert octets.read() == b"0123456"
    assert octets.read() == b""
    with path.open("ab") as file:
        file.write(packer.compress(b"789") + packer.flush(flush))
    assert octets.read() == b"789"
    octets.close()


def test_followed_file_that_shrinks_ends_with_a_problem(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"0123456789")
    octets = Source(str(path), follow=True)
    octets.read()
    path.write_bytes(b"0")
    assert octets.read() is None
    assert octets.problem == "the file shrank below byte 10 while it was followed"
    octets.close()


def test_interrupt_while_following_ends_the_octets(tmp_path, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    (tmp_path / "c").write_bytes(b"0123456789")
    monkeypatch.setattr(source.time, "sleep", interrupt)
    assert whole(tmp_path / "c", follow=True) == (b"0123456789", None)


def test_missing_file_and_directory_are_told(tmp_path):
    with pytest.raises(CaptureError, match="nothing: no such file or directory"):
        Source(str(tmp_path / "nothing"))
    with pytest.raises(CaptureError, match="is a directory, expected a capture file"):
        Source(str(tmp_path))
    with pytest.raises(CaptureError, match="embedded null"):
        Source("a\0b")
