"""What it costs to follow messages through a broker: `python tests benchmarks.following [N]`.

Ten connections publish and ten consume, on ten queues of one broker.
Each line is one capture, read with and without following its messages. Seconds are of processor
time; what counts is the last column, and that the memory does not grow with the messages.
"""

import os
import sys
import tempfile

import amqpscope
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from dissectors.notation import parse
from kit.benchmarks import running
from kit.benchmarks.traffic import CLIENT, NUMBER, SERVER, numbered

MESSAGES = 1_000_000
QUEUES = 10
START = 1_700_000_000_000_000_000
CREDIT = 2_000_000_000
BACKLOG = 200
"""Messages of a queue that wait at the broker."""
READ = """
import sys
from amqpscope.analysis import FaultySteps
from amqpscope.check.selection import Selection
from amqpscope.runs.collector import calm_collector
from amqpscope.runs.run import Run
calm_collector()
faulty = FaultySteps()
followed = sys.argv[1] == "followed"
with Run(sys.argv[2], Selection(), sink=faulty, follow_messages=followed) as run:
    found = [finding for batch in run for finding in batch.findings]
assert not faulty.steps and not found, (faulty.steps or found)[0]
"""

WINDOWS = "incoming-window=2147483647 outgoing-window=2147483647"
SESSION = (
    (CLIENT, "header AMQP 1.0.0"),
    (SERVER, "header AMQP 1.0.0"),
    (CLIENT, 'open container-id="client" max-frame-size=32768 channel-max=32767'),
    (SERVER, 'open container-id="broker" max-frame-size=32768 channel-max=32767'),
    (CLIENT, f"begin next-outgoing-id=0 {WINDOWS}"),
    (SERVER, f"begin remote-channel=0 next-outgoing-id=0 {WINDOWS}"),
)
FLOW = (
    "flow next-incoming-id=0 incoming-window=2147483647 next-outgoing-id=0"
    f" outgoing-window=2147483647 handle=0 delivery-count=0 link-credit={CREDIT}"
)
OWN = "handle=0 source=source({source}) target=target({target})"


def attached(role, other, source, target):
    """How a client attaches a link with plenty of credit."""
    own = OWN.format(source=source, target=target)
    count = "initial-delivery-count=0"
    return (
        (CLIENT, f'attach name="l" role={role} {own} {count if role == "sender" else ""}'),
        (SERVER, f'attach name="l" role={other} {own} {count if other == "sender" else ""}'),
        (SERVER if role == "sender" else CLIENT, FLOW),
    )


BARE = f'properties(message-id=ulong {NUMBER} to="q") data(b"{{\\"item\\": 4711}}")'
TRANSFER = f"transfer handle=0 delivery-id={NUMBER}'70 delivery-tag=0xdeadbeef message-format=0"
PUBLISH = parse(f"{TRANSFER} | header(durable=true) {BARE}")
DELIVER = parse(
    f"{TRANSFER} | header(durable=true first-acquirer=true delivery-count=0)"
    f' message-annotations({{:x-exchange="" :x-routing-key="q"}}) {BARE}'
)
DISPOSITION = parse(f"disposition role=receiver first={NUMBER}'70 settled=true state=accepted()")


def write_followed(path, messages):
    """Write messages of 1.0 that go through queues; how many frames they are."""
    with open(path, "wb", buffering=1 << 20) as file:
        writer = CaptureWriter(file)
        pairs = [(connect(writer, queue, "sender"), connect(writer, queue, "receiver"))
                 for queue in range(QUEUES)]  # fmt: skip
        time, each = START, messages // QUEUES
        for number in range(each + BACKLOG):
            for queue, (producer, consumer) in enumerate(pairs):
                time += 20_000
                if number < each:
                    producer.data(CLIENT, time, message(PUBLISH, queue, number))
                    producer.data(SERVER, time + 5_000, numbered(DISPOSITION, number))
                if number >= BACKLOG:
                    before = number - BACKLOG
                    consumer.data(SERVER, time + 10_000, message(DELIVER, queue, before))
                    consumer.data(CLIENT, time + 15_000, numbered(DISPOSITION, before))
    return 4 * messages


def connect(writer, queue, role):
    """A connection with one link to a queue."""
    port = 40000 + 2 * queue + (role == "sender")
    talk = ConnectionWriter(writer, ("10.0.0.1", port), ("10.0.0.2", 5672))
    talk.open(START)
    address = f'address="q{queue}"'
    ends = ("receiver", "", address) if role == "sender" else ("sender", address, "")
    for sender, unit in (*SESSION, *attached(role, *ends)):
        talk.data(sender, START, parse(unit))
    return talk


def message(template, queue, number):
    """A transfer with its numbers, and an id that is the queue's and the message's own."""
    marker = NUMBER.to_bytes(8, "big")
    own = template.replace(marker, (queue << 32 | number).to_bytes(8, "big"))
    return numbered(own, number)


def measure(messages, folder):
    """A line of the table."""
    path = os.path.join(folder, "followed")
    frames = write_followed(path, messages)
    without, with_ = (
        running.Rival(name, (sys.executable, "-c", READ, name), path, frames)
        for name in ("plain", "followed")
    )
    running.measure((without, with_), 1)
    os.remove(path)
    return (
        f"{messages:9,} messages, {frames:9,} frames: {without.seconds:6.2f} s,"
        f" {with_.seconds:6.2f} s followed; {without.megabytes:3.0f} MB, {with_.megabytes:3.0f} MB;"
        f" {without.seconds / with_.seconds:.2f} x the speed"
    )


def main():
    """Print a line for a quarter, a half and all of the messages."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    print(f"{amqpscope.build()}, {2 * QUEUES} connections")
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as folder:
        for part in (4, 2, 1):
            print(measure(messages // part, folder), flush=True)


if __name__ == "__main__":
    main()
