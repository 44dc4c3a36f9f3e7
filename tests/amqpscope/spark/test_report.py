"""What the tables show."""

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from html import unescape

import pytest

from amqpscope.cli.pipeline import reading
from amqpscope.spark import run_pipeline
from amqpscope.spark.report import make_report
from amqpscope.spark.report_html import report_html
from amqpscope.spark.report_text import report_text
from amqpscope.spark.work import Work
from kit.cutting import cut

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def out(spark, root, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "tables"
    names = ("demo.pcapng", "v10_proton-labbroker_manysessions.pcap")
    run_pipeline(spark, [str(root / "captures" / name) for name in names], str(out), ring="file")
    return out


@pytest.fixture(scope="module")
def report(out):
    return make_report(str(out), 10)


def test_compare_exits_by_whether_the_second_is_worse(out, report, amqpscope, tmp_path):
    same = amqpscope("pipeline", "compare", f"{out}@1", out)
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "not worse")
    worst = max(report["days"], key=lambda day: day["error"])["day"]
    page = tmp_path / "page.html"
    worse = amqpscope(
        "pipeline", "compare", f"{out}@2020-01-01", f"{out}@{worst}", "--format", "html", "-o", page
    )
    assert (worse.returncode, worse.stdout) == (1, "")
    assert "The second is worse" in page.read_text()
    missing = amqpscope("pipeline", "compare", out, tmp_path)
    assert missing.returncode == 2
    assert "no tables" in missing.stderr
    assert amqpscope("pipeline", "compare", f"{out}@7", out).returncode == 2
    assert "is no day" in amqpscope("pipeline", "compare", f"{out}@2026-99-01", out).stderr


def test_totals_are_those_of_lint(report, amqpscope, root):
    names = ("demo.pcapng", "v10_proton-labbroker_manysessions.pcap")
    paths = [root / "captures" / name for name in names]
    document = json.loads(amqpscope("lint", "--format", "json", *paths).stdout)
    assert report["findings"] == document["summary"]
    assert report["frames"] == sum(each["frames"] for each in document["captures"])
    assert sum(each["count"] for each in report["rules"]) == len(document["findings"])


def test_text_fits_80_columns_or_more_and_html_needs_nothing_else(report, root):
    text = report_text(report).replace(str(root), "")  # wherever the clone is
    assert max(len(line) for line in text.splitlines()) <= 80
    page = report_html(report)
    assert re.findall(r"(?:src|href)=", page) == []
    assert "<svg" in page
    assert all(rule["rule"] in page for rule in report["rules"])


SECTIONS = ("rules", "products", "days", "worst", "stalls", "addresses")
KEYS = "v10_tls-proton-rabbitmq.keys"
RINGS = (
    # a directory, or more for a ring that a manifest names; its capture; in how many files
    ("it's a ring", "mixed_091-and-10_rabbitmq.pcap", 6),
    ("stalled", "v10_proton-rabbitmq_window.pcapng", 4),
    ("encrypted", "v10_tls-proton-rabbitmq.pcap", 3),
    ("alone", "demo.pcapng", 1),
    ("partly", "v10_rhea-rabbitmq_errors.pcap", 3),
    ("odd", "v10_rhea-rabbitmq_outcomes.pcap", 3),
)


@pytest.fixture(scope="module")
def rotated(spark, root, tmp_path_factory):
    """The report of rings: by their directories, by a glob, and by a manifest."""
    base, captures = tmp_path_factory.mktemp("rotated"), root / "captures"
    for name, capture, files in RINGS:
        cut(captures / capture, base / name, random.Random(4), files)
    shutil.copy(captures / "demo.pcapng", base / "partly" / "ring0 of another.cap")
    odd = sorted((base / "odd").iterdir(), reverse=True)
    for at, path in enumerate(sorted(odd)):
        path.rename(path.with_name(f"part{9 - at}.pcap"))
    manifest = base / "rings.json"
    parts = [str(base / "odd" / f"part{9 - at}.pcap") for at in range(len(odd))]
    manifest.write_text(json.dumps({"by manifest": parts}))
    keys = captures / KEYS
    work = Work(keylogs=(keys.read_bytes(),), arguments=("--keylog", str(keys)))
    inputs = [*(str(base / name) for name, _, _ in RINGS[:4]), f"{base}/partly/*.pcap*",
              str(manifest)]  # fmt: skip
    run_pipeline(spark, inputs, str(base / "tables"), work=work, size=8000, ring="directory")
    return make_report(str(base / "tables"), 12)


def commands_of(found):
    """All commands in an object."""
    if isinstance(found, dict):
        return {found[name] for name in found if name == "command"}.union(
            *map(commands_of, found.values())
        )
    return set().union(*map(commands_of, found)) if isinstance(found, list) else set()


@pytest.fixture(scope="module")
def opened(rotated):
    """What each command of the report shows, given to a shell as it is printed."""
    script = f'amqpscope() {{ {shlex.quote(sys.executable)} -m amqpscope "$@"; }}; '

    @cache
    def run(command, form):
        done = subprocess.run(
            ["bash", "-c", f"{script}{command} --format {form}"], capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), command
        return done.stdout

    return run


