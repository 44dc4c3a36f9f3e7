"""What may be named as an input."""

import json
import shutil
import struct

import pytest

from amqpscope.spark import run_pipeline
from amqpscope.spark.directory import Directory
from amqpscope.spark.list_spark import ListingError, list_rings

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def archive(root, tmp_path):
    """A directory with captures plain and packed, and what is none."""
    import gzip

    import zstandard

    data = (root / "captures" / "demo.pcapng").read_bytes()
    for day in ("2026-11-15", "2026-11-16"):
        (tmp_path / "in" / day).mkdir(parents=True)
        (tmp_path / "in" / day / "a.pcapng").write_bytes(data)
    (tmp_path / "in" / "2026-11-16" / "b.pcapng.gz").write_bytes(gzip.compress(data))
    (tmp_path / "in" / "2026-11-16" / "c d.pcapng.zst").write_bytes(zstandard.compress(data))
    (tmp_path / "in" / "2026-11-16" / "notes.txt").write_text("not a capture")
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("{}", ["a.pcapng", "a.pcapng", "b.pcapng.gz", "c d.pcapng.zst"]),
        ("file://{}/2026-11-15", ["a.pcapng"]),
        ("{}/2026-11-1*/a.pcapng", ["a.pcapng", "a.pcapng"]),
        ("{}/*/*.gz", ["b.pcapng.gz"]),
        ("{}/2026-11-16/c d.pcapng.zst", ["c d.pcapng.zst"]),
    ],
)
def test_directories_globs_and_uris(spark, archive, given, names):
    rings = list_rings(spark, (given.format(archive),), each=True)
    paths = [file.path for ring in rings for file in ring.files]
    assert sorted(path.rpartition("/")[2] for path in paths) == names
    assert all(path.startswith(str(archive)) for path in paths)


ODD = ("100%25 [1].pcap", "12:30 ü.pcap", "q?*{a,b}.pcap", "file:x.pcap", r"back\slash.pcap")


@pytest.fixture
def odd(root, tmp_path, monkeypatch):
    """A directory in which we are, with names that mean something elsewhere."""
    folder = tmp_path / "odd [x] ü"
    folder.mkdir()
    for number, name in enumerate(ODD):
        custom = struct.pack("<IIIII", 0x40000BAD, 20, 0, number, 20)
        (folder / name).write_bytes((root / "captures" / "demo.pcapng").read_bytes() + custom)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("given", "names"),
    [
        *(((name,), (name,)) for name in ODD),
        (("./file:x.pcap", "../odd [x] ü/file:x.pcap"), ("file:x.pcap",)),
        ((".", "{}", "{}/", "file://{}", "{}/../odd [x] ü"), ODD),
        (("*.pcap", "*:*"), ODD),
        ((r"q\?*",), ("q?*{a,b}.pcap",)),
    ],
)
def test_names_that_mean_something_elsewhere_are_found_once(spark, odd, given, names):
    inputs = tuple(each.replace("{}", str(odd)) for each in given)
    rings = list_rings(spark, inputs, each=False)
    paths = sorted(file.path for ring in rings for file in ring.files)
    assert paths == sorted(f"{odd}/{name}" for name in names)


def test_captures_with_such_names_are_read(spark, odd, tmp_path):
    (odd / "broken.pcap").symlink_to("nowhere")
    (odd / "empty.pcap").touch()
    (odd / "folder.pcap").mkdir()
    outcome = run_pipeline(spark, [".", str(odd)], str(tmp_path / "out %"), ring="file")
    assert (outcome.files, outcome.frames) == (len(ODD) + 2, 25 * len(ODD))
    told = {path.rpartition("/")[2]: reason for path, reason in outcome.quarantined}
    assert told["broken.pcap"] == "no such file or directory"
    assert told["empty.pcap"].startswith("empty file, expected pcap")
    assert len(told) == 2


def test_what_is_not_there_is_told_in_one_line(spark, archive, tmp_path):
    manifest = tmp_path / "rings.json"
    manifest.write_text('["a"]')
    for given, told in (
        (f"{archive}/nothing", "no such file or directory"),
        (f"{archive}/2026-11-16/*.txt", "no captures here"),
        (f"{archive}/2026-11-16/[n].pcap", "no such file or directory"),
        ("viewfs://nowhere/x", "Empty Mount table in config for viewfs://nowhere/"),
        ("unheard://of/x", "Arrow has no file system for unheard://"),
        (str(manifest), 'expected {"ring": ["path or glob", ...], ...}'),
    ):
        with pytest.raises(ListingError) as error:
            list_rings(spark, (given,), each=False)
        assert str(error.value).endswith(told)


def test_a_manifest_names_rings_and_packed_files_are_read(spark, archive, tmp_path):
    shutil.rmtree(archive / "2026-11-15")
    manifest = tmp_path / "rings.json"
    folder = archive / "2026-11-16"
    rings = {"plain": [f"{folder}/a.*"], "packed": [f"file://{folder}/b.pcapng.gz"],
             "spaced": [f"{folder}/c*"]}  # fmt: skip
    manifest.write_text(json.dumps(rings))
    outcome = run_pipeline(spark, [str(manifest)], str(tmp_path / "out"), ring="directory")
    assert (outcome.files, outcome.connections, outcome.frames) == (3, 3, 75)
    assert outcome.quarantined == []
    assert sorted(Directory(str(tmp_path / "out")).read().rings.counts()) == [
        "packed", "plain", "spaced",
    ]  # fmt: skip
