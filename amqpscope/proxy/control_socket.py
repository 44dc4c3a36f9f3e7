"""A socket in the file system through which other programs reach a running proxy.

Only its owner can: the socket has mode 0600, in a folder of mode 0700. A line of JSON is a
question, and a line of JSON its answer: {"do": "status"} asks how the proxy is doing, and
`faults.commands` has the other questions. Nobody who is slow, or sends rubbish, can hold up the
traffic.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from amqpscope.proxy.connection import EDGE, IN
from amqpscope.proxy.listening import bind_private, is_abandoned
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay

LONGEST: Final = 1 << 18
"""Octets of a question."""
MOST: Final = 16
"""Programs that may be connected at a time."""
SUFFIX: Final = ".sock"
STATUS: Final = "status"
ANSWER_SECONDS: Final = 30.0
"""A proxy that is asked for its first fault has to import what plays faults."""


def is_status_question(line: bytes) -> bool:
    """Whether somebody asks how the proxy is doing."""
    return bool(json_of(line) == {"do": STATUS})


def json_of(line: bytes) -> Any:
    """What a line of JSON says; None for anything else."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class ControlError(Exception):
    """A proxy that cannot be reached; one line says why."""


def folder() -> str:
    """Where the sockets of this user's proxies are."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isdir(base):
        return os.path.join(base, "amqpscope")
    return os.path.join(tempfile.gettempdir(), f"amqpscope-{os.getuid()}")


def path_of(name: str) -> str:
    """Where the socket of a proxy is."""
    return os.path.join(folder(), os.path.basename(name) + SUFFIX)


def require_private(path: str) -> None:
    """Create a folder for its owner alone; OSError if it is somebody else's, or open to others."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    state = os.lstat(path)
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise PermissionError(f"{path} is open to others")


class ControlSocket:
    """The proxy's end."""

    def __init__(self, relay: Relay, name: str, *others: str) -> None:
        """OSError when there can be none: the proxy then goes on without."""
        require_private(folder())
        self.relay = relay
        self.name = name
        self.path = path_of(name)
        self.links = [path_of(other) for other in others]
        for path in (self.path, *self.links):
            if os.path.islink(path):  # of a proxy that was killed: the port is ours now
                os.unlink(path)
        self.clients: dict[int, tuple[socket.socket, bytearray]] = {}
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            bind_private(self.listener, self.path)
            self.listener.listen(MOST)
            for link in self.links:
                os.symlink(os.path.basename(self.path), link)
        except OSError:
            self.listener.close()
            raise
        self.listener.setblocking(False)
        relay.register(self.listener.fileno(), IN, self.defer_accept)

    def defer_accept(self, _: int) -> None:
        """Accept after the turn: a descriptor that was closed in it may come again."""
        self.relay.later.append(self.accept)

    def accept(self) -> None:
        """Take a program that connects."""
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        if len(self.clients) >= MOST:
            client.close()
            return
        client.setblocking(False)
        self.clients[client.fileno()] = client, bytearray()
        self.relay.register(client.fileno(), IN, partial(self.event, client.fileno()))

    def event(self, fd: int, _: int) -> None:
        """A program says something: answer after the turn."""
        self.relay.later.append(partial(self.answer, fd))

    def answer(self, fd: int) -> None:
        """Answer the questions that are whole."""
        if fd not in self.clients:
            return
        client, received = self.clients[fd]
        try:
            octets = client.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        received += octets
        *lines, rest = bytes(received).split(b"\n")
        received[:] = rest
        for line in lines:
            if is_status_question(line):  # which needs nothing of what plays faults
                self.send(fd, client, {STATUS: self.relay.status()._asdict()})
            else:
                self.relay.loader.when_ready(partial(self.reply, fd, client, line))
        if not octets or len(rest) > LONGEST:
            self.relay.change(fd, EDGE)
            self.relay.loader.when_ready(partial(self.drop_client, fd, client))

    def reply(self, fd: int, client: socket.socket, line: bytes) -> None:
        """Answer a question."""
        from amqpscope.proxy.faults.commands import answer

        self.send(fd, client, answer(self.relay, json_of(line)))

    def send(self, fd: int, client: socket.socket, message: dict[str, Any]) -> None:
        """Send an answer; who does not take it at once is dropped."""
        if fd not in self.clients or self.clients[fd][0] is not client:
            return
        text = json.dumps(message).encode() + b"\n"
        try:
            whole = client.send(text) == len(text)
        except OSError:
            whole = False
        if not whole:
            self.drop_client(fd, client)

    def drop_client(self, fd: int, client: socket.socket) -> None:
        """Let go of a program, unless that has happened and its descriptor is another's."""
        if fd in self.clients and self.clients[fd][0] is client:
            self.drop(fd)

    def drop(self, fd: int) -> None:
        """Close a program's connection."""
        client, _ = self.clients.pop(fd)
        self.relay.handlers.pop(fd, None)
        client.close()

    def forget(self) -> None:
        """Close it in a process that does not relay."""
        for client, _ in self.clients.values():
            client.close()
        self.clients.clear()
        self.listener.close()

    def close(self) -> None:
        """The proxy ends."""
        self.forget()
        with contextlib.suppress(OSError):
            for path in (self.path, *self.links):
                os.unlink(path)
            os.rmdir(os.path.dirname(self.path))  # unless another proxy runs


def running() -> list[str]:
    """The names of the proxies that can be reached."""
    try:
        names = sorted(os.listdir(folder()))
    except OSError:
        return []
    found = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    own = [name for name in found if not os.path.islink(path_of(name))]
    return [name for name in own if not is_abandoned(path_of(name))]


def ask(name: str, question: dict[str, Any]) -> dict[str, Any]:
    """Ask a proxy by its name; ControlError when it does not answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
            end.settimeout(ANSWER_SECONDS)
            end.connect(path_of(name))
            end.sendall(json.dumps(question).encode() + b"\n")
            with end.makefile("rb") as file:
                answer = json.loads(file.readline())
    except FileNotFoundError as error:
        others = ", ".join(running())
        raise ControlError(
            f"no proxy listens on {name}" + (others and f", but on {others}")
        ) from error
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it closed the connection"
        raise ControlError(f"proxy {name}: {reason}") from error
    if not isinstance(answer, dict):
        raise ControlError(f"proxy {name}: it answers in another way")
    return answer
