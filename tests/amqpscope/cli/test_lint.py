"""`amqpscope lint`, `explain` and `rules` as a user and a CI job meet them."""

import fcntl
import gzip
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from xml.etree import ElementTree

import pytest

FORMATS = ("text", "json", "sarif", "junit", "github")


@pytest.fixture
def lint(amqpscope, tmp_path):
    """Run `lint` where no configuration of ours is found."""
    return lambda *arguments, **how: amqpscope("lint", *arguments, cwd=tmp_path, **how)


@pytest.mark.parametrize("form", FORMATS)
def test_exit_codes_are_the_same_for_every_format(lint, bad, good, form):
    assert lint("--format", form, "--select", "FLW", good).returncode == 0
    assert lint("--format", form, bad).returncode == 1
    assert lint("--format", form, "--fail-on", "never", bad).returncode == 0
    assert lint("--format", form, bad, "none.pcap").returncode == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--ignore", "FLW-016"), 0),
        (("--ignore", "flw"), 0),
        (("--ignore", "transfer-without-credit,MSG"), 0),
        (("--select", "MSG"), 0),
        (("--select", "FLW-016"), 1),
        (("--select", "ALL", "--ignore", "FLW"), 0),
        (("--fail-on", "never"), 0),
        (("--fail-on", "info", "--select", "FLW-016"), 1),
    ],
)
def test_rules_are_chosen_on_the_command_line(lint, bad, options, code):
    assert lint(*options, bad).returncode == code


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--select", "FLW-0166"), "'FLW-0166' is no rule or group; did you mean FLW-016?"),
        (("--ignore", "nonsense%"), "'nonsense%' is no rule or group; amqpscope rules lists them"),
        (("--config", "none.toml"), "none.toml: no such file or directory"),
        (("--baseline", "none.json"), "none.json: no such file or directory"),
        (("--write-baseline", "no/where.json"), "no/where.json: no such file or directory"),
        (("--output", "no/where.txt"), "cannot write: no such file or directory"),
        (("--statistics", "--format", "sarif"), "--statistics counts in text and json only"),
        (("--jobs", "0"), "0 is not in the range x>=1"),
        (("--keylog", "none.keys"), "none.keys: key log cannot be read: no such file or directory"),
    ],
)
def test_bad_usage_is_one_clear_line_and_code_2(lint, bad, options, told):
    done = lint(*options, bad)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_one_unreadable_capture_does_not_keep_the_others_from_being_checked(lint, bad, tmp_path):
    (tmp_path / "junk.pcap").write_bytes(b"this is no capture")
    done = lint("--format", "json", "junk.pcap", bad, "none.pcap")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert [bool(capture["error"]) for capture in document["captures"]] == [True, False, True]
    assert "FLW-016" in {finding["rule"] for finding in document["findings"]}
    assert len(done.stderr.splitlines()) == 2


def test_a_cut_capture_is_checked_as_far_as_it_goes(lint, bad):
    bad.write_bytes(bad.read_bytes() + b"\6\0\0\0cut")
    done = lint("--format", "json", bad)
    assert done.returncode == 1
    assert "cut short" in done.stderr
    assert "cut short" in json.loads(done.stdout)["captures"][0]["error"]


def test_one_connection_of_a_capture_is_checked_by_its_number(lint, root):
    path = root / "captures" / "mixed_091-and-10_rabbitmq.pcap"
    every = json.loads(lint("--format", "json", path).stdout)["findings"]
    for number in (1, 2):
        shown = json.loads(lint("--format", "json", f"{path}#{number}").stdout)
        assert shown["captures"][0]["path"] == f"{path}#{number}"
        expected = [each["frame"] for each in every if each["connection"] == number]
        assert expected
        assert [each["frame"] for each in shown["findings"]] == expected
    none = lint(f"{path}#9")
    assert none.returncode == 2
    assert none.stderr.endswith("#9: there is no connection 9, the last is 4\n")


def test_a_capture_without_amqp_is_mentioned(lint, recorded):
    done = lint(recorded("", name="other.pcapng"))
    assert done.returncode == 0
    assert "other.pcapng: no AMQP in 3 packets" in done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap", "octets are missing at "),
    ],
)
def test_what_could_not_be_checked_is_said(lint, root, name, told):
    assert f"{name}: {told}" in lint(root / "captures" / name).stderr


def test_a_protocol_that_is_not_checked_is_named(lint, recorded):
    done = lint(recorded("client: octets 0x414d51500101000a\n", name="new.pcapng"))
    assert "new.pcapng: amqp-0-10 is not checked beyond its protocol header" in done.stderr


def test_a_directory_without_captures_is_an_error(lint, tmp_path):
    (tmp_path / "empty").mkdir()
    done = lint("empty")
    assert done.returncode == 2
    assert done.stderr == "amqpscope: empty: no captures in this directory\n"