def frames_of(opened, command):
    units = [json.loads(line) for line in opened(command, "jsonl").splitlines()]
    return [unit for unit in units if unit["kind"] != "finding"]


def test_each_command_opens_the_frame_that_it_speaks_of_with_its_finding(rotated, opened):
    assert all(rotated[name] for name in SECTIONS)
    found = [each["example"] for name in SECTIONS[:4] for each in rotated[name]]
    found += [each["new_example"] for each in rotated["rules"]]
    assert {at["ring"].rpartition("/")[2] for at in found} >= {"it's a ring", "alone", "partly"}
    for at in found:
        (unit,) = frames_of(opened, at["command"])
        assert unit["frame"] == at["frame"]
        # A line is printed before what follows shows that something is missing; a page is not.
        late = at["rule"] not in unit["findings"]
        assert not late or at["rule"] in opened(at["command"], "html")


def test_each_connection_is_opened_whole(rotated, opened):
    for each in rotated["worst"]:
        units = frames_of(opened, each["whole"]["command"])
        assert {unit["connection"] for unit in units} == {each["connection"]}
        assert units[0]["frame"] == each["whole"]["frame"]


def test_stalls_latencies_and_addresses_name_the_frame_where_they_begin(rotated, opened):
    assert {each["ring"].rpartition("/")[2] for each in rotated["stalls"]} >= {"stalled"}
    begun = ("transfer", "basic.publish", "basic.deliver", "basic.get-ok")
    for name, names in (("stalls", (*begun, "flow")), ("addresses", begun)):
        for each in rotated[name]:
            at = each["example"]
            (unit,) = frames_of(opened, at["command"])
            assert (unit["frame"], unit["connection"]) == (at["frame"], at["connection"])
            assert unit["name"] in names
            if name == "addresses" and unit["name"] == "transfer":
                assert unit["from"] == each["sender"]
                assert unit["link"] == at["link"]
    at = rotated["slowest"]
    (unit,) = frames_of(opened, at["command"])
    assert unit["frame"] == at["frame"]


def test_the_packet_beside_a_frame_is_that_of_the_file_it_names(rotated, opened, amqpscope):
    seen = set()
    for each in rotated["rules"]:
        at = each["example"]
        (unit,) = frames_of(opened, at["command"])
        words = ("read", "--format", "jsonl", at["capture"], "-Y", f"packet == {at['packet']}")
        alone = [json.loads(line) for line in amqpscope(*words).stdout.splitlines()]
        # A file that begins in the middle of a connection may not show it, but no other one.
        assert all(other["time"] == unit["time"] for other in alone)
        seen.add(bool(alone))
    assert True in seen


def test_all_formats_print_the_same_commands(rotated, opened):
    expected = commands_of(rotated)
    assert len(expected) > 30
    page = report_html(rotated)
    printed = {unescape(code) for code in re.findall(r"<code>(amqpscope.*?)</code>", page)}
    assert printed == expected
    for width in (80, 60, 1000):
        text = report_text(rotated, width).replace(" \\\n", " ")
        found = re.findall(r"^ +(amqpscope .*)$", text, re.MULTILINE)
        assert {shlex.join(shlex.split(line)) for line in found} == expected
    folded = re.search(r"^ +amqpscope (?:.*\\\n)+.*$", report_text(rotated, 60), re.MULTILINE)[0]
    joined = " ".join(folded.replace(" \\\n", " ").split())
    assert opened(folded, "jsonl") == opened(joined, "jsonl")


def test_a_ring_is_opened_by_its_directory_only_where_that_says_what_it_is(rotated):
    forms = {}
    for command in commands_of(rotated):
        words = shlex.split(command)
        del words[words.index("--keylog") : words.index("--keylog") + 2]
        files = [word for word in words[2:-2] if not word.startswith("--")]
        options = tuple(word for word in words[2:-2] if word.startswith("--"))
        name = files[0].split("/")[-1 if options and len(files) == 1 else -2]
        forms.setdefault(name, set()).add((options, len(files)))
    assert forms["it's a ring"] == forms["stalled"] == forms["encrypted"] == {(("--ring",), 1)}
    assert forms["alone"] == {((), 1)}
    assert forms["partly"] == {(("--ring",), 3)}
    assert forms["odd"] == {(("--ring", "--as-given"), 3)}


def test_a_directory_without_tables_is_refused_in_one_line(amqpscope, tmp_path):
    done = amqpscope("pipeline", "report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no tables" in done.stderr


def test_a_run_is_read_again_with_its_key_logs_and_ports():
    options = {"keylog": ("/keys/a b.log",), "decode_as": {5673: "amqp-1.0"}}
    assert list(reading(options)) == [
        "--keylog", "/keys/a b.log", "--decode-as", "5673=amqp-1.0",
    ]  # fmt: skip
