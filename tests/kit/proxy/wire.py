"""Two peers on sockets that say what a test tells them, in notation, with a relay between."""

import queue
import socket
import time

from amqpscope.protocols.v0_9.framer import DialectGuess
from amqpscope.protocols.v0_9.framer import Framer as FramerV09
from amqpscope.protocols.v1_0.framer import Framer as FramerV10
from amqpscope.stream.types import Chunk, Connection
from dissectors.notation import parse, write
from dissectors.v0_9.dialects import DEFAULT, dialect
from kit.proxy.relaying import PATIENCE

OPENING = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s"
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
SENDING = OPENING + "\n".join((
    'client: attach name="l" handle=3 role=sender source=source() target=target(address="q") '
    "initial-delivery-count=0",
    'server: attach name="l" handle=5 role=receiver source=source() target=target(address="q")',
    "server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 "
    "handle=5 delivery-count=0 link-credit=10",
    "",
))  # fmt: skip
"""A client that may send ten messages."""
IN_A_CHANNEL = """
client: header AMQP 0.9.1
server: connection.start version-major=0 version-minor=9 mechanisms="PLAIN" locales="en_US"
client: connection.start-ok mechanism="PLAIN" response="\\0guest\\0secret" locale="en_US"
server: connection.tune channel-max=10 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=10 frame-max=131072 heartbeat=20
client: connection.open virtual-host="/"
server: connection.open-ok
client: channel.open[1]
server: channel.open-ok[1]
client: confirm.select[1]
server: confirm.select-ok[1]
"""
"""A client of 0-9-1 that publishes with confirms."""


class End:
    """One of the peers."""

    def __init__(self, endpoint, v0_9=False):
        self.socket = endpoint
        self.socket.settimeout(PATIENCE)
        spoken = DialectGuess(dialect(DEFAULT), True)
        self.v0_9 = v0_9
        self.framer = FramerV09(0, spoken) if v0_9 else FramerV10(0)
        self.offset = 0
        self.frames = []
        """Received and not asked for yet."""

    def say(self, *lines):
        self.socket.sendall(b"".join(map(parse, lines)))

    def hear(self):
        """The next frame in notation; None at the end of the stream."""
        while not self.frames:
            octets = self.socket.recv(1 << 16)
            if not octets:
                return None
            chunk = Chunk(Connection(("", 0), ("", 0), True), 0, self.offset, octets, 0, 0, -1)
            self.offset += len(octets)
            self.frames += self.framer.feed(chunk)
        return write(self.frames.pop(0).raw, 0, DEFAULT if self.v0_9 else "")

    def hears_nothing(self, seconds=0.3):
        """Whether no frame comes within a time."""
        if self.frames:
            return False
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)


class Wire:
    """A client and a server, connected through a relay."""

    def __init__(self, relay, server, *faults, v0_9=False, **settings):
        self.accepted = queue.Queue()
        self.relay = relay(server(self.serve), faults=tuple(faults), **settings)
        self.v0_9 = v0_9
        self.connect()

    def connect(self):
        self.client = End(self.relay.connect(), self.v0_9)
        self.server = End(self.accepted.get(timeout=PATIENCE), self.v0_9)

    def serve(self, peer):
        self.accepted.put(peer.dup())

    def play(self, text):
        """Let each peer say its lines, once the other has heard the one before."""
        for line in filter(None, map(str.strip, text.splitlines())):
            name, _, said = line.partition(": ")
            near, far = self.client, self.server
            if name == "server":
                near, far = far, near
            near.say(said)
            assert far.hear() == write(parse(said), 0, DEFAULT if self.v0_9 else "")


class Outside:
    """The connection around a layer: keeps what goes out, and lets time stand still."""

    def __init__(self):
        self.number = 1
        self.client_address, self.server_address = ("10.0.0.1", 1), ("10.0.0.2", 2)
        self.sent = [bytearray(), bytearray()]
        self.reports = []
        self.is_split = self.closing = False
        self.recorded_at = 0

    def pump(self):
        pass

    def emit(self, side, octets, comment=""):
        self.sent[side] += octets

    def split(self):
        self.is_split = True

    def close_both(self):
        self.closing = True

    reset_both = close_both

    def report(self, text):
        self.reports.append(text)

    def pass_end(self, side):
        pass

    def record_received(self, side, octets):
        pass

    def mark(self, side, comment):
        pass

    def call_later(self, seconds):
        pass

    def write_now(self, side):
        pass


def fault(on, action, **counts):
    """A fault as the settings of a relay have it."""
    return {"on": on, "action": action, **counts}


def measured(action):
    """What something gives, and how many seconds it takes."""
    start = time.monotonic()
    return action(), time.monotonic() - start
