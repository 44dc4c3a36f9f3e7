"""Change real captures and see that nobody is accused for it: `python tests relations --help`.

    python tests relations --seed 7 --mutants 50000 -j 2 --save found

Every new error is printed with its rule, peer, relation and capture. With --save, what shows it is
made as small as possible and saved as a capture.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from amqpscope.capture.source import CaptureError
from kit import CAPTURES
from kit.relations.recording import captures_in
from kit.relations.relations import RELATIONS
from kit.relations.running import Outcome, elapsed, run_all, tasks, usable


def arguments():
    """What to do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("captures", nargs="*", type=Path, help="files or folders; captures/")
    parser.add_argument("--seed", type=int, help="a number to find the same mutants again")
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--relation", action="append", choices=list(RELATIONS), metavar="NAME",
        help="only this one, or these: see --list",
    )  # fmt: skip
    parser.add_argument("--save", type=Path, metavar="DIR", help="save what shows a new error")
    parser.add_argument("--warnings", action="store_true", help="print new warnings too")
    parser.add_argument("--list", action="store_true", help="list the relations and end")
    return parser.parse_args()


def main():
    """Run mutants; 1 if one of them shows a new error."""
    given = arguments()
    if given.list:
        for name, change in RELATIONS.items():
            print(f"{name:22} {(change.__doc__ or '').strip()}")
        return 0
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    paths = [found for path in given.captures or [CAPTURES] for found in files(path)]
    names = tuple(given.relation or ())
    begun = time.monotonic()
    todo = tasks(usable(paths), seed, given.mutants, names, given.save)
    total = Outcome()
    for outcome in run_all(todo, given.jobs):
        report(outcome, given.warnings)
        total.add(outcome)
    summary(total)
    print(f"{total.mutants:,} mutants, seed {seed}, {elapsed(begun)}")
    return 1 if any(total.accused.values()) else 0


def files(path):
    """A capture, or those of a folder."""
    return captures_in(path) if path.is_dir() else [path]


def report(outcome, warnings):
    """One line for each new error, and on request for each warning that is not excused."""
    for each in outcome.failures:
        if each.severity == "error" or (warnings and not each.excused):
            line = f"{each.severity} {each.rule} {each.peer} {each.relation}: {each.capture}"
            print(f"{line}: {each.message} {each.saved}".rstrip(), flush=True)


def summary(total):
    """How often each relation failed, and which rules."""
    for name, count in sorted(total.accused.items(), key=lambda item: -item[1]):
        if count and "+" not in name:
            print(f"{name:24} {count} of {total.relations[name]} mutants have new errors")
    composed = sum(count for name, count in total.accused.items() if "+" in name)
    print(f"compositions: {composed}; in all {sum(total.accused.values())} with new errors")
    for severity in ("error", "warning"):
        rules = Counter(
            (each.rule, each.peer)
            for each in total.failures
            if each.severity == severity and not each.excused
        )
        line = ", ".join(f"{rule} {peer} {count}" for (rule, peer), count in rules.most_common())
        print(f"new {severity}s: {line or 'none'}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CaptureError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
