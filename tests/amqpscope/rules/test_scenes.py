"""Scenes: what has happened before an example begins."""

import re

import pytest

from amqpscope.report.explain import explanation
from amqpscope.rules.all import load
from amqpscope.rules.documents import documents, scenes
from amqpscope.rules.scenes import split
from amqpscope.rules.v1_0 import FAMILY
from dissectors.notation import parse_conversation

OF_1_0 = scenes()[FAMILY]
ALL = [
    pytest.param(known, scene, id=f"{family}-{scene.name or 'start'}")
    for family, known in scenes().items()
    for scene in known.table.values()
]


@pytest.mark.parametrize(("scenes", "scene"), ALL)
def test_every_scene_has_words_and_units_that_can_be_read(scenes, scene):
    opening = scenes.opening(scene.name)
    assert opening.words.startswith(("after ", "from "))
    assert "{" not in opening.words
    units = re.sub(r"(?m)^[A-Z]\.", "", opening.units)  # of one of several connections
    assert bool(parse_conversation(units)) == bool(scene.units)


def test_every_explanation_says_in_words_after_what_its_examples_begin():
    for id, rule in load().items():
        lines = explanation(id).splitlines()
        for exchange in documents()[id].exchanges:
            words = exchange.opening(rule.family.name).words
            assert f"{'Good' if exchange.good else 'Bad'} ({words}):" in lines, id


@pytest.mark.parametrize(
    ("heading", "changed"),
    [
        ("sending link-credit=1", ["handle=0 delivery-count=0 link-credit=1\n"]),
        ("sending snd-settle-mode=settled",
         ["initial-delivery-count=0 snd-settle-mode=settled\n",
          'target=target(address="q") snd-settle-mode=settled\n']),
        ("sending server.max-message-size=9", ['target=target(address="q") max-message-size=9\n']),
        ('opened client.open.properties={a="b c"}', ['channel-max=100 properties={a="b c"}\n']),
        ("transaction transfer.rcv-settle-mode=first",
         ["message-format=0 rcv-settle-mode=first | amqp-value(declare())\n"]),
    ],
)  # fmt: skip
def test_a_parameter_sets_or_adds_a_field(heading, changed):
    usual = OF_1_0.opening(split(heading)[0]).units.splitlines(keepends=True)
    units = OF_1_0.opening(heading).units.splitlines(keepends=True)
    different = [unit for unit, before in zip(units, usual, strict=True) if unit != before]
    assert len(different) == len(changed)
    for unit, end in zip(different, changed, strict=True):
        assert unit.endswith(end)


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("sending link-credit=1", "on handle 0 and got credit 1"),
        ("opened max-frame-size=512", "after both headers and opens, with max-frame-size=512"),
        ("opened max-frame-size=512 server.channel-max=0",
         "after both headers and opens, with max-frame-size=512 and the server's channel-max=0"),
    ],
)  # fmt: skip
def test_parameters_are_said_in_words(heading, words):
    assert OF_1_0.opening(heading).words.endswith(words)


@pytest.mark.parametrize(
    "heading",
    [
        "nowhere",
        "sending 7",
        "sending properties={}",  # of an open, a begin, an attach or a flow?
        "opened link-credit=7",  # there is no flow yet
        "opened max-frame-size=65536",  # is what it is without
    ],
)
def test_a_heading_that_makes_no_sense_is_an_error(heading):
    with pytest.raises(ValueError, match=r"scene|parameter|several|changes nothing"):
        OF_1_0.opening(heading)
