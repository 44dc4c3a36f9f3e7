"""The job's shares put together in this process: what Spark adds is only where they run."""

from collections import Counter, defaultdict

import numpy as np

from amqpscope.spark import plan, records
from amqpscope.spark import worker as shares
from amqpscope.spark.gather import ACCEPTED, ORDER, REFERRED, Block
from amqpscope.spark.numbering import Numbers, frame_keys, no_keys, number_rows, octets_of
from amqpscope.spark.replay import Slices
from amqpscope.spark.work import Work


def tables(files, size):
    """The tables of a ring of files, cut into slices of about so many octets."""
    listed = [plan.File(str(path), path.stat().st_size, 0) for path in files]
    ring = plan.Ring("ring", listed)
    cuts = {file.path: records.cuts(file.path, size) for file in listed}
    plan.slice_up(ring, cuts, size)
    parts = [plan.Share("ring", at, pieces) for at, pieces in enumerate(ring.slices)]
    scans = scanned(parts)
    rows = numbered_rows(*replayed(parts, scans, planned(scans)))
    share = plan.Share("ring", 0, [piece for each in parts for piece in each.pieces])
    for table, own in followed(share).items():
        rows[table] += own
    return rows


def followed(share):
    """What messages show that go from one connection to another, by table."""
    work = Work()
    numbers = Numbers(whole=True, files=[("file", 0)])
    rows = defaultdict(list)
    for block in shares.follow_messages(share, work, work.choice.rules()):
        found = number_rows(block.table, octets_of(block), numbers, 0, no_keys())
        rows[block.table] += found.to_pylist()
    return rows


def scanned(parts):
    """Scan slices, and join those between which a datagram is cut."""
    scans = [shares.scan(part) for part in parts]
    at = 0
    while at < len(parts) - 1:
        if scans[at].pending:
            parts[at] = parts[at]._replace(pieces=parts[at].pieces + parts.pop(at + 1).pieces)
            del scans[at + 1]
            scans[at] = shares.scan(parts[at])
        else:
            at += 1
    return scans


def planned(scans):
    """What all shares must know."""
    bases, end, speakers, names = [0], (0, 0), {}, Counter()
    for scan in scans:
        if scan.last_packet:
            end = (bases[-1] + scan.last_packet, scan.last_time)
        for name, packet in scan.speakers.items():
            speakers.setdefault(name, bases[-1] + packet)
        names.update(scan.names[at : at + 8] for at in range(0, len(scan.names), 8))
        bases.append(bases[-1] + scan.packets)
    spanning = frozenset(name for name, count in names.items() if count > 1)
    secrets = [text for scan in scans for text in scan.secrets]
    return shares.RingPlan(0, "ring", bases[:-1], spanning, end, speakers, secrets)


def replayed(parts, scans, ring):
    """The blocks of all shares."""
    work = Work(frames=True)
    rules = work.choice.rules()
    found, spanning = [], defaultdict(list)
    for at, part in enumerate(parts):
        part = part._replace(slice=at, base=ring.bases[at])
        found += shares.replay_slice(part, ring, work, rules)
        for batch in shares.chosen_segments(part, ring, spanning=True):
            for segment in batch:
                spanning[shares.canonical(segment.key)].append(segment)
    for segments in spanning.values():
        found += shares.replay_connection(iter([segments]), ring, work, rules)
    return [block for block in found if isinstance(block, Block)], ring


def numbered_rows(blocks, ring):
    """All rows with their final numbers, by table."""
    places = range(len(ring.bases) + 1)

    def keys(table, place=None):
        return frame_keys(
            [b.rows.tobytes() for b in blocks if b.table == table and place in (None, b.slice)]
        )

    orders = [keys(ORDER, place) for place in places]
    before = [sum(len(order) for order in orders[:place]) for place in places]
    numbers = Numbers(whole=False, files=[("file", 0)], frames_before=before)
    numbers.accepted, numbers.referred = keys(ACCEPTED), np.unique(keys(REFERRED))
    of_key = Slices(ring.bases).of_key
    numbers.referred_numbers = np.array(
        [
            before[of_key(key)] + np.searchsorted(orders[of_key(key)], key) + 1
            for key in numbers.referred.tolist()
        ],
        dtype=np.int64,
    )
    rows = defaultdict(list)
    for block in blocks:
        if not block.table.startswith("_"):
            data = octets_of(block)
            found = number_rows(block.table, data, numbers, block.slice, orders[block.slice])
            rows[block.table] += found.to_pylist()
    return rows
