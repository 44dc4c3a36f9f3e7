"""The frame list as people read it: columns, widths, colours, and the words of each frame."""

import re
import unicodedata

import pytest

from amqpscope.protocols.v1_0.summary import short
from amqpscope.protocols.words import printable, size

LINK = """
client: attach name="orders-link" handle=0 role=sender source=source()
                target=target(address="orders") initial-delivery-count=0
"""


@pytest.fixture
def last(show, opened):
    """The last line of a made capture, from the performative on."""

    def read(text, **options):
        return said(show(opened(text), **options).lines[-1])

    return read


def said(line):
    """A line from the performative on, without the rules that it breaks."""
    return re.sub(r" \[[A-Z]{3}-\d{3}[A-Z0-9 -]*\] ", " ", line[51:]).rstrip()


def test_columns(show, opened):
    shown = show(opened(LINK))
    assert shown.lines[0] == "frame        time con      ch link                 performative"
    assert shown.lines[1] == (
        "    1    0.000000   1 C→S                          header          AMQP 1.0.0"
    )
    assert shown.lines[-1].startswith(
        "    7    0.000000   1 C→S   0 orders-link          attach          sender anonymous -> "
    )


# fmt: off
WORDS = [
    ('open container-id="x" hostname="h" max-frame-size=512 idle-time-out=1000',
     'open            "x" hostname="h" max-frame-size=512 idle-time-out=1000'),
    ("begin[7] remote-channel=3 next-outgoing-id=1 incoming-window=2 outgoing-window=3",
     "begin           to channel 3 incoming-window=2 outgoing-window=3 next-outgoing-id=1"),
    ('attach name="n" handle=1 role=receiver source=source(address="q") '
     'target=target() snd-settle-mode=settled',
     'attach          receiver "q" -> anonymous snd-settle-mode=settled'),
    ('attach name="n" handle=1 role=receiver source=source(dynamic=true) target=null',
     "attach          receiver dynamic -> null"),
    ('attach name="n" handle=1 role=sender source=source() '
     'target=coordinator(capabilities=[:"amqp:local-transactions"])',
     "attach          sender anonymous -> coordinator"),
    ("flow next-incoming-id=1 incoming-window=2 next-outgoing-id=3 outgoing-window=4 "
     "handle=0 delivery-count=5 link-credit=6 drain=true",
     "flow            credit=6 delivery-count=5 drain incoming-window=2 "
     "next-incoming-id=1 outgoing-window=4 next-outgoing-id=3"),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" settled=true | data(b"hello")',
     'transfer        #4 10 B settled "hello"'),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" | properties(subject="s") data(0x00ff)',
     'transfer        #4 19 B unsettled subject="s" 0x00ff'),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" | data(b"a") data(b"b")',
     'transfer        #4 12 B unsettled "a" +1'),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" | amqp-value({"k"=uint 1})',
     'transfer        #4 11 B unsettled {"k"=uint 1}'),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" | amqp-value(null)',
     "transfer        #4 4 B unsettled null"),
    ('transfer handle=0 delivery-id=4 delivery-tag=b"t" | amqp-sequence([uint 1])',
     "transfer        #4 8 B unsettled [uint 1]"),
    ("disposition role=receiver first=1 last=3 settled=true state=accepted()",
     "disposition     #1-3 accepted settled by receiver"),
    ('disposition role=receiver first=1 state='
     'rejected(error=error(condition=:amqp:not-found description="no"))',
     'disposition     #1 rejected amqp:not-found "no" unsettled by receiver'),
    ("disposition role=sender first=1 settled=true state=modified(delivery-failed=true)",
     "disposition     #1 modified delivery-failed=true settled by sender"),
    ("detach handle=0 closed=true error=error(condition=:amqp:link:stolen)",
     "detach          closed amqp:link:stolen"),
    ("end", "end"),
    ('close error=error(condition=:amqp:connection:forced description="bye")',
     'close           amqp:connection:forced "bye"'),
    ("sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]",
     "sasl-mechanisms PLAIN,ANONYMOUS"),
    ("sasl-outcome code=auth", "sasl-outcome    auth"),
    ("empty", "empty"),
]
# fmt: on


@pytest.mark.parametrize(("unit", "words"), WORDS)
def test_each_frame_says_the_most_telling_first(last, unit, words):
    assert last(f"{LINK}client: {unit}\n") == words


