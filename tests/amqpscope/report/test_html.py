"""The HTML report: complete, self-contained, sound, and opened in a real browser."""

import io
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from amqpscope.check.selection import Selection
from amqpscope.cli.html import Report
from amqpscope.report.html_capture import frame_parts
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.run import Run

NASTY = '<script>document.title="taken"</script><img src=x onerror="document.title=1">'
NASTY_LINK = f"""
client: attach name="{NASTY.replace('"', chr(92) + '"')}" handle=0 role=sender source=source()
        target=target(address="</pre></svg><script>document.title=2</script>")
        initial-delivery-count=0
server: attach name="{NASTY.replace('"', chr(92) + '"')}" handle=0 role=receiver source=source()
        target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
        | amqp-value("<b>&amp;")
@2.0s client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"<i>")
"""
PAIRED = {"section", "details", "summary", "article", "div", "svg", "g", "a", "table", "ul", "main",
          "figure", "h1", "h2", "h3", "h4", "pre", "span", "text", "tspan", "title"}  # fmt: skip


class Page(HTMLParser):
    """What a page holds, as far as the tests ask."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.tags = Counter()
        self.ids = Counter()
        self.targets = set()
        self.outside = []
        self.handlers = []
        self.stack = []
        self.unmatched = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        if tag in PAIRED:
            self.stack.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids[value] += 1
            if name in ("src", "href", "action", "data", "srcset", "xlink:href"):
                if value.startswith("#"):
                    self.targets.add(value[1:])
                elif value != "data:,":
                    self.outside.append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_endtag(self, tag):
        if tag in PAIRED and (not self.stack or self.stack.pop() != tag):
            self.unmatched.append(tag)


def written(*paths, choice=None, **how):
    """The page about some captures."""
    out = io.StringIO()
    checked = [
        check(str(path), CheckSettings(choice or Selection(), excerpts=False)) for path in paths
    ]
    Report(**how).write(out, [(Input(str(p)), c) for p, c in zip(paths, checked, strict=True)])
    return Page(out.getvalue())


CAPTURES = (
    "demo.pcapng",
    "v10_rhea-rabbitmq_outcomes.pcap",
    "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap",
    "v10_tls-proton-rabbitmq.pcap",
    "mixed_091-and-10_rabbitmq.pcap",
)


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("frames", [False, True])
def test_a_page_is_sound_and_needs_nothing_else(root, name, frames):
    page = written(root / "captures" / name, frames=frames)
    assert page.unmatched == page.stack == []
    assert [name for name, times in page.ids.items() if times > 1] == []
    assert page.targets - set(page.ids) == set()
    assert page.outside == page.handlers == []
    assert page.tags["script"] == page.tags["style"] == 1
    assert not re.search(r"@import|url\(", page.text)


def test_every_finding_is_told_with_its_rule(root):
    path = root / "captures" / "demo.pcapng"
    page = written(path)
    for finding in check(str(path), CheckSettings(Selection(), excerpts=False)).findings:
        assert f"c1-f{finding.frame}-{finding.rule}" in page.ids
        assert f"rule-{finding.rule}" in page.ids
    assert "Sections come in one order" in page.text


def test_evidence_and_the_frames_around_a_finding_are_shown(bad):
    text = written(bad, choice=Selection(select=("FLW-016",))).text
    table = re.search(r'<table class="frames">.*?</table>', text, re.DOTALL)[0]
    frames = re.findall(r'<tr class="[\w -]*"><td class="n">(\d+)', table)
    assert frames == ["8", "9", "10", "11"], "the attach that is evidence, and what is around"
    assert 'class="bad"><td class="n">11' in table
    assert "the most generous credit" in table


def test_each_connection_has_its_ladder_and_plots(root):
    page = written(root / "captures" / "v10_proton-labbroker_outcomes.pcap")
    assert page.text.count('<svg class="ladder"') == 4
    for title in ("credit", "unsettled deliveries", "settle latency", "session window"):
        assert f"<b>{title}</b>" in page.text


def test_a_stall_is_told_and_marked_in_the_plot(bad):
    text = written(bad).text
    assert "no credit where it is marked red below" in text
    assert '<path class="none"' in text
    assert "waiting for the server" in text


def test_a_link_that_is_held_when_the_capture_ends_is_told_first(opened):
    idle = STALLED + "@9.0s client: empty[0]\n"
    text = written(opened(idle), choice=Selection(select=("FLW-016",))).text
    held = text.index("Held when the capture ends")
    assert held < text.index("Connections</h3>")
    assert (
        "<b>no credit</b> (after 1 delivery) for 8 s: waiting for the server, since frame 10"
        in text
    )


def test_what_a_peer_refused_is_told_before_the_findings(root):
    text = written(root / "captures" / "v10_proton-storybroker_rejected.pcapng").text
    refused = text.index("<h3>Refused</h3>")
    assert refused < text.index("Connections</h3>")
    assert (
        "by the server in frame 22: <b>rejected</b>: amqp:invalid-field &quot;an order needs a"
        " price&quot;. A field had a value that is not allowed." in text
    )


def test_what_is_refused_in_the_same_words_is_counted(opened):
    rejected = 'state=rejected(error=error(condition=:"x:<b>" description="no"))'
    text = written(
        opened(f"""
        {STALLED.replace("link-credit=1", "link-credit=9")}
        client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
        server: disposition role=receiver first=0 settled=true {rejected}
        server: disposition role=receiver first=1 settled=true {rejected}
    """)
    ).text
    assert ", by the server, 2 times, first in frame 12: <b>rejected</b>: x:&lt;b&gt; " in text


def test_captured_text_stays_text(opened):
    page = written(opened(NASTY_LINK), frames=True)
    assert page.tags["script"] == 1
    assert page.tags["img"] == page.tags["i"] == 0
    assert "&lt;script&gt;document.title=" in page.text


STALLED = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
@1.0s client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
"""
MANY = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=100
""" + "".join(
    f'client: transfer handle=0 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=true'
    ' | data(b"x") properties(subject="behind")\n'
    for n in range(40)
)
CBS = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="$cbs")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="$cbs")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
        | amqp-value("sig=hushhush")
"""


