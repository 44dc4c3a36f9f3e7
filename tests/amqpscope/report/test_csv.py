"""Comma-separated values: one row per unit, one heading, readable by Python's own reader."""

import csv
import io

from amqpscope.report.csv import COLUMNS


def rows(shown):
    return list(csv.DictReader(io.StringIO(shown.text)))


def test_a_row_per_frame(show, root):
    found = rows(show(root / "captures" / "v10_proton-labbroker_simple.pcap", form="csv"))
    assert len(found) == 33
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
    assert len(text.splitlines()) == 67


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
