"""What the driver does for ever more files: `python tests benchmarks.planning [--files 10000000]`.

Captures are listed, sorted into rings, looked up among known ones, cut into slices, packed into
tasks and stored as work items, and the inputs of each wave are committed, all by the code that a
run has; the files themselves, and what tasks do with them, are left out. Then everything is listed
again, as the next run does, which must find nothing to do.

Prints processor time and the memory of this process, the only one, after each part.
"""

import argparse
import resource
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from amqpscope.spark.contents import Recogniser
from amqpscope.spark.directory import Directory
from amqpscope.spark.listing import Listing, columns_of
from amqpscope.spark.manifest import Done, first_runs
from amqpscope.spark.plan import SLICE, File, Share, pack_shares, slice_up, waves
from amqpscope.spark.terms import terms_of
from amqpscope.spark.work import Work
from amqpscope.spark.work_items import store_items

A_DIRECTORY = 1000
"""Files of a directory."""
SIZE = 100_000_000


def simulated(files):
    """The files of an archive, a directory an hour and host."""
    for number in range(files):
        folder, name = divmod(number, A_DIRECTORY)
        path = f"/archive/host-{folder % 50:02}/{folder // 50:06}/capture_{name:05}.pcapng"
        yield File(path, SIZE, 1_700_000_000_000_000 + number)


def digest(file):
    """What stands for the content of a file that is not there."""
    return blake2b(file.path.encode(), digest_size=16).hexdigest()


class Driver:
    """What a driver does around its tasks."""

    def __init__(self, folder, *, each):
        self.directory = Directory(folder)
        self.each = each
        self.terms = terms_of(Work())
        self.begun = time.process_time()

    def line(self, what):
        """A line of the table."""
        seconds = time.process_time() - self.begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return f"{what:44} {seconds:8.1f} s processor {resident():8,.0f} MB, peak {peak:8,.0f} MB"

    def run(self, files):
        """One run over all files; lines that say what it took."""
        state = self.directory.open()
        yield self.line(f"opened, as of run {state.run:,}")
        listing = Listing(columns_of(simulated(files)), each=self.each)
        yield self.line(f"{files:,} files listed")
        recogniser, count, tasks = Recogniser(self.directory.rings), 0, 0
        for number, rings in enumerate(waves(state.todo(listing, self.terms)), 1):
            tasks += self.wave(state, recogniser, rings)
            state = state.after(state.run + 1, {})
            count += sum(len(ring.files) for ring in rings)
            if number % 10 == 1:
                yield self.line(f"{number:,} waves, {count:,} files, {tasks:,} tasks")
        self.directory.close()
        yield self.line(f"{count:,} files planned and committed, {tasks:,} tasks")

    def wave(self, state, recogniser, rings):
        """Plan as much as is done at a time; how many tasks that makes."""
        run = state.run + 1
        target = self.directory.begin(run)
        contents = {file.path: digest(file) for ring in rings for file in ring.files}
        rings = list(recogniser.without_copies(rings, contents, lambda pairs, size: frozenset()))
        for ring in rings:
            slice_up(ring, {})
        whole = [Share(ring.name, 0, ring.slices[0]) for ring in rings if len(ring.slices) == 1]
        larger = [ring for ring in rings if len(ring.slices) > 1]
        shares = (Share(r.name, at, pieces) for r in larger for at, pieces in enumerate(r.slices))
        tasks = store_items(target.staging, pack_shares(whole, SLICE)).count
        tasks += store_items(target.staging, shares).count
        done = {
            ring.name: Done(
                ring.files, run, [], self.terms, first_runs(ring, run),
                contents=[contents[file.path] for file in ring.files],
            )
            for ring in rings
        }  # fmt: skip
        self.directory.commit(run, {}, done)
        return tasks


def resident():
    """Megabytes that this process has now."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000_000)
    parser.add_argument("--ring", choices=("file", "directory"), default="file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as folder:
        driver = Driver(folder, each=options.ring == "file")
        for what in ("first run", "second run"):
            print(what, flush=True)
            for line in driver.run(options.files):
                print(line, flush=True)


if __name__ == "__main__":
    main()
