"""`read --bodies`: bodies as files, joined, decoded, never over others."""

import json

import pytest

from kit.body_talk import ATTACHED, BATCH, TEXT, TRANSFER


@pytest.fixture
def written(opened, amqpscope, tmp_path):
    """`written(*options)`: run it; its code and output, and the files that are there then."""
    path = opened(TEXT, name="a b;$(x).pcapng")

    def run(*options):
        out = tmp_path / "out" / "deep"
        done = amqpscope("read", path, "--bodies", out, *options)
        files = {each.name: each.read_bytes() for each in out.iterdir()} if out.exists() else {}
        return done.returncode, done.stdout.strip(), files

    return run


def test_bodies_are_written_and_never_over_others(written):
    code, said, files = written()
    assert code == 0
    assert said.startswith("5 bodies written to ")
    assert said.endswith("; secrets covered in 1 (--show-secrets writes them)")
    assert sorted(files) == [
        "a_b_x-000010.json",
        "a_b_x-000011-1.txt",
        "a_b_x-000011-2.json",
        "a_b_x-000013.txt",
        "a_b_x-000014.txt",
    ]
    assert json.loads(files["a_b_x-000010.json"])["total"] == 9.5
    assert files["a_b_x-000013.txt"] == b"one body"
    assert b"hunter2" not in files["a_b_x-000014.txt"]
    code, said, again = written("--show-secrets")
    assert code == 2
    assert said == "0 bodies written, 5 skipped: the file exists already"
    assert again == files


def test_what_a_batch_has_in_the_place_of_a_message_is_written_as_it_is(
    opened, amqpscope, tmp_path
):
    batch = f'{TRANSFER.format(0)} message-format={BATCH} | data(b"no message")'
    path = opened(f"{ATTACHED}\n{batch}\n")
    done = amqpscope("read", path, "--bodies", tmp_path / "out")
    assert done.stdout.startswith("1 body written to ")
    (written,) = (tmp_path / "out").iterdir()
    assert written.read_bytes() == b"no message"


def test_a_filter_chooses_messages_by_any_of_their_frames(written, amqpscope, root, tmp_path):
    code, said, files = written("-Y", "frame == 12", "--show-secrets")
    assert (code, [*files]) == (0, ["a_b_x-000013.txt"])
    assert said.startswith("1 body written to ")
    (tmp_path / "file").write_text("")
    capture = root / "captures" / "v091_pika_basic-rabbitmq.pcap"
    done = amqpscope("read", capture, "--bodies", tmp_path / "file" / "x", "-Y", "basic.deliver")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("cannot be written: not a directory")
