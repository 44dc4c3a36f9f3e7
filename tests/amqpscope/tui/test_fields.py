"""A frame in full: its tree, its octets, and its body as what it is."""

import pytest

from amqpscope.tui.fields import body_lines, picture
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache


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


@pytest.mark.parametrize(
    ("data", "kind", "said", "lines"),
    [
        (b'{"a": [1, 2]}', "application/json", "JSON", ["{", '  "a": [', "    1,", "    2"]),
        (b'{"a": 1}', "", "JSON", ["{", '  "a": 1', "}"]),
        (b"{no json", "application/json", "text", ["{no json"]),
        (b"one\ntwo\x09x", "text/plain", "text", ["one", "two x"]),
        (b"\xa1\x61a\x01", "application/cbor", "CBOR", ["a1 61 61 01"]),
        (b"\x00\x01\xff", "", "octets", ["00 01 ff"]),
        ("grün".encode(), "text/plain", "text", ["grün"]),
    ],
)
def test_a_body_is_shown_as_what_it_is(data, kind, said, lines):
    found, shown = body_lines(data, kind)
    assert found == said
    assert shown[: len(lines)] == lines


def test_a_long_body_is_clipped():
    _, lines = body_lines(b"x\n" * 5000, "")
    assert len(lines) == 2001
    assert lines[-1] == "... 3000 more lines"


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
