"""Listeners: on the addresses of a host, or on a Unix socket."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from amqpscope.proxy.address import (
    UNIX,
    AddressError,
    address_text,
    parse_listen,
    resolve,
    socket_path,
)
from amqpscope.wording import reason_of


def listen_at(text: str) -> list[socket.socket]:
    """Listeners where users want them: `127.0.0.1:5673`, `:5673`, `unix:/run/amqp.sock`."""
    if text.startswith(UNIX):
        return [listen_on_path(socket_path(text))]
    return listen_on(*parse_listen(text))


def listen_on(host: str, port: int) -> list[socket.socket]:
    """Listeners on every address of a host, all on the same port."""
    listeners: list[socket.socket] = []
    try:
        for family, address in resolve(host, port, passive=True):
            listener = socket.socket(family, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Port 0 means any, but the same for all.
            chosen = port or (listeners[0].getsockname()[1] if len(listeners) > 1 else 0)
            listener.bind((address[0], chosen, *address[2:]))
            listener.listen(1024)
            listener.setblocking(False)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise AddressError(
            f"cannot listen on {address_text((host, port))}: {reason_of(error)}"
        ) from error
    return listeners


def listen_on_path(path: str) -> socket.socket:
    """A listener on a Unix socket that only its owner can connect to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bind_private(listener, path)
        listener.listen(1024)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise AddressError(f"cannot listen on {UNIX}{path}: {reason_of(error)}") from error
    return listener


def bind_private(listener: socket.socket, path: str) -> None:
    """Bind to a path of mode 0600, in the place of a socket that nobody answers at."""
    if is_abandoned(path):
        os.unlink(path)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)


def is_abandoned(path: str) -> bool:
    """Whether a socket is there that nobody answers at."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
    except OSError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def remove_paths(listeners: list[socket.socket]) -> None:
    """Remove the Unix sockets of listeners that are about to close."""
    for listener in listeners:
        if listener.family == socket.AF_UNIX and listener.fileno() >= 0:
            with contextlib.suppress(OSError):
                os.unlink(listener.getsockname())
