"""How sharp the linter is: `python tests sharpness --seed 7 --mutants 2000 [--save FOLDER]`.

One frame of recorded traffic is made illegal, again and again in all the ways of the operators. The
linter has to name the guilty peer at that frame, with an error, and must not accuse the other one:
whatever the innocent peer says afterwards rests on what the guilty one has broken.
"""

import argparse
import tempfile
from pathlib import Path

from kit import CAPTURES
from kit.sharpness.measuring import measure
from kit.sharpness.talks import all_talks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--captures", type=Path, default=CAPTURES)
    parser.add_argument("--save", type=Path, help="write what was judged wrongly as captures")
    options = parser.parse_args()
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.pcapng"
        tally = measure(
            all_talks(options.captures), options.seed, options.mutants, path, options.save
        )
    for place, verdict in enumerate(tally.verdicts, 1):
        if verdict.accused or not verdict.named:
            print(f"{place:05} {verdict}")
    print()
    for name, (count, missed, accused) in sorted(tally.operators().items()):
        print(f"{name:44} {count:5} {missed:5} not named {accused:5} accuse the innocent")
    print(tally)


if __name__ == "__main__":
    main()
