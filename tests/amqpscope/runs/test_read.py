"""Reading captures one after the other: what is shown, what is told, and the exit code."""

import gzip
import os
import shutil

import pytest

from amqpscope.filter import compile_filter

TALK = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
client: close
"""


def test_clean_captures_give_0_and_no_words(show, recorded):
    shown = show(recorded(TALK))
    assert (len(shown.lines), shown.told, shown.code) == (5, [], 0)


def test_several_captures_are_told_apart(show, recorded):
    one, two = recorded(TALK, name="one.pcapng"), recorded(TALK, name="two.pcapng")
    lines = show(one, two).lines
    assert [line for line in lines if line.endswith("pcapng:")] == [f"{one}:", f"{two}:"]
    assert len(lines) == 12


def test_frames_and_connections_are_numbered_in_each_capture(show, recorded):
    lines = show(recorded(TALK), recorded(TALK)).lines
    assert [line.split()[0] for line in lines if "header" in line] == ["1", "2", "1", "2"]


def test_only_what_the_filter_lets_through(show, recorded):
    shown = show(recorded(TALK), where=compile_filter("open || close"))
    assert [line.split()[0] for line in shown.lines] == ["frame", "3", "4"]


def test_no_heading_above_nothing(show, recorded):
    shown = show(recorded(TALK), where=compile_filter("transfer"))
    assert (shown.text, shown.told, shown.code) == ("", [], 0)


# ---------------------------------------------------------------- bad input


def bad_inputs(tmp_path):
    files = {
        "empty": b"",
        "text": b"this is no capture\n",
        "noise": bytes(range(256)) * 40,
        "half a magic": b"\xd4\xc3",
        "magic alone": b"\xd4\xc3\xb2\xa1",
        "half a header": b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00",
        "gzip of nothing": gzip.compress(b""),
        "gzip of text": gzip.compress(b"hello"),
        "half a gzip": gzip.compress(b"hello" * 100)[:15],
        "xz": b"\xfd7zXZ\x00 and so on",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "directory").mkdir()
    return [*files, "directory", "missing", "bad\0name"]


def test_what_is_no_capture_is_one_clear_line_and_2(show, tmp_path):
    for name in bad_inputs(tmp_path):
        shown = show(tmp_path / name)
        assert shown.code == 2, name
        assert shown.text == "", name
        assert len(shown.told) == 1, (name, shown.told)
        assert "\n" not in shown.told[0], name


def test_an_unreadable_capture_among_others(show, recorded, tmp_path):
    good = recorded(TALK)
    shown = show(good, tmp_path / "missing", good)
    assert shown.code == 2
    assert shown.told == [f"{tmp_path / 'missing'}: no such file or directory"]
    assert shown.text.count(" open ") == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(show, recorded):
    path = recorded(TALK)
    path.chmod(0)
    assert show(path).told == [f"{path}: permission denied"]


@pytest.mark.parametrize(
    "name", ["fmt_bigendian-v10_proton-rabbitmq_manylinks.pcap", "demo.pcapng"]
)
def test_a_capture_cut_anywhere_shows_what_is_there(show, root, tmp_path, name):
    data = (root / "captures" / name).read_bytes()
    whole = show(root / "captures" / name).lines
    path = tmp_path / name
    for size in [*range(24, 400, 23), *range(400, len(data), len(data) // 40)]:
        path.write_bytes(data[:size])
        shown = show(path)
        assert shown.code in {0, 2}
        assert len(shown.told) <= 2, shown.told
        # The last line may be a frame that is not whole.
        assert shown.lines[:-1] == whole[: max(len(shown.lines) - 1, 0)]


def test_a_cut_capture_says_so(show, root):
    shown = show(root / "captures" / "dmg_filecut-v10_proton-rabbitmq_manylinks.pcap")
    assert len(shown.lines) == 444
    assert len(shown.told) == 1
    assert "cut short" in shown.told[0]
    assert shown.code == 0


def test_holes_are_counted(show, root):
    shown = show(root / "captures" / "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap")
    assert [line.partition(": ")[2] for line in shown.told] == ["octets are missing at 4 places"]
    assert shown.code == 0


def test_a_capture_without_amqp_says_what_may_help(show, recorded):
    shown = show(recorded("client: octets 0x474554\n", port=80))
    assert shown.text == ""
    assert "no AMQP in 4 packets" in shown.told[0]
    assert "--decode-as" in shown.told[0]


def test_a_protocol_that_is_not_read_is_named(show, recorded):
    shown = show(recorded("client: octets 0x414d51500101000a\n"))
    assert "amqp-0-10" in shown.told[0]


def test_amqp_0_9_1_is_read(show, root):
    shown = show(root / "captures" / "v091_pika_basic-rabbitmq.pcap")
    assert shown.told == []
    assert sum("basic.publish" in line for line in shown.lines) == 10


# ---------------------------------------------------------------- TLS


def test_tls_without_keys_says_what_is_needed(show, root):
    shown = show(root / "captures" / "v10_tls-proton-rabbitmq.pcap")
    assert shown.text == ""
    assert "--keylog" in shown.told[0]


def test_a_key_log_that_is_not_there(show, recorded):
    shown = show(recorded(TALK), keylog=("nosuch.keys",))
    assert shown.told == ["nosuch.keys: key log cannot be read: no such file or directory"]
    assert shown.code == 2
    assert len(shown.lines) == 5


@pytest.mark.tshark
def test_tls_with_keys(show, root):
    captures = root / "captures"
    keys = str(captures / "v10_tls-proton-rabbitmq.keys")
    lines = show(captures / "v10_tls-proton-rabbitmq.pcap", keylog=(keys,)).lines
    assert len(lines) == 38
    assert lines == show(captures / "v10_tls-proton-rabbitmq_dsb.pcapng").lines


# ---------------------------------------------------------------- forms of the same capture


def test_file_formats_make_no_difference(show, root):
    captures = root / "captures"
    texts = {path.name: show(path).text for path in captures.glob("fmt_*.pcap*")}
    assert len(texts) == 4
    assert len(set(texts.values())) == 1


def test_compression_makes_no_difference(show, root, tmp_path):
    path = root / "captures" / "demo.pcapng"
    packed = tmp_path / "demo.pcapng.gz"
    with gzip.open(packed, "wb") as file, path.open("rb") as source:
        shutil.copyfileobj(source, file)
    assert show(packed).text == show(path).text


def test_interleaved_messages_are_shown_at_their_last_transfer(show, root):
    path = root / "captures" / "v10_proton-labbroker_large_links.pcap"
    lines = [line for line in show(path).lines if " transfer " in line]
    last = [line for line in lines if " in all " in line]
    assert len(lines) == 86
    assert all('"' in line for line in last)
    assert not any('"' in line for line in lines if " more" in line)
