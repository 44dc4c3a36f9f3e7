"""Units of AMQP 0-9 as JSON, lines, trees and state."""

import json

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.report.endings import Instant
from amqpscope.report.state import talk_lines, talk_object
from dissectors.notation import parse
from kit.talks_v0_9 import OPENED, TALK


@pytest.fixture
def objects(recorded, show):
    """The JSON objects of a conversation."""

    def read(text, **options):
        shown = show(recorded(text), form="jsonl", **options)
        assert shown.told == []
        return [json.loads(line) for line in shown.lines]

    return read


@pytest.fixture
def lines(recorded, show):
    """What the frame list says of each unit, from the name on."""

    def read(text, **options):
        return [line[51:].rstrip() for line in show(recorded(text), **options).lines[1:]]

    return read


def named(objects, name):
    return next(each for each in objects if each["name"] == name)


def test_every_unit_is_an_object_with_the_common_members(objects):
    found = objects(TALK)
    assert [each["frame"] for each in found] == list(range(1, len(found) + 1))
    assert {each["protocol"] for each in found} == {"amqp-0-9-1"}
    kinds = {"header", "method", "content-header", "content-body"}
    assert {each["kind"] for each in found} == kinds
    first = found[0]
    assert (first["name"], first["channel"], first["size"]) == ("header", None, 8)
    assert first["fields"] == {"protocol-id": 0, "major": 0, "minor": 9, "revision": 1}


def test_arguments_go_by_the_names_of_the_specification(objects):
    fields = named(objects(TALK), "queue.declare")["fields"]
    assert (fields["queue"], fields["durable"], fields["passive"]) == ("q", True, False)
    assert fields["arguments"] == {"x-max-length": 10}


def test_content_headers_have_their_properties_and_bodies_their_octets(objects):
    found = objects(TALK)
    header = named(found, "content-header")
    assert header["fields"]["content-type"] == "text/plain"
    assert header["fields"]["headers"] == {"color": "red"}
    assert "delivery-mode" not in header["fields"]
    bodies = [each for each in found if each["kind"] == "content-body"]
    assert [each["payload"] for each in bodies] == [5, 2]
    assert [each["body"] for each in bodies] == ["hello", {"binary": "ff01"}]


def test_frames_say_where_they_belong(objects):
    found = objects(TALK)
    publish, deliver = named(found, "basic.publish"), named(found, "basic.deliver")
    assert publish["publish"] == 1
    assert (deliver["delivery"], deliver["queue"]) == (1, "q")
    assert found[deliver["frame"]]["content-of"] == deliver["frame"]
    declared = named(found, "queue.declare-ok")
    assert declared["answers"] == named(found, "queue.declare")["frame"]


def test_passwords_are_covered_unless_asked_for(objects, lines):
    assert named(objects(TALK), "connection.start-ok")["fields"]["response"] == {"masked": 13}
    shown = named(objects(TALK, show_secrets=True), "connection.start-ok")
    assert shown["fields"]["response"] == "\0guest\0secret"
    assert not any("secret" in line for line in lines(TALK))
    assert not any("secret" in line for line in lines(TALK, tree=True, octets=True))


def test_a_damaged_login_is_covered_as_a_whole(objects):
    raw = "0100000000000c000a000b000000ff73656372ce"
    found = objects(f"{OPENED}client: octets 0x{raw}")[-1]
    assert found["kind"] == "malformed"
    assert found["fields"] == {"masked": True}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("1'B", 1),
        ("-1'L", -1),
        ("0.5", 0.5),
        ("null", None),
        ('"x"', "x"),
        ("0xff", {"binary": "ff"}),
        ("2024-01-01T00:00:00Z", {"timestamp": 1704067200}),
        ("150e-2'D", {"decimal": "150e-2"}),
        ("[1 true]", [1, True]),
        ("{a=1}", {"a": 1}),
        ("{a=1 a=2}", {"table": [["a", 1], ["a", 2]]}),
        ("{binary=1}", {"table": [["binary", 1]]}),
    ],
)
def test_no_type_of_a_table_is_lost(objects, value, written):
    text = f'{OPENED}client: queue.declare[1] queue="q" arguments={{x={value}}}'
    assert objects(text)[-1]["fields"]["arguments"] == {"x": written}


SAID = {
    "header": "AMQP 0-9-1",
    "connection.start": 'RabbitMQ 3.13.0 mechanisms="PLAIN"',
    "connection.start-ok": "PLAIN c 1",
    "connection.tune": "channel-max=2047 frame-max=131072 heartbeat=60",
    "connection.open": 'vhost="/"',
    "queue.declare": "q durable {x-max-length=10}",
    "queue.declare-ok": "q messages=3 consumers=0",
    "basic.qos": "prefetch-count=1",
    "basic.consume": "q tag=t",
    "basic.publish": "#1 amq.topic rk=orders.new",
    "content-header": 'basic 5 B content-type="text/plain" headers={color="red"}'
    " timestamp=1700000000",
    "content-body": '5 B "hello"',
    "basic.deliver": "#1 amq.topic rk=orders.new to t",
    "basic.ack": "#1",
}


def test_a_line_says_what_matters_most(lines):
    said = {}
    for line in lines(TALK):
        name, _, rest = line.partition(" ")
        said.setdefault(name, rest.strip())
    assert {name: said[name] for name in SAID} == SAID


def test_a_publish_tells_its_size_when_its_header_came_with_it(show, recorded):
    published = parse('basic.publish[1] exchange="x"')
    published += parse("content-header[1] class=basic body-size=1200")
    shown = show(recorded(f"{OPENED}client: octets 0x{published.hex()}"))
    line = next(line for line in shown.lines if "basic.publish" in line)
    assert line.endswith(" x 1.2 kB")


def test_the_column_of_links_has_the_queue_or_exchange(show, recorded):
    shown = show(recorded(TALK)).lines
    column = {line[51:].split()[0]: line[30:50].strip() for line in shown[1:]}
    assert column["basic.publish"] == "amq.topic"
    assert column["basic.deliver"] == "q"
    assert column["basic.ack"] == "q"


def test_the_tree_shows_every_field_with_its_octets(show, recorded):
    shown = show(recorded(TALK), tree=True, octets=True).text
    assert 'routing-key: "orders.new"' in shown
    assert "x-max-length: 10" in shown
    assert "frame-end: 206" in shown


def state_of(path):
    analyzer, talks = Analyzer(), {}
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    talks[step.conversation.number] = step.conversation
    return talks[1]


def test_state_tells_what_holds_channels_and_consumers(recorded):
    text = TALK.rsplit("@3s", 1)[0]
    talk = state_of(recorded(text))
    at = Instant(1_700_000_010 * 10**9, 1_700_000_000 * 10**9)
    told = "\n".join(talk_lines(talk, at))
    assert "connection 1  c 1 -> RabbitMQ 3.13.0  vhost /  open" in told
    assert "channel 1  open, confirms" in told
    assert "published 1 (5 B), 0 unconfirmed; delivered 1 (2 B), 1 unacked" in told
    assert "prefetch reached for 8 s" in told
    assert "waiting for the client" in told
    found = talk_object(talk, at)
    consumer = found["channels"][0]["consumers"][0]
    assert (consumer["queue"], consumer["unacked"], consumer["prefetch"]) == ("q", 1, 1)
    assert consumer["constraint"]["kind"] == "prefetch reached"
    assert json.dumps(found)