def test_standard_input_is_a_capture_too(lint, bad, good):
    for others in ((), (good, good)):
        with bad.open("rb") as stdin:
            done = lint("--format", "json", "--select", "FLW-016", "-", *others, stdin=stdin)
        [finding] = json.loads(done.stdout)["findings"]
        assert (finding["capture"], finding["frame"], done.returncode) == ("-", 11, 1)


def test_a_compressed_capture_from_standard_input_is_shown_with_its_frame(lint, bad, tmp_path):
    (tmp_path / "bad.gz").write_bytes(gzip.compress(bad.read_bytes()))
    with (tmp_path / "bad.gz").open("rb") as stdin:
        done = lint("--select", "FLW-016", "-", stdin=stdin)
    assert "  11 | C→S  0 transfer" in done.stdout.replace("      C→S", " C→S")


@pytest.mark.tshark
def test_a_key_log_opens_tls(lint, root):
    captures = root / "captures"
    [keys] = captures.glob("v10_tls-proton-rabbitmq*.key*")
    path = captures / "v10_tls-proton-rabbitmq.pcap"
    closed = json.loads(lint("--format", "json", path).stdout)["captures"][0]
    opened = json.loads(lint("--format", "json", "--keylog", keys, path).stdout)["captures"][0]
    assert (closed["frames"], opened["frames"] > 10) == (0, True)


def test_results_do_not_depend_on_the_number_of_jobs(lint, root):
    captures = sorted((root / "captures").glob("v10_proton-labbroker_[a-d]*.pcap"))
    runs = [lint("--format", "json", "-j", jobs, *captures) for jobs in (1, 2, 5)]
    assert len({run.stdout for run in runs}) == len({run.returncode for run in runs}) == 1


def test_reports_go_to_a_file(lint, bad, tmp_path):
    done = lint("--format", "junit", "--output", "report.xml", bad)
    assert (done.returncode, done.stdout) == (1, "")
    assert ElementTree.parse(tmp_path / "report.xml").getroot().get("failures") != "0"


def test_statistics_count_instead_of_listing(lint, bad):
    other = bad.with_name("other.pcapng")
    other.write_bytes(bad.read_bytes())
    done = lint("--statistics", "--select", "FLW-016", bad, other, bad.parent)
    assert done.stdout.split() == ["2", "FLW-016", "error", "client", "transfer-without-credit"]
    done = lint("--statistics", "--format", "json", "--select", "FLW-016", bad)
    assert json.loads(done.stdout)[0]["times"] == 1


class TestMaxFindings:
    """So many are listed, all are counted."""

    OPTIONS = ("--select", "OUT-010", "--max-findings")

    def test_text_says_how_many_more_there_are(self, lint, many):
        shown = lint(*self.OPTIONS, "3", many).stdout
        assert shown.count("info[OUT-010]") == 4
        assert "... and 7 more info[OUT-010] rejected-without-error (server, connection 1)" in shown
        assert "Found 10 info" in shown

    def test_json_tells_what_is_left_out(self, lint, many):
        told = json.loads(lint(*self.OPTIONS, "3", "--format", "json", many).stdout)
        assert (len(told["findings"]), told["summary"]["info"]) == (3, 10)
        assert told["omitted"] == [
            {
                "rule": "OUT-010",
                "name": "rejected-without-error",
                "severity": "info",
                "peer": "server",
                "connection": 1,
                "capture": str(many),
                "count": 7,
            }
        ]

    @pytest.mark.parametrize("form", ["sarif", "junit", "github"])
    def test_other_formats_say_it_beside_the_report(self, lint, many, form):
        done = lint(*self.OPTIONS, "3", "--format", form, many)
        assert f"{many}: 7 findings are not listed, --max-findings 0 does" in done.stderr

    def test_zero_is_all(self, lint, many):
        assert lint(*self.OPTIONS, "0", many).stdout.count("info[OUT-010]") == 10

    def test_a_baseline_knows_all(self, lint, many, tmp_path):
        known = tmp_path / "known.json"
        assert (
            "10 findings kept" in lint(*self.OPTIONS, "3", "--write-baseline", known, many).stderr
        )


def test_a_rule_that_is_not_checked_is_mentioned_when_it_is_selected(lint, good, amqpscope):
    rows = json.loads(amqpscope("rules", "--format", "json").stdout)
    unchecked = next(row["id"] for row in rows if row["status"] == "not observable")
    done = lint("--select", unchecked, good)
    assert done.returncode == 0
    assert done.stderr == f"amqpscope: {unchecked}: this rule is not checked: not observable\n"


@pytest.mark.parametrize("name", ["amqpscope.toml", "pyproject.toml"])
def test_the_configuration_counts_and_the_command_line_wins(lint, bad, tmp_path, name):
    head = "[tool.amqpscope]\n" if name == "pyproject.toml" else ""
    (tmp_path / name).write_text(f'{head}ignore = ["FLW-016"]\n')
    assert lint(bad).returncode == 0
    assert lint("--ignore", "MSG", bad).returncode == 1
    assert lint("--select", "FLW-016", bad).returncode == 0