def test_parts_of_a_message_are_counted(show, opened):
    text = """
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" more=true | raw 0x005375a00468
client: transfer handle=0 more=true | raw 0x656c
client: transfer handle=0 | raw 0x6c
"""
    lines = [said(line) for line in show(opened(LINK + text)).lines[-3:]]
    assert lines[0].startswith("transfer        #0 6 B unsettled more")
    assert lines[1].startswith("transfer        #0 2 B, part 2, 8 B so far unsettled more")
    assert lines[2].startswith('transfer        #0 1 B, part 3, 9 B in all unsettled "hell"')


def test_times_count_from_the_first_frame_of_the_capture_also_behind_a_filter(show, recorded):
    from amqpscope.filter import compile_filter

    path = recorded("client: header AMQP 1.0.0\n@1.5s client: close\n")
    assert show(path, where=compile_filter("close")).lines[1].split()[1] == "1.500000"


@pytest.mark.parametrize("width", [40, 60, 80, 99, 120, 200])
def test_no_line_is_wider_than_the_terminal(show, root, width):
    for name in ("demo.pcapng", "v10_proton-labbroker_types.pcap"):
        for line in show(root / "captures" / name, width=width).lines:
            assert len(line) <= width


def test_narrow_terminals_get_the_same_frames(show, root):
    path = root / "captures" / "demo.pcapng"
    wide, narrow = (
        [line for line in lines if line[:5].strip().isdecimal()]
        for lines in (show(path).lines, show(path, width=80).lines)
    )
    assert len(wide) == len(narrow) > 20
    assert all("transfer" in narrow[at] for at, line in enumerate(wide) if "transfer" in line)


def test_a_finding_is_wrapped_and_not_cut(show, root):
    lines = show(root / "captures" / "demo.pcapng", width=80).text.splitlines()
    at = next(at for at, line in enumerate(lines) if "[CON-008]" in line)
    assert max(map(len, lines)) <= 80
    assert lines[at + 1].startswith(" " * 8)


def test_colours_change_nothing_but_colours(show, root):
    path = root / "captures" / "demo.pcapng"
    coloured = show(path, colour=True).text
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == show(path).text


def test_every_coloured_line_ends_its_colour(show, root):
    for line in show(root / "captures" / "demo.pcapng", colour=True).lines:
        assert line.rpartition("\x1b[")[2].startswith("0m") or "\x1b[" not in line


def test_what_is_found_too_late_stands_on_a_line_of_its_own(show, root):
    shown = show(root / "captures" / "demo.pcapng")
    assert shown.text.splitlines()[-1] == (
        "      info[CON-008] frame 25: close-before-tcp-close (server, suspect): the server resets"
        " the connection without a close; the last frame it had received is 25"
    )
    assert shown.late == [("CON-008", 25)]


def test_ascii_terminals_get_ascii(show, root):
    assert show(root / "captures" / "demo.pcapng", plain=True).text.isascii()


@pytest.mark.parametrize("width", [0, 80])
def test_what_was_captured_cannot_move_the_cursor(show, opened, width):
    evil = r"\u001b[2J\u0007\r\n\u009b31m\u202e"
    text = f"""
client: attach name="{evil}" handle=0 role=sender source=source(address="{evil}")
                target=target(address="{evil}") initial-delivery-count=0
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" | properties(subject="{evil}")
                amqp-value("{evil}")
client: close error=error(condition=:amqp:not-found description="{evil}")
"""
    for options in ({}, {"tree": True}, {"octets": True}, {"form": "csv"}, {"form": "jsonl"}):
        shown = show(opened(text), width=width, **options).text
        odd = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf"} and c != "\n"}
        assert odd == set(), options
        assert shown.count("\n") == len(shown.split("\n")) - 1


def test_printable_keeps_what_can_be_printed():
    assert printable("naïve 日本 \U0001f600") == "naïve 日本 \U0001f600"
    assert printable("a\tb\x1b") == "a\\tb\\x1b"


@pytest.mark.parametrize(
    ("octets", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1536, "1.54 kB"), (2_000_000, "2 MB"),
     (3_210_000_000, "3.21 GB")],
)  # fmt: skip
def test_sizes_are_told_in_three_digits(octets, words):
    assert size(octets) == words


def test_nothing_is_null():
    assert short(None) == "null"
