"""The door to the notation: conversations, and units of any family."""

import pytest

from dissectors import notation
from dissectors.notation import Line, NotationError, parse, parse_conversation
from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import encode_method
from dissectors.v1_0.framing import decode_unit

CONVERSATION = """
    # A comment, then a blank line.

    client: header AMQP 1.0.0
    @1.5s server: open container-id="a # b"      # not a mark
    server: close error=error(
                # in between
                condition=:x)            # <- CON-001, CON-002
    @2s client: empty[1]   # <- FRM-003
"""


def test_a_conversation():
    lines = parse_conversation(CONVERSATION)
    assert [(line.peer, line.time, line.number, line.marks) for line in lines] == [
        ("client", 0.0, 4, ()),
        ("server", 1.5, 5, ()),
        ("server", 1.5, 6, ("CON-001", "CON-002")),
        ("client", 2.0, 9, ("FRM-003",)),
    ]
    assert decode_unit(lines[1].raw).body.container_id == "a # b"
    assert lines[2].raw == parse("close error=error(condition=:x)")
    assert isinstance(lines[0], Line)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("clinet: empty", 1, 1),
        ("\n  client: opne", 2, 11),
        ("client: empty\nserver: open\n    container-id=5\n    hostnam=1", 4, 5),
        ("client: open\n  # comment\n\n  hostnam=1", 4, 3),
        ("  empty", 1, 3),
    ],
)
def test_an_error_in_a_conversation_has_the_line_of_the_text(text, line, column):
    with pytest.raises(NotationError) as caught:
        parse_conversation(text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)


@pytest.mark.parametrize("name", ["10-3", "0-8", "0-9", "0-9-1-rabbit"])
def test_the_door_writes_a_dialect_by_its_name(name):
    raw = encode_method(
        dialect(name), "basic.ack", {"delivery-tag": 7}, 1, head=dialect(name).heads[0]
    )
    assert notation.parse(notation.write(raw, dialect=name), name) == raw
    assert notation.write(raw, dialect=name).startswith("basic.ack")
