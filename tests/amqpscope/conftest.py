"""What the tests share: captures made from notation, and reading and checking in this process."""

import io
import re
from dataclasses import replace
from typing import NamedTuple

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.check.selection import Selection
from amqpscope.cli.read import ReadOptions, print_frames
from amqpscope.report.look import Look
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.stream.types import PEERS
from dissectors.notation import parse_conversation
from kit.proxy.brokers import broker, carried, modules, rabbitmq, rhea  # noqa: F401 - fixtures
from kit.proxy.fixtures import config, proxy, relay, server  # noqa: F401 - fixtures

FINDING = re.compile(r" +(?:error|warning|info)\[(?P<rule>[A-Z0-9-]+)\] frame (?P<frame>\d+): ")
START = 1_700_000_000_000_000_000
"""When the first unit of a made capture passes."""
SECOND = 1_000_000_000

OPENED = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s"
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""


class Shown(NamedTuple):
    """What one run of the reader gave."""

    text: str
    told: list[str]
    code: int

    @property
    def lines(self):
        """All but what was found too late to stand with its frame."""
        return [line for line in self.text.splitlines() if not FINDING.match(line)]

    @property
    def late(self):
        """What was found too late, as rule and frame."""
        found = map(FINDING.match, self.text.splitlines())
        return [(match["rule"], int(match["frame"])) for match in found if match]


@pytest.fixture
def recorded(tmp_path):
    """Make a capture of a conversation in notation, a packet for each unit."""

    def make(text, name="made.pcapng", port=5672, handshake=True):
        path = tmp_path / name
        with path.open("wb") as file:
            talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", port))
            if handshake:
                talk.open(START)
            for line in parse_conversation(text):
                time = START + round(line.time * SECOND)
                talk.data(PEERS.index(line.peer), time, line.raw)
        return path

    return make


@pytest.fixture
def opened(recorded):
    """Make a capture that goes on after open and begin."""
    return lambda text, **how: recorded(OPENED + text, **how)


@pytest.fixture
def show():
    """Run `amqpscope read` in this process."""

    def run(*paths, width=0, colour=False, plain=False, **options):
        out, told = io.StringIO(), []
        look = Look(width, colour, plain)
        wanted = ReadOptions(**options)
        code = print_frames(tuple(map(str, paths)), wanted, look, out, told.append)
        return Shown(out.getvalue(), told, code)

    return run


SENDER = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
"""
BAD = """
@2.0s client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
"""
GOOD = """
@0.5s server: disposition role=receiver first=0 settled=true state=accepted()
@1.0s server: flow next-incoming-id=1 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=1 link-credit=1
"""


@pytest.fixture
def bad(opened):
    """A capture in which the client sends without credit, at frame 11: FLW-016."""
    return opened(SENDER + BAD, name="bad.pcapng")


@pytest.fixture
def good(opened):
    """A capture in which it waits for credit, and gets it after a second."""
    return opened(SENDER + GOOD + BAD, name="good.pcapng")


@pytest.fixture
def many(opened):
    """A capture in which the server rejects ten deliveries without saying why: OUT-010."""
    sent = "".join(
        f'client: transfer handle=0 delivery-id={n} delivery-tag=b"{n}" | data(b"")\n'
        f"server: disposition role=receiver first={n} settled=true state=rejected()\n"
        for n in range(10)
    )
    flow = """
server: flow next-incoming-id=0 incoming-window=99 next-outgoing-id=0 outgoing-window=99 handle=0
             delivery-count=0 link-credit=50
"""
    return opened(SENDER + flow + sent, name="many.pcapng")


@pytest.fixture
def checked(bad):
    """What `lint` finds in `bad`: one finding, of FLW-016."""
    found = check(str(bad), CheckSettings(Selection(select=("FLW-016",))))
    assert [finding.frame for finding in found.findings] == [11]
    return found


@pytest.fixture
def change(checked):
    """Put a changed copy of the finding of `checked` in its place, and return it."""

    def put(**fields):
        checked.findings[0] = replace(checked.findings[0], **fields)
        return checked.findings[0]

    return put


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A real browser, started once for all tests; skipped where there is none."""
    from kit.chromium import CHROMIUM, Browser

    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()
