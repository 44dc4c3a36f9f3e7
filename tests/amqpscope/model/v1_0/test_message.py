"""The quick look at a message lets nothing pass that a closer look would find."""

from __future__ import annotations

import random

import pytest

from amqpscope.model.v1_0.event import KIND
from amqpscope.model.v1_0.message import Message
from amqpscope.rules.v1_0.message._flaws import flaws_of
from dissectors.notation import parse

BARE = parse("transfer handle=0")
SOUND = (
    'data(b"hello") data(b"")',
    'header(durable=true ttl=5) properties(message-id="a" to="q" group-id="g" group-sequence=4)'
    ' application-properties({"a"="b" "n"=uint 4}) amqp-value({"a"=[1 2] "b"=true})',
    'delivery-annotations({:x-opt-a=1}) message-annotations({:x-opt-b=[{"k"=1}]})'
    ' amqp-sequence([1 "ü"]) footer({:x-opt-c=b"1"})',
)


def message(sections: str) -> bytes:
    """The octets of a payload in notation."""
    return parse(f"transfer handle=0 | {sections}")[len(BARE) :]


@pytest.mark.parametrize("sections", SOUND)
def test_a_sound_message_needs_no_closer_look(sections):
    found = Message(message(sections))
    assert not found.kinds & KIND["odd-message"]
    assert flaws_of(found) == []


@pytest.mark.parametrize("sections", SOUND)
def test_whatever_is_wrong_makes_a_message_odd(sections):
    chance = random.Random(7)
    for _ in range(2000):
        data = bytearray(message(sections))
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(data))
            octet = chance.choice((0x00, 0x40, 0x45, 0xA1, 0xA3, 0xC0, 0xC1, chance.randrange(256)))
            data[place : place + chance.randint(0, 1)] = bytes((octet,))
        found = Message(bytes(data))
        assert not flaws_of(found) or found.kinds & KIND["odd-message"], data.hex()


@pytest.mark.parametrize(
    ("sections", "kind"),
    [
        ('properties(content-type=:a/b) data(b"x")', "content"),
        ('properties(creation-time=timestamp 0) data(b"x")', "times"),
        ('message-annotations({:x-mine=1}) data(b"x")', "keys"),
        ('data(b"x") footer({})', "footer"),
    ],
)
def test_it_says_what_there_is_to_look_at(sections, kind):
    assert Message(message(sections)).kinds == KIND[kind]
