"""Runs that write a few rows into two small tables of a directory, without Spark."""

from amqpscope.spark.delta import Change
from amqpscope.spark.manifest import Done
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.parts import Writer
from amqpscope.spark.plan import File

DAY = 86_400_000_000
BOTH = ("captures", "quarantine")


def rows_of(table, ring, count):
    """Rows of a small table, each of a day of its own."""
    plain = [(ring, f"file{at}", at * DAY, at, "broken", True) for at in range(count)]
    if table == "captures":
        plain = [(ring, "file", at, 5, 6, 7, 8, 9, 10, None, None) for at in range(count)]
    return with_day(table_of(table, plain))


def write(directory, run, ring, count=2):
    """Write files of two tables as a run does; what they change."""
    writer, changes = Writer(directory.begin(run)), {}
    for table in BOTH:
        writer.add(table, rows_of(table, ring, count))
    for each in writer.close():
        changes.setdefault(each.table, Change()).added.append(each.file)
    return changes


def do(directory, run, ring, **options):
    """One whole run over a ring with one file."""
    done = {ring: Done([File(f"/{ring}/1", 10, 0)], run)}
    directory.commit(run, write(directory, run, ring), done, **options)