def test_a_wrong_configuration_is_one_line(lint, bad, tmp_path):
    (tmp_path / "amqpscope.toml").write_text('[severity]\nFLW-016 = "fatal"\n')
    done = lint(bad)
    assert done.returncode == 2
    assert done.stderr == (
        f"amqpscope: {tmp_path}/amqpscope.toml: severity.FLW-016 = 'fatal':"
        " expected one of error, warning, info\n"
    )


def test_captures_have_their_own_ignores(lint, bad, tmp_path):
    (tmp_path / "amqpscope.toml").write_text('[per-capture-ignores]\n"b*.pcapng" = ["FLW"]\n')
    assert lint(bad).returncode == 0
    other = bad.rename(tmp_path / "other.pcapng")
    assert lint(other).returncode == 1


class TestBaseline:
    @pytest.fixture
    def known(self, lint, bad):
        done = lint("--select", "FLW-016", "--write-baseline", "known.json", bad)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "amqpscope: known.json: 1 finding kept\n"

    def test_what_is_known_passes(self, lint, bad, known):
        done = lint("--select", "FLW-016", "--baseline", "known.json", bad)
        assert done.returncode == 0
        assert "1 known finding ignored, from known.json" in done.stderr

    def test_what_is_new_fails(self, lint, bad, known, tmp_path):
        other = tmp_path / "other.pcapng"
        other.write_bytes(bad.read_bytes())
        done = lint("--select", "FLW", "--baseline", "known.json", "--format", "json", bad, other)
        assert done.returncode == 1
        assert {finding["capture"] for finding in json.loads(done.stdout)["findings"]} == {
            str(other)
        }

    def test_what_is_fixed_is_mentioned(self, lint, bad, good, known):
        good.rename(bad)
        done = lint("--select", "FLW-016", "--baseline", "known.json", bad)
        assert done.returncode == 0
        assert done.stderr == (
            "amqpscope: bad.pcapng: FLW-016 (client) is fixed, still in known.json\n"
        )

    def test_a_moved_directory_stays_known(self, lint, bad, known, tmp_path):
        (tmp_path / "moved").mkdir()
        bad.rename(tmp_path / "moved" / "bad.pcapng")
        done = lint("--select", "FLW-016", "--baseline", "known.json", "moved")
        assert done.returncode == 0

    def test_it_can_be_renewed_in_place(self, lint, bad, known, tmp_path):
        both = ("--baseline", "known.json", "--write-baseline", "known.json")
        assert lint("--select", "FLW-016", *both, bad).returncode == 0
        assert len(json.loads((tmp_path / "known.json").read_text())["findings"]) == 1


def on_terminal(*arguments, columns, **how):
    """What a run prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-m", "amqpscope", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    environment.pop("NO_COLOR", None)
    run = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment, **how)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how a terminal says that nobody is left on it
        while part := os.read(ours, 4096):
            shown += part
    run.wait(30)
    os.close(ours)
    return shown.decode()


def test_on_a_terminal_there_is_colour_and_no_line_is_too_wide(bad, tmp_path):
    shown = on_terminal("lint", "--select", "FLW-016", bad, columns=50, cwd=tmp_path)
    assert "\x1b[1;31merror[FLW-016]\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 50


def test_on_a_terminal_a_notice_is_broken_between_words(tmp_path):
    shown = on_terminal("lint", "some.pcapng", columns=30, cwd=tmp_path)
    assert shown.splitlines()[:2] == ["amqpscope: some.pcapng: no", "such file or directory"]


def test_on_a_terminal_many_captures_have_a_bar_which_goes_away(bad, good, tmp_path):
    shown = on_terminal("lint", "-j", "1", "--statistics", bad, good, columns=80, cwd=tmp_path)
    assert re.search(r"checking .*/2", shown)
    assert "checking" not in shown.splitlines()[-1]


def test_a_reader_that_has_seen_enough_changes_nothing(bad, tmp_path):
    for number in range(150):
        (tmp_path / f"{number}.pcapng").write_bytes(bad.read_bytes())
    command = f"{sys.executable} -m amqpscope lint . -j 1 | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("amqpscope: .: 151 captures, each by itself; --ring takes those of")


@pytest.mark.parametrize("word", ["FLW-016", "flw-016", "transfer-without-credit"])
def test_explain_takes_ids_and_names(amqpscope, word):
    done = amqpscope("explain", word)
    assert done.returncode == 0
    assert done.stdout.startswith("FLW-016 transfer-without-credit\n")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("transfer-without-credits", "; did you mean transfer-without-credit?"),
        ("FLW", "'FLW' is a group of rules; name one of them, as FLW-001"),
        ("ALL", "'ALL' is a group of rules; name one of them, as FLW-016"),
    ],
)
def test_explain_helps_with_what_it_does_not_know(amqpscope, word, told):
    done = amqpscope("explain", word)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("options", [(), ("--coverage",)])
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_rules_are_listed_in_three_formats(amqpscope, options, form):
    done = amqpscope("rules", "--format", form, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n")
    if form == "json":
        assert json.loads(done.stdout)
