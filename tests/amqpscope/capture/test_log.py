"""Frame logs of libraries, read as captures; those here were written by these libraries."""

import re
from pathlib import Path

import pytest

import amqpscope
from amqpscope.capture.log import Log
from amqpscope.protocols.logs import LOST, time_in

LOGS = Path(__file__).parent / "logs"
ROUTER = "2026-11-18 12:00:00.25 +0000 PROTOCOL (trace) [C3]:0 "


def log_of(*lines):
    return Log(f"{line}\n" for line in lines)


def frames_of(path):
    """What each peer sent, in order."""
    found = {0: [], 1: []}
    for step in amqpscope.steps(str(path)):
        unit, raw = step.frame.unit, step.frame.raw
        fields = re.sub(r"Array\(0x..", "Array(", repr(unit.body))  # however long its elements are
        sent = unit.header if unit.body is None else (fields, raw[unit.payload :])
        found[step.frame.sender].append((unit.channel, step.event.name, sent))
    return found


def findings_of(path):
    return {(each.rule, each.peer, each.certainty) for each in amqpscope.lint(str(path)).findings}


@pytest.mark.parametrize("name", ["proton_transactions", "proton_outcomes"])
def test_a_log_and_a_capture_of_the_same_run_show_the_same(name):
    assert frames_of(LOGS / f"{name}.log") == frames_of(LOGS / f"{name}.pcapng")
    assert findings_of(LOGS / f"{name}.log") <= findings_of(LOGS / f"{name}.pcapng")


@pytest.mark.parametrize("name", ["rhea_frames", "rhea_raw"])
def test_frames_of_rhea_are_read_without_a_false_finding(name):
    names = [step.event.name for step in amqpscope.steps(str(LOGS / f"{name}.log"))]
    assert names[:4] == ["header", "open", "begin", "attach"]
    assert names.count("transfer") == 10
    assert names[-2:] == ["close", "close"]
    # The broker of these logs encodes messages again, in other octets.
    assert findings_of(LOGS / f"{name}.log") == {("BRK-101", "server", "suspect")}


def test_values_of_all_types_are_read_as_proton_prints_them():
    (step,) = amqpscope.steps(str(LOGS / "proton_types.log"))
    properties = {str(key): value for key, value in step.frame.unit.body.properties}
    assert properties["bin"] == b'a"b\\\x00\xff'
    assert properties["str"] == 'q"u\\o\u20ac\n'
    assert properties["sy m"] == "odd sym"
    assert (properties["ul"], properties["l"], properties["d"]) == (8, -8, 2.25)
    assert list(properties["arr"]) == [1, 2, 3]
    assert properties["u"].hex()[-2:] == "05"
    assert properties["list"] == [1, "a", None]
    assert (properties["desc"].descriptor, properties["desc"].value) == ("my:d", "v")


def without_false(fields):
    return re.sub(r"(?:, )?\w+=False", "", fields)


def test_frames_of_azures_python_sdk_show_what_the_capture_does():
    log, capture = (frames_of(LOGS / f"pyamqp.{kind}") for kind in ("log", "pcapng"))
    for sender in (0, 1):
        logged = [(name, sent) for _, name, sent in log[sender]]
        seen = [(name, sent) for _, name, sent in capture[sender] if "sasl" not in name]
        names = [name for name, _ in seen[1:]]
        assert [name for name, _ in logged] == names[: len(logged)]
        for (_, one), (_, other) in zip(logged[1:], seen[2:], strict=False):
            # The library fills in what a partner leaves out and has false for its default.
            assert without_false(one[0]) == without_false(other[0])
    assert findings_of(LOGS / "pyamqp.log") <= findings_of(LOGS / "pyamqp.pcapng")


OPENED = ["open", "begin", "attach", "transfer", "disposition", "detach"]
"""What passes in the logs of libraries that do not run here."""


@pytest.mark.parametrize(
    ("name", "headers", "size"),
    [("goamqp", 0, 621), ("netlite", 2, 1004), ("protonj", 2, 20), ("uamqp", 2, 2)],
)
def test_frames_of_other_libraries_are_read_without_a_false_finding(name, headers, size):
    steps = list(amqpscope.steps(str(LOGS / f"{name}.log")))
    names = [step.event.name for step in steps]
    assert [each for each in OPENED if each in names] == OPENED
    assert names.count("header") == headers
    bodies = {step.event.name: step.frame.unit.body for step in steps}
    (transfer,) = (step.frame for step in steps if step.event.name == "transfer")
    assert len(transfer.raw) - transfer.unit.payload + transfer.missing == size
    assert transfer.unit.body.delivery_tag == b"\x01["
    error = bodies["detach"].error
    assert (error.condition, error.description) == ("amqp:not-found", "gone, sorry: [x]")
    opened = next(step for step in steps if step.event.name == "open").frame.unit.body
    assert (opened.container_id, opened.max_frame_size) == ("c-1", 65536)
    assert {str(key): value for key, value in opened.properties} == {
        "product": "my sdk", "version": "1.2",
    }  # fmt: skip
    assert findings_of(LOGS / f"{name}.log") == set()


