"""Relays and servers for the tests of the proxy, and what a recording holds."""

import contextlib
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict

from amqpscope.capture.pieces import Pieces
from amqpscope.stream.types import Chunk, End

PATIENCE = 20


class Relayed:
    """A relay in its own process."""

    def __init__(self, process, watch, status):
        self.process = process
        self.watch = watch
        self.path = status.first
        self.addresses = [split(text) for text in status.listening]

    def connect(self, which=0):
        return socket.create_connection(self.addresses[which], PATIENCE)

    def settle(self, connections=0):
        """Wait until no more than so many connections are open; the status then."""
        status = self.watch.status()
        until = time.monotonic() + PATIENCE
        while status.open > connections and time.monotonic() < until:
            time.sleep(0.01)
            status = self.watch.status()
        return status

    def stop(self):
        self.watch.stop()
        self.watch.wait_for_end()
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)


class Server:
    """Runs a function for each connection, in threads."""

    def __init__(self, handler, family=socket.AF_INET):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self.socket.listen(1024)
        self.handler = handler
        self.port = self.socket.getsockname()[1]
        self.errors = []
        threading.Thread(target=self.accept, daemon=True).start()

    def __str__(self):
        host = self.socket.getsockname()[0]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            with peer:
                self.handler(peer)
        except OSError as error:
            self.errors.append(error)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def echo(peer):
    """Answer with the same octets, and end when the client does."""
    while octets := peer.recv(1 << 16):
        peer.sendall(octets)
    peer.shutdown(socket.SHUT_WR)


def split(text):
    if text.startswith("unix:"):
        return text
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def receive_all(peer):
    """All octets up to the end."""
    return b"".join(iter(lambda: peer.recv(1 << 16), b""))


def receive(peer, size):
    """Exactly so many octets."""
    octets = bytearray()
    while len(octets) < size and (part := peer.recv(size - len(octets))):
        octets += part
    return bytes(octets)


def reset(peer):
    """Close a socket so that the other side sees a reset."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()


def was_reset(peer):
    """Whether the connection ends with a reset, and not with an orderly end."""
    try:
        while peer.recv(1 << 16):
            pass
    except ConnectionResetError:
        return True
    return False


class Talk:
    """One connection of a recording: the octets of both directions, and how each ended."""

    def __init__(self):
        self.octets = [bytearray(), bytearray()]
        self.ends = ["", ""]
        self.acks = []
        """Sender, offset of its octets, and how much of the other's it had."""


def talks(path):
    """The connections of a recording, by the client's port."""
    found = defaultdict(Talk)
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                talk = found[piece.connection.client[1]]
                assert piece.connection.complete
                if isinstance(piece, Chunk):
                    assert piece.offset == len(talk.octets[piece.sender])
                    talk.octets[piece.sender] += piece.data
                    talk.acks.append((piece.sender, piece.offset, piece.ack))
                elif isinstance(piece, End):
                    talk.ends[piece.sender] = piece.reason
                else:
                    raise AssertionError(piece)
    return dict(found)


def noise(size, seed=0):
    """Octets that do not repeat."""
    return random.Random(seed).randbytes(size)


def digest(octets):
    return hashlib.sha256(octets).hexdigest()


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    """Resident kilobytes."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Command:
    """`amqpscope proxy` as a user runs it."""

    def __init__(self, arguments, **how):
        command = [sys.executable, "-m", "amqpscope", "proxy", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **{**pipes, **how})
        self.said = []
        self.printed = []
        self.threads = [
            threading.Thread(target=self.hear, args=(pipe, heard), daemon=True)
            for pipe, heard in (
                (self.process.stderr, self.said),
                (self.process.stdout, self.printed),
            )
            if pipe is not None
        ]
        for thread in self.threads:
            thread.start()

    def hear(self, pipe, heard):
        for line in pipe:
            heard.append(line.rstrip("\n"))

    def wait_for(self, word, heard=None):
        """The first line with a word in it, on standard error unless told otherwise."""
        heard = self.said if heard is None else heard
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for line in list(heard):
                if word in line:
                    return line
            if self.process.poll() is not None and not any(t.is_alive() for t in self.threads):
                break
            time.sleep(0.01)
        raise AssertionError(f"no {word!r} in {heard}")

    @property
    def address(self):
        line = self.wait_for("listening on ")
        return split(line.partition("listening on ")[2].partition(",")[0])

    def connect(self):
        return socket.create_connection(self.address, PATIENCE)

    def child(self):
        """The process that analyses."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return int(file.read().split()[0])

    def end(self, number=signal.SIGINT):
        """Ask it to end; its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        return code
