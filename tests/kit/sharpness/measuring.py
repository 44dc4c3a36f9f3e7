"""What the linter says of mutants: whether it names the guilty peer at the right frame."""

import random
from collections import Counter
from dataclasses import dataclass, field

import kit.sharpness.operators_connection
import kit.sharpness.operators_delivery
import kit.sharpness.operators_session
import kit.sharpness.operators_v0_9  # noqa: F401
from amqpscope.check.selection import Selection
from amqpscope.runs.lint import CheckSettings, check
from kit.sharpness.mutation import mutants_of

WORK = CheckSettings(Selection(), excerpts=False)


def findings(talk, path):
    """What the linter says of a connection, infos apart."""
    talk.write(path)
    checked = check(str(path), WORK)
    assert not checked.error, (talk.name, checked.error)
    return [finding for finding in checked.findings if finding.severity != "info"]


def errors(found):
    return [finding for finding in found if finding.severity == "error"]


def by_rule(found):
    return Counter((finding.rule, finding.peer) for finding in errors(found))


@dataclass
class Verdict:
    """What came of one mutant."""

    mutant: object
    named: bool
    """By one of the operator's rules, against the guilty peer, at the illegal frame."""
    accused: list
    """Errors against the innocent peer that the original does not have."""
    found: list
    """All findings."""

    def __str__(self):
        told = "" if self.named else " not named" + (f" ({self.elsewhere})" if self.found else "")
        return f"{self.mutant}:{told} {' '.join(map(repr, self.accused))}".rstrip()

    @property
    def elsewhere(self):
        near = [f for f in self.found if f.frame == self.mutant.frame or f.severity == "error"]
        return ", ".join(f"{f.rule} {f.severity} {f.peer} {f.frame}" for f in near[:4])


@dataclass
class Tally:
    """What came of all."""

    verdicts: list = field(default_factory=list)

    @property
    def named(self):
        return share(self.verdicts, lambda verdict: verdict.named)

    @property
    def accused(self):
        return share(self.verdicts, lambda verdict: bool(verdict.accused))

    def operators(self):
        """For each operator: mutants, those not named, those that accuse the innocent."""
        table = {}
        for verdict in self.verdicts:
            row = table.setdefault(verdict.mutant.operator, [0, 0, 0])
            row[0] += 1
            row[1] += not verdict.named
            row[2] += bool(verdict.accused)
        return table

    def __str__(self):
        count = len(self.verdicts)
        return (
            f"{count} mutants: {self.named:.2%} named at the right frame,"
            f" {self.accused:.2%} accuse the innocent peer"
        )


def share(verdicts, holds):
    return sum(map(holds, verdicts)) / max(len(verdicts), 1)


def judge(mutant, before, path):
    """Lint a mutant; `before` counts the errors of the original by rule and peer."""
    found = findings(mutant.talk, path)
    new = by_rule(found) - before
    named = [f for f in (found if mutant.mild else errors(found)) if names(f, mutant)]
    accused = [f for f in errors(found) if f.peer != mutant.guilty and (f.rule, f.peer) in new]
    return Verdict(mutant, bool(named), accused, found)


def names(finding, mutant):
    """Whether a finding is about what was made illegal."""
    right = finding.frame == mutant.frame and finding.peer == mutant.guilty
    return right and finding.rule in mutant.rules


def measure(talks, seed, mutants, path, save=None):
    """Judge so many mutants, spread over the connections."""
    tally = Tally()
    share = -(-mutants // len(talks))
    for talk in talks:
        before = by_rule(findings(talk, path))
        for mutant in mutants_of(talk, random.Random(f"{seed} {talk.name}"), share):
            verdict = judge(mutant, before, path)
            tally.verdicts.append(verdict)
            if save is not None and (verdict.accused or not verdict.named):
                name = f"{len(tally.verdicts):05}-{mutant.operator}.pcapng"
                mutant.talk.write(save / name)
    return tally
