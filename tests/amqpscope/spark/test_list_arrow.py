"""Inputs that Arrow lists, on this machine and on a real S3 server."""

import pytest

from amqpscope.capture.ring import is_hidden
from amqpscope.spark.list_arrow import walk

NAMES = ("2026-11-15/a.pcap", "2026-11-15/b c.pcap", "2026-11-16/a.pcap", "x[1]/100%.pcap",
         "x[1]/ü:é.pcap", "x1/q.pcap", "_staging/a.pcap", "x1/.hidden.pcap")  # fmt: skip


@pytest.fixture(params=["local", "s3"])
def archive(request, tmp_path):
    """Where an archive is, and how its paths begin."""
    if request.param == "local":
        folder, begin = tmp_path, str(tmp_path)
    else:
        lab, environment = request.getfixturevalue("bucket")
        monkeypatch = request.getfixturevalue("monkeypatch")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        folder, begin = lab / tmp_path.name, f"s3://lab/{tmp_path.name}"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return begin


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("",                         [name for name in NAMES if not is_hidden(name)]),
        ("/2026-11-15",              NAMES[:2]),
        ("/2026-11-15/b c.pcap",     NAMES[1:2]),
        ("/2026-11-1?/a.pcap",       [NAMES[0], NAMES[2]]),
        ("/2026-*",                  NAMES[:3]),
        ("/*/a.*",                   [NAMES[0], NAMES[2]]),
        ("/{x1,2026-11-16}/*.pcap",  [NAMES[2], NAMES[5]]),
        ("/2026-11-1[^5]/*",         NAMES[2:3]),
        ("/x[1]",                    NAMES[3:5]),
        ("/x[0-9]/*",                NAMES[5:6]),
        (r"/x\[1\]/*%*",             NAMES[3:4]),
        ("/x[1]/ü:é.pcap",           NAMES[4:5]),
        ("/x[1]/*é*",                NAMES[4:5]),
    ],
)  # fmt: skip
def test_directories_globs_and_files(archive, given, names):
    found = walk(archive + given)
    assert sorted(file.path for file in found) == sorted(f"{archive}/{name}" for name in names)
    assert all(file.size == len(file.path.removeprefix(f"{archive}/").encode()) for file in found)


@pytest.mark.parametrize("given", ["/nothing", "/*.zip", "/nothing/*", "/2026-11-15/[z-a]*"])
def test_what_is_not_there_is_told(archive, given):
    with pytest.raises(OSError, match=r"(?i)no such file|not a glob|does not exist"):
        walk(archive + given)


def test_an_s3_server_that_refuses_is_told(bucket, monkeypatch):
    for name, value in {**bucket[1], "AWS_SECRET_ACCESS_KEY": "wrong"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(OSError, match="AWS Error"):
        walk("s3://other/captures")
