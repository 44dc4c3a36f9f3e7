"""Paths as people write them, and as the operating system, Hadoop and Arrow want them."""

import os

import pytest

from amqpscope.spark.files import absolute, local_path, locate, open_octets, reason_of, system_of


@pytest.mark.parametrize(
    ("path", "local", "system"),
    [
        ("/captures/a b%20.pcap",      "/captures/a b%20.pcap", ""),
        ("file:/captures/a.pcap",      "/captures/a.pcap",      "file:"),
        ("file:///captures/100%.pcap", "/captures/100%.pcap",   "file://"),
        ("file:a.pcap",                "file:a.pcap",           ""),
        ("12:30.pcap",                 "12:30.pcap",            ""),
        ("at:12/30.pcap",              "at:12/30.pcap",         ""),
        ("s3://lab/a:b",               None,                    "s3://lab"),
        ("hdfs:///captures",           None,                    "hdfs://"),
        ("hdfs://name:8020/captures",  None,                    "hdfs://name:8020"),
        ("s3a://lab",                  None,                    "s3a://lab"),
    ],
)  # fmt: skip
def test_a_path_names_its_file_system(path, local, system):
    assert (local_path(path), system_of(path)) == (local, system)


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("x/../a.pcap",     "{}/a.pcap"),
        ("file:a.pcap",     "{}/file:a.pcap"),
        ("12:30.pcap",      "{}/12:30.pcap"),
        ("file:/x/../y/",   "file:///y"),
        ("s3://lab/x/",     "s3://lab/x"),
        ("s3://lab/",       "s3://lab"),
    ],
)  # fmt: skip
def test_a_relative_path_becomes_absolute_and_a_uri_stays(path, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute(path) == whole.format(tmp_path)


def test_what_cannot_be_opened_says_so_in_one_line(tmp_path):
    (tmp_path / "link.pcap").symlink_to(tmp_path / "nowhere")
    for path, reason in (
        (str(tmp_path / "link.pcap"), "no such file or directory"),
        (str(tmp_path), "is a directory"),
        ("ftp://127.0.0.1/x.pcap", "Arrow has no file system for ftp://"),
    ):
        with pytest.raises(OSError) as error:  # noqa: PT011  # what it says is what is tested
            open_octets(path).read()
        assert reason in reason_of(error.value)


def test_no_octet_of_a_remote_name_means_anything_else(bucket, monkeypatch):
    folder, environment = bucket
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("100% a.pcap", "100%25.pcap", "q?x#y.pcap", "[ü]{a,b}.pcap", "12:30.pcap"):
        (folder / name).write_text(name)
        with open_octets(f"s3://lab/{name}") as file:
            assert file.read().decode() == name
        os.remove(folder / name)
    assert locate("s3a://lab/a b")[1] == "lab/a b"
