"""One illegal frame in recorded traffic is named, and the innocent peer is left alone."""

import random

import pytest

from kit import CAPTURES
from kit.sharpness.measuring import measure
from kit.sharpness.mutation import OPERATORS, fits, mutants_of
from kit.sharpness.talks import all_talks, read_talks

SEED = "13"
MUTANTS = 1600
NAMED, ACCUSED = 0.975, 0.01


@pytest.fixture(scope="module")
def talks():
    return all_talks(CAPTURES)


def spoken(talk):
    return [(each.sender, each.time, each.raw, each.known, each.end) for each in talk.said]


def test_a_connection_that_is_written_again_is_the_same(talks, tmp_path):
    path = tmp_path / "again.pcapng"
    for talk in talks:
        talk.write(path)
        (again,) = read_talks(path)
        assert spoken(again) == spoken(talk), talk.name


def test_each_operator_can_be_applied_somewhere(talks):
    unused = [
        operator.name
        for operator in OPERATORS
        if not any(
            operator.apply(talk, place)
            for talk in talks
            for place, each in enumerate(talk.said)
            if not each.end and fits(operator.units, each)
        )
    ]
    assert not unused


def test_a_mutant_differs_from_its_original_by_one_unit(talks):
    talk = talks[0]
    before = {each.raw for each in talk.said}
    for mutant in mutants_of(talk, random.Random(SEED), 200):
        made = [each for each in mutant.talk.said if each.raw not in before]
        assert len(made) <= 1, str(mutant)
        assert abs(len(mutant.talk.said) - len(talk.said)) <= 1, str(mutant)


@pytest.mark.timeout(600)
def test_the_guilty_is_named_and_the_innocent_is_not(talks, tmp_path):
    tally = measure(talks, SEED, MUTANTS, tmp_path / "mutant.pcapng")
    assert len(tally.verdicts) >= MUTANTS * 3 / 4
    wrong = "\n".join(str(one) for one in tally.verdicts if one.accused or not one.named)
    assert tally.named >= NAMED, f"{tally}\n{wrong}"
    assert tally.accused <= ACCUSED, f"{tally}\n{wrong}"
