"""Comma-separated values: one row per unit, one heading, readable by Python's own reader."""

import csv
import io

import pytest

from amqpscope.report.csv import COLUMNS, FORMULA
from kit.talks_v0_9 import TALK


def rows(shown):
    return list(csv.DictReader(io.StringIO(shown.text)))


def test_a_row_per_frame(show, root):
    found = rows(show(root / "captures" / "v10_proton-labbroker_simple.pcap", form="csv"))
    assert len([row for row in found if row["kind"] != "finding"]) == 33
    assert tuple(found[0]) == COLUMNS
    assert found[0] | {"summary": ""} == found[0] | {
        "frame": "1", "packet": "4", "connection": "1", "from": "client", "protocol": "amqp-1.0",
        "kind": "header", "channel": "", "name": "header", "size": "8", "payload": "0",
        "link": "", "address": "", "delivery": "", "summary": "",
    }  # fmt: skip
    transfer = next(row for row in found if row["name"] == "transfer")
    assert (transfer["delivery"], transfer["payload"], transfer["address"]) == ("0", "38", "simple")


def test_one_heading_for_many_captures(show, root):
    path = root / "captures" / "v10_proton-labbroker_simple.pcap"
    text = show(path, path, form="csv").text
    assert text.count("frame,packet,time") == 1
    assert len(text.splitlines()) == 69


def test_what_is_found_too_late_is_a_row_of_its_own(show, root):
    found = rows(show(root / "captures" / "demo.pcapng", form="csv"))[-1]
    assert found | {"time": "", "packet": ""} == dict.fromkeys(COLUMNS, "") | {
        "frame": "25", "connection": "1", "from": "server", "kind": "finding", "channel": "0",
        "name": "close-before-tcp-close", "findings": "CON-008",
        "summary": "the server resets the connection without a close; the last frame it had"
        " received is 25",
    }  # fmt: skip


def test_nothing_found_is_still_a_table(show, tmp_path):
    assert show(tmp_path / "nosuch", form="csv").text == ",".join(COLUMNS) + "\n"


def test_quotes_commas_and_line_breaks_stay_in_their_cell(show, opened):
    text = r"""
client: attach name="a,\"b\"\n=c" handle=0 role=sender source=source() target=target(address="x,y")
              initial-delivery-count=0
"""
    found = rows(show(opened(text), form="csv"))
    assert len(found) == 7
    assert found[-1]["address"] == "x,y"
    assert found[-1]["link"].startswith('a,"b"')


HYPERLINK = "=HYPERLINK(1)"


@pytest.mark.parametrize("text", [HYPERLINK, "+1+cmd|x", "-2+3", "@SUM(1)", "\\t=1", "\uff1d1"])
def test_no_cell_of_captured_text_is_a_formula(show, opened, text):
    found = rows(show(opened(f"""
client: attach name="{text}" handle=0 role=sender source=source() target=target(address="{text}")
              initial-delivery-count=0
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" | amqp-value("x")
client: octets 0x0000001f0200000000a3103d{b"HYPERLINK(1)xyz".hex()}45
"""), form="csv"))  # fmt: skip
    cells = [cell for row in found for cell in row.values()]
    assert [cell for cell in cells if cell.startswith(FORMULA)] == []
    assert sum(text.removeprefix("\\t") in cell for cell in cells) >= 4


def test_names_of_0_9_1_are_no_formulas(show, recorded):
    talk = TALK.replace('"amq.topic"', f'"{HYPERLINK}"').replace('queue="q"', 'queue="@q"')
    cells = [cell for row in rows(show(recorded(talk), form="csv")) for cell in row.values()]
    assert f"'{HYPERLINK}" in cells
    assert [cell for cell in cells if cell.startswith(FORMULA)] == []


def test_numbers_stay_numbers(show, root):
    [row, *_] = rows(show(root / "captures" / "v10_proton-labbroker_simple.pcap", form="csv"))
    for column in ("frame", "packet", "time", "connection", "size", "payload"):
        assert float(row[column]) >= 0
