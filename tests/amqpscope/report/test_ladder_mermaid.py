"""The ladder as a Mermaid diagram: its lines, and that no captured text can break it."""

import re

from amqpscope.insight.ladder import Entry, Ladder, Note
from amqpscope.report.ladder_mermaid import escaped, mermaid_text

MS = 1_000_000


def diagram(*entries, end=""):
    made = Ladder(1, "10.0.0.1:40000", "10.0.0.2:5672", "amqp-1.0")
    for each in entries:
        made.add(each)
    if end:
        made.end(entries[-1].frame, entries[-1].time, 0, end)
    made.finish()
    return mermaid_text([made]).splitlines()


def test_a_transfer_and_its_disposition():
    assert diagram(
        Entry(1, MS, 1, 0, "transfer", "q", "#0 8 B"),
        Entry(2, 3 * MS, 1, 1, "disposition", "q", "#0", "", (1,), "accepted"),
        end="fin",
    ) == [
        "sequenceDiagram",
        "    %% connection 1, amqp-1.0, 2 frames",
        "    participant p0 as client 10.0.0.1:40000",
        "    participant p1 as server 10.0.0.2:5672",
        "    p0->>p1: 1 0.0000 transfer q #35;0 8 B<br/>accepted after 2 ms, frame 2",
        "    p1-->>p0: 2 0.0020 disposition q #35;0<br/>for frame 1",
        "    Note over p0,p1: the client closes TCP (FIN)",
    ]


def test_findings_are_notes():
    note = Note("warning", "FLW-012", "x", "client", "states delivery-count 0", False)
    assert diagram(Entry(1, MS, 1, 0, "flow", "", "", notes=(note,)))[-1] == (
        "    Note over p0,p1: warning FLW-012 (client, suspect): states delivery-count 0"
    )


def test_captured_text_stays_text():
    nasty = '"; end\n<script>alert(1)</script> %%{init}%% #35; `x` $$y$$'
    found = escaped(nasty)
    assert not re.search(r'[<>"`%{}$]', found)
    assert re.sub(r"#(\d+);", lambda match: chr(int(match[1])), found) == nasty