def test_a_line_that_cannot_be_understood_is_a_frame_that_is_missing(tmp_path):
    path = tmp_path / "damaged.log"
    text = (LOGS / "protonj.log").read_text()
    path.write_text(text.replace("Transfer{handle=0", "Transfer{handle=zero"))
    steps = list(amqpscope.steps(str(path)))
    assert steps[-1].event.name == "detach"
    assert findings_of(path) == set()


def test_lines_of_a_terminal_have_colours_and_no_times():
    log = log_of(
        "  \x1b[36;1mrhea:frames \x1b[0m[connection-1] -> { protocol_id: \x1b[33m0\x1b[39m } +0ms",
        '  rhea:frames [connection-1]:0 -> open#10 {"container_id":"c"}  +15ms',
        "  rhea:raw [connection-1] SENT: 8 0000000802000000 +2s",
    )
    assert [len(entry.octets) for _, entry in log.talks[0].entries] == [8, 8]


def test_earlier_versions_of_proton_quote_payloads():
    log = log_of(r'[0x1]:0 <- @transfer(20) [handle=0, delivery-tag=b"\xb0"] (5) "\x00Sw\xa1""')
    ((_, entry),) = log.talks[0].entries
    assert entry.octets.endswith(b'\0Sw\xa1"')


def test_a_time_of_day_is_a_time():
    assert time_in("[09:49:15.190] SEND") - time_in("09:49:15") == 190_000_000


def test_a_payload_that_the_log_cuts_is_missing_and_not_malformed(tmp_path):
    path = tmp_path / "cut.log"
    path.write_text(
        "[0x1]:  -> AMQP\n"
        '[0x1]:0 -> @open(16) [container-id="c"]\n'
        "[0x1]:0 -> @begin(17) [next-outgoing-id=0x0, incoming-window=0x1, outgoing-window=0x1]\n"
        '[0x1]:0 -> @transfer(20) [handle=0x0, delivery-id=0x0, delivery-tag=b"1"] (5000) '
        "\\x00SpE\\x00Su\\xb0 ... (truncated)\n"
        "[0x1]:0 -> @close(24) []\n"
    )
    steps = list(amqpscope.steps(str(path)))
    assert [step.event.name for step in steps][-2:] == ["transfer", "close"]
    assert steps[-2].frame.missing == 5000 - 8
    assert not [each for each in amqpscope.lint(str(path)).findings if each.rule.startswith("FRM")]


def test_connections_are_told_apart_by_name_and_by_their_headers():
    log = log_of(
        "[0x1]:  -> AMQP", "[0x2]:  <- AMQP", "[0x1]:0 -> @close(24) []", "[0x1]:  -> EOS",
        "[0x1]:  -> AMQP",
    )  # fmt: skip
    assert [len(talk.entries) for talk in log.talks] == [3, 1, 1]
    first, second, _ = log.exchanges()
    assert [each.sender for each in first.sent] == [0, 0, 0]
    assert [each.sender for each in second.sent] == [0]  # a server's log: the partner came first


def test_a_router_log_has_times_and_other_lines():
    log = log_of("2026-11-18 12:00:00 SERVER (info) started", f"{ROUTER}-> @close(24) []")
    ((_, entry),) = log.talks[0].entries
    assert (entry.connection, entry.time) == ("C3", time_in("2026-11-18T12:00:00.250Z"))


def test_a_line_that_cannot_be_understood_is_reported_and_the_rest_is_read():
    log = log_of("[0x1]:  -> AMQP", "[0x1]:0 -> @open(16) [nonsense=1]", "[0x1]:0 -> @close(24) []")
    assert [entry.lost for _, entry in log.talks[0].entries] == [0, LOST, 0]
    assert "1 line could not be understood" in list(log.notes())[-1]
    assert "expected a field of open" in list(log.notes())[-1]


def test_octets_in_hexadecimal_are_read_for_any_protocol(tmp_path):
    path = tmp_path / "dump.txt"
    path.write_text("12:00 OUT: 41 4d 51 50 00 00 09 01\nIN 0100000000000cce\n")
    steps = list(amqpscope.steps(str(path)))
    assert steps[0].conversation.protocol == "amqp-0-9-1"


def test_other_text_is_no_capture(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("-> see the minutes\n" * 3)
    with pytest.raises(amqpscope.CaptureError, match="not a capture"):
        list(amqpscope.steps(str(path)))