def test_secrets_are_masked_unless_asked_for(opened):
    path = opened(CBS)
    assert "hushhush" not in written(path, frames=True).text
    shown = written(path, frames=True, show_secrets=True).text
    assert shown.count("hushhush") >= 2, "in the list of frames and in the ladder"


def test_a_filter_picks_frames_and_their_findings(root):
    from amqpscope.filter import compile_filter

    path = root / "captures" / "demo.pcapng"
    page = written(path, frames=True, where=compile_filter("flow"))
    assert 'id="c1-f11-FLW-013"' in page.text
    assert "MSG-001" not in page.text
    assert page.text.count('<span id="c1-n') == 3


def test_a_clean_capture_says_so(good):
    page = written(good, choice=Selection(select=("FLW-016",)))
    assert "Nothing found." in page.text
    assert "rules" not in page.ids


def test_refusals_that_break_no_rule_do_not_look_clean(root):
    path = root / "captures" / "v10_proton-storybroker_rejected.pcapng"
    text = written(path, choice=Selection(select=("FLW-016",))).text
    assert "<h3>Refused</h3>" in text
    assert '<p class="quiet">No rule is broken.</p>' in text
    assert "Nothing found" not in text.replace('aria-label="Nothing found"', "")


def test_several_captures_are_told_one_after_the_other(root, good):
    page = written(root / "captures" / "demo.pcapng", good)
    assert "<h1>2 captures</h1>" in page.text
    assert {"c1", "c2", "c1-connection-1", "c2-connection-1"} <= set(page.ids)


def test_a_capture_that_cannot_be_read_is_in_the_table(tmp_path, good):
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"nothing of the kind")
    page = written(broken, good)
    assert '<tr class="trouble">' in page.text
    assert "1 capture could not be read" in page.text


def test_connections_beyond_the_most_are_counted(root):
    path = root / "captures" / "v10_proton-labbroker_outcomes.pcap"
    page = written(path, left=2)
    assert page.text.count('<svg class="ladder"') == 2
    assert "2 more connections of this capture are not drawn here" in page.text
    assert page.targets - set(page.ids) == set()


def test_many_findings_of_a_kind_are_shortened_and_counted(opened):
    page = written(opened(MANY), choice=Selection(select=("MSG-001",)))
    assert "40 times" in page.text
    assert page.text.count('<details class="finding"') == 12
    assert "28 more of these" in page.text


def test_a_page_stays_small_when_a_capture_is_large(opened):
    lines = [NASTY_LINK.replace("link-credit=1", "link-credit=9999").rsplit("@2.0s", 1)[0]]
    lines += [
        f'client: transfer handle=0 delivery-id={n} delivery-tag=b"{n}" settled=true | data(b"x")\n'
        for n in range(1, 1500)
    ]
    page = written(opened("".join(lines)))
    assert "1,49" in page.text
    assert len(page.text) < 200_000


def test_a_long_capture_is_listed_in_part_and_the_page_says_so(opened):
    path = opened(NASTY_LINK)
    steps = []
    with Run(Input(str(path))) as run:
        for batch in run:
            steps += batch.steps
    last = steps[-1].frame.number
    page = "".join(frame_parts(0, steps, {last}, most=5))
    listed = [int(number) for number in re.findall(r'id="c0-n(\d+)"', page)]
    assert listed == [1, 2, 3, 4, 5, last]
    assert f"{len(steps) - 6:,} more frames are not on this page" in page
    assert "not on this page" not in "".join(frame_parts(0, steps, most=len(steps)))
