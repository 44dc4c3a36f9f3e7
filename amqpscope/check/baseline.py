"""Known findings, so that only new ones fail a build.

A finding is known by what it is about, not by where it was: frame numbers and times change with
every recording. So a baseline counts findings by capture, rule, peer, link and field.

Captures are named as seen from the baseline's folder, so it does not matter from where the check
is run. One that is not there under its path is taken for a moved one of the same name.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.wording import reason_of

VERSION: Final = 1
STDIN: Final = "-"


class BaselineError(Exception):
    """A baseline that cannot be read or written."""


class Key(NamedTuple):
    """What makes two findings the same one."""

    capture: str
    rule: str
    peer: str
    link: str
    path: str


def key_of(finding: Finding, capture: str) -> Key:
    """The key of a finding."""
    return Key(capture, finding.rule, finding.peer, finding.link, finding.path)


def fingerprint(finding: Finding, capture: str, place: int = 1) -> str:
    """The key of a finding as a short text for reports; `place` distinguishes equal ones."""
    import hashlib  # It loads OpenSSL, which nobody else needs who checks a capture.

    text = "\0".join((*key_of(finding, capture), str(place)))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


class Baseline:
    """The findings that are known."""

    def __init__(self, path: str, known: Counter[Key] | None = None) -> None:
        self.path = path
        self.known: Counter[Key] = Counter() if known is None else known
        self.seen: Counter[Key] = Counter()

    def filter(self, checked: list[CaptureResult]) -> int:
        """Take known findings out of captures; how many these were."""
        names = self.names([each.path for each in checked])
        total = 0
        for each in checked:
            new = [f for f in each.findings if not self.takes(f, names[each.path])]
            total += len(each.findings) - len(new)
            each.findings = new
        return total

    def takes(self, finding: Finding, capture: str) -> bool:
        """Whether a finding is known; each known one is used up once."""
        key = key_of(finding, capture)
        self.seen[key] += 1
        return self.seen[key] <= self.known[key]

    def find_fixed(self, checked: list[CaptureResult], choice: Selection) -> dict[Key, int]:
        """What is known and was looked for, but not found any more, and how often."""
        names = self.names([each.path for each in checked])
        read = {names[each.path]: each.path for each in checked if each.error is None}
        running = {rule.id for rule in choice.rules().rules}
        return {
            key: count
            for key, count in sorted((self.known - self.seen).items())
            if key.capture in read
            and key.rule in running
            and not choice.ignores(key.rule, read[key.capture])
        }

    def names(self, paths: list[str]) -> dict[str, str]:
        """How the baseline calls each capture."""
        names = {path: seen_from(self.path, path) for path in paths}
        missing = {key.capture for key in self.known}.difference(names.values())
        known = {key.capture for key in self.known} - missing
        for path, name in names.items():
            alike = [old for old in missing if PurePath(old).name == PurePath(name).name]
            if name not in known and alike:
                names[path] = max(sorted(alike), key=lambda old: common_end(old, name))
                missing.remove(names[path])
        return names


def seen_from(baseline: str, capture: str) -> str:
    """The path of a capture from the folder of a baseline."""
    if capture == STDIN:
        return capture
    try:
        found = os.path.relpath(capture, os.path.dirname(os.path.abspath(baseline)))
    except ValueError:  # another drive
        return capture
    return PurePath(found).as_posix()


def common_end(one: str, other: str) -> int:
    """How many parts two paths have in common, from their ends."""
    count = 0
    for a, b in zip(reversed(PurePath(one).parts), reversed(PurePath(other).parts), strict=False):
        if a != b:
            break
        count += 1
    return count


def read_baseline(path: str) -> Baseline:
    """Read what `write_baseline` wrote."""
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
        if table["version"] != VERSION:
            raise BaselineError(
                f"{path}: baseline of version {table['version']}, expected {VERSION}"
            )
        rows = [(Key(**row["finding"]), int(row["count"])) for row in table["findings"]]
    except OSError as error:
        raise BaselineError(f"{path}: {reason_of(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"{path}: not a baseline: lint --write-baseline makes one") from error
    return Baseline(path, Counter(dict(rows)))


def write_baseline(path: str, checked: list[CaptureResult]) -> int:
    """Keep all findings as known ones; how many these are."""
    counts = Counter(
        key_of(finding, seen_from(path, each.path)) for each in checked for finding in each.findings
    )
    rows = [{"finding": key._asdict(), "count": count} for key, count in sorted(counts.items())]
    text = json.dumps({"version": VERSION, "findings": rows}, indent=1) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"{path}: {reason_of(error)}") from error
    return counts.total()
