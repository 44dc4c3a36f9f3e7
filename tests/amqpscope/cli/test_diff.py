"""`amqpscope diff`: what two captures do differently, in every format."""

import json

import pytest

from amqpscope.report.diff_html import diff_page
from amqpscope.report.diff_json import diff_json
from amqpscope.report.diff_text import DiffText
from amqpscope.report.look import Look
from amqpscope.runs.diff import DiffSettings, compare_captures
from kit.edited import Edited

PROTON = "captures/v10_proton-labbroker_simple.pcap"
RHEA = "captures/v10_rhea-rabbitmq_simple.pcap"
LOGIN = "captures/v10_rhea-rabbitmq_plain.pcap"


@pytest.fixture
def shorter(root, tmp_path):
    """The capture without its first transfer."""
    edited = Edited(root / PROTON)
    edited.without(edited.frame("transfer"))
    return edited.write(tmp_path / "shorter.pcapng")


def test_equal_captures_exit_with_0_and_say_so(amqpscope, root):
    done = amqpscope("diff", root / PROTON, root / PROTON)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "They do the same."


def test_a_difference_exits_with_1_and_begins_with_where_they_part(amqpscope, root, shorter):
    done = amqpscope("diff", root / PROTON, shorter)
    assert done.returncode == 1
    assert "They part at frame 18 of A: transfer is only in A" in done.stdout
    assert " 18 client transfer" in done.stdout


def test_what_goes_to_a_pager_fits_it_too(amqpscope, root, shorter, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = amqpscope("diff", root / PROTON, shorter)
    assert max(map(len, done.stdout.splitlines())) <= 60


@pytest.mark.parametrize("name", ["nothing.pcap", f"{PROTON}#7"])
def test_what_cannot_be_read_exits_with_2(amqpscope, root, name):
    done = amqpscope("diff", root / PROTON, root / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert name.rpartition("/")[2] in done.stderr


def test_for_programs_there_is_one_document(amqpscope, root, shorter):
    done = amqpscope("diff", "--format", "json", root / PROTON, shorter)
    found = json.loads(done.stdout)
    assert (found["version"], found["equal"], found["copies"]) == (1, False, True)
    first = found["differences"][0]
    assert (first["kind"], first["path"], first["b"]) == ("missing", "transfer", None)
    assert (first["a"]["connection"], first["a"]["frame"], first["a"]["peer"]) == (1, 18, "client")


def test_ignored_paths_make_it_equal(amqpscope, root, shorter):
    done = amqpscope("diff", "--only", "open", root / PROTON, shorter)
    assert done.returncode == 0


@pytest.fixture(scope="module")
def two_clients(root):
    """What two client libraries do differently with two brokers."""
    return compare_captures(str(root / PROTON), str(root / RHEA), DiffSettings())


@pytest.mark.parametrize("width", [80, 120, 160])
def test_text_fits_the_terminal(two_clients, width):
    lines = list(DiffText(Look(width)).lines(two_clients))
    assert max(map(len, lines)) <= width
    assert any("│" in line for line in lines) == (width >= 120)


def test_a_page_has_every_kind_of_difference_and_no_markup_of_the_capture(two_clients):
    page = "".join(diff_page(two_clients))
    for each in two_clients.differences:
        assert each.path in page
    assert page.count("<section>") == page.count("</section>") > 3
    assert "<script" not in page


def test_no_output_shows_a_password(root):
    diff = compare_captures(str(root / PROTON), str(root / LOGIN), DiffSettings())
    texts = ("\n".join(DiffText(Look()).lines(diff)), "".join(diff_page(diff)), diff_json(diff))
    for text in texts:
        assert "sasl-init" in text
        assert "guest\\u0000guest" not in text
        assert b"\0guest\0guest".hex() not in text
