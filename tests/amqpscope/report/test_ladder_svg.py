"""The ladder as SVG: well-formed whatever was captured, and complete."""

import xml.etree.ElementTree as ET

from amqpscope.insight.ladder import Entry, Ladder, Note
from amqpscope.report.ladder_svg import WIDTH, svg_inline, svg_text

MS = 1_000_000
SVG = "{http://www.w3.org/2000/svg}"
NOTE = Note("error", "FLW-016", "transfer-without-credit", "client", "no credit " * 30)


def ladder(*entries, number=1):
    made = Ladder(number, "10.0.0.1:40000", "10.0.0.2:5672", "amqp-1.0")
    for each in entries:
        made.add(each)
    made.finish()
    return made


def unit(frame, **rest):
    return Entry(
        frame,
        frame * MS,
        1,
        frame % 2,
        rest.pop("name", "transfer"),
        "q",
        **{"label": "#0", **rest},
    )


def texts(root, kind):
    return [
        "".join(each.itertext()) for each in root.iter(f"{SVG}text") if each.get("class") == kind
    ]


def test_each_frame_is_an_arrow_with_its_number_and_time():
    root = ET.fromstring(svg_text([ladder(unit(1), unit(2), unit(3, name="close"))]))
    assert texts(root, "n") == ["1", "2", "3"]
    assert texts(root, "time") == ["0.000000", "0.001000", "0.002000"]
    assert texts(root, "label")[2] == "close q #0"


def test_an_answer_is_joined_by_a_bracket_in_the_colour_of_its_outcome():
    rejected = unit(2, name="disposition", joined=(1,), outcome="rejected")
    root = ET.fromstring(svg_text([ladder(unit(1), rejected)]))
    assert [each.get("class") for each in root.iter(f"{SVG}path")].count("join bad") == 1
    assert texts(root, "outcome bad") == ["rejected after 1 ms"]


def test_findings_are_words_in_lines_that_fit():
    root = ET.fromstring(svg_text([ladder(unit(1, notes=(NOTE,)))]))
    said = texts(root, "said")
    assert " ".join(said).startswith("error FLW-016 (client): no credit")
    assert max(map(len, said)) * 7.3 < WIDTH - 180


def test_captured_text_cannot_be_markup():
    nasty = "</text><script>alert(1)</script>\"'&"
    svg = svg_text([ladder(unit(1, label=nasty, name="open")._replace(where=nasty))])
    root = ET.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert nasty in texts(root, "label")[0]


def test_the_whole_label_is_in_the_tooltip():
    root = ET.fromstring(svg_text([ladder(unit(1, label="x" * 500))]))
    assert len(next(root.iter(f"{SVG}title")).text) > 500
    assert len(texts(root, "label")[0]) < 130


def test_within_a_page_arrows_have_names_and_findings_links():
    svg = svg_inline(ladder(unit(7, notes=(NOTE,))), "c1-", lambda row, note: f"#f-{row.frame}")
    assert 'id="c1-7"' in svg
    assert '<a href="#f-7">' in svg
    assert "<style" not in svg


def test_colours_follow_the_readers_scheme():
    assert "prefers-color-scheme: dark" in svg_text([ladder(unit(1))])


def test_side_by_side_is_one_picture():
    two = ladder(unit(2)._replace(connection=2), number=2)
    svg = svg_text([ladder(unit(1)), two], side_by_side=True)
    assert texts(ET.fromstring(svg), "role") == ["client 1", "server", "client 2"]
