"""A frame in full: its tree, its octets, and its body as what it is."""

import pytest

from amqpscope.tui.fields import picture
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache
from kit.body_talk import TEXT


@pytest.fixture
def steps_of(root):
    spools = []

    def read(name):
        files = Spool.create()
        spools.append(files)
        Indexer(files, str(root / "captures" / name), {}).run(follow=False, keylogs=[], ports={})
        steps = StepCache(files)
        steps.update()
        return [steps.step(number) for number in range(1, steps.count + 1)]

    yield read
    for files in spools:
        files.close()


def walked(fields):
    for field in fields:
        yield field
        yield from walked(field.children)


def test_every_octet_of_a_frame_has_a_line(steps_of):
    for step in steps_of("demo.pcapng"):
        shown = picture(step)
        covered = set()
        for field in walked(shown.fields[1:]):
            if field.part == 0:
                covered.update(range(field.start, field.end))
        assert covered == set(range(len(step.frame.raw))), step.frame.number


def test_secrets_are_covered_unless_they_are_asked_for(steps_of):
    steps = steps_of("v10_rhea-rabbitmq_plain.pcap")
    secret = next(step for step in steps if step.frame.unit.name == "sasl-init")
    hidden, shown = picture(secret), picture(secret, show_secrets=True)
    response = secret.frame.unit.body.initial_response
    text = "\n".join(field.text for field in walked(hidden.fields))
    assert response.hex() not in text
    assert "********" in text
    ((start, end),) = hidden.parts[0].covered
    assert response in secret.frame.raw[start:end]
    assert not shown.parts[0].covered
    assert response.hex() in "\n".join(field.text for field in walked(shown.fields))


def test_a_finding_speaks_of_the_octets_of_its_field(steps_of):
    step = next(step for step in steps_of("demo.pcapng") if step.findings)
    shown = picture(step)
    line = shown.fields[1]
    assert line.text.startswith(step.findings[0].rule)
    assert line.part == 0
    assert line.end > line.start


def test_a_method_of_0_9_1_is_shown_with_its_arguments(steps_of):
    steps = steps_of("v091_pika_basic-rabbitmq.pcap")
    shown = picture(next(step for step in steps if step.frame.unit.name == "basic.publish"))
    texts = [field.text for field in walked(shown.fields)]
    assert any(text.startswith("routing-key: ") for text in texts)
    body = next(step for step in steps if step.event.message)
    assert any(field.text.startswith("content as ") for field in walked(picture(body).fields))


def test_bodies_are_undone_joined_and_split(steps_of, opened):
    steps = steps_of(opened(TEXT))
    lines = {
        step.frame.number: [
            (field.text, [below.text for below in field.children])
            for field in picture(step).fields
            if " as " in field.text
        ]
        for step in steps[9:]
    }
    json = ["{", '  "orders": [', "    1,", "    2,", "    3", "  ],", '  "total": 9.50', "}"]
    assert lines == {
        10: [("data as JSON, gzip decompressed", json)],
        11: [
            ("message 1 of 2: data as text", ["n1"]),
            ("message 2 of 2: amqp-value as JSON", ["{", '  "a": 1', "}"]),
        ],
        12: [],
        13: [("data as text", ["one body"])],
        14: [("data as text", ["user=me password=*******"])],
    }
