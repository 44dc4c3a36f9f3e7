"""Real TLS peers of a `TlsEnd` or a `Crossing`, without sockets, and certificates for them."""

import contextlib
import datetime
import ssl

from amqpscope.proxy.certificates import make_authority, make_key, make_leaf
from amqpscope.proxy.tls_bridge import UPSTREAM
from amqpscope.stream.types import CLIENT

NOW = datetime.datetime.now(datetime.UTC)
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Peer:
    """One end of TLS as Python's ssl plays it; `plain` is what it has read."""

    def __init__(self, context, server_name=None):
        self.received, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self.received,
            self.sent,
            server_side=context.protocol == ssl.PROTOCOL_TLS_SERVER,
            server_hostname=server_name,
        )
        self.plain = b""
        self.done = False
        self.eof = False
        self.error = None
        self._unsent = []
        self.clear = b""
        """To be said before TLS."""
        self.expected = b""
        """To be heard before TLS."""

    def say(self, plain):
        self._unsent.append(plain)

    def hang_up(self):
        """Send close_notify, and go on reading."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()

    def turn(self, data):
        """Take octets from the wire and give the next ones."""
        out, self.clear = self.clear, b""
        if self.expected:
            heard = data[: len(self.expected)]
            assert self.expected.startswith(heard)
            self.expected = self.expected[len(heard) :]
            data = data[len(heard) :]
            if self.expected:
                return out
        self.received.write(data)
        try:
            self._work()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.eof = True
        except ssl.SSLError as error:
            self.error = error
        return out + self.sent.read()

    def _work(self):
        if not self.done:
            self.tls.do_handshake()
            self.done = True
        for plain in self._unsent:
            assert self.tls.write(plain) == len(plain)
        self._unsent.clear()
        while part := self.tls.read(65536):
            self.plain += part
        self.eof = True


class Plain:
    """A peer that knows nothing of TLS."""

    def __init__(self):
        self.plain = b""
        self._unsent = b""

    def say(self, plain):
        self._unsent += plain

    def turn(self, data):
        self.plain += data
        out, self._unsent = self._unsent, b""
        return out


def converse(crossing, client, upstream, size=None):
    """Carry octets until nobody has any more, `size` at a time; what was to be recorded.

    The pairs are (side, plaintext), the plaintext in a row from one side put together.
    """
    recorded = []
    moved = True
    peers = {CLIENT: client, UPSTREAM: upstream}
    while moved:
        moved = False
        for side, peer in peers.items():
            out = crossing.outgoing(side)
            data = peer.turn(out)
            moved = moved or bool(out or data)
            step = size or len(data) or 1
            for at in range(0, len(data), step):
                plain = crossing.feed(side, data[at : at + step])
                crossing.send(1 - side, plain)
                _record(recorded, side, plain)
    return recorded


def _record(recorded, side, plain):
    if not plain:
        return
    if recorded and recorded[-1][0] == side:
        recorded[-1] = (side, recorded[-1][1] + plain)
    else:
        recorded.append((side, plain))


class Certified:
    """A server's certificate on disk, and the CA it comes from."""

    def __init__(self, directory, *hosts, now=NOW):
        self.authority = make_authority(now)
        self.path = directory / f"{hosts[0]}-{now:%Y}.pem"
        self.path.write_bytes(make_leaf(self.authority, make_key(), hosts, now).pem)
        self.ca = directory / f"{hosts[0]}-{now:%Y}-ca.pem"
        self.ca.write_bytes(self.authority.pem())


def server(certified, version=None, **how):
    """The context of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certified.path)
    return _finished(context, version, **how)


def client(ca, version=None, **how):
    """The context of a client that trusts a CA, and takes the rules seriously."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        context.load_verify_locations(ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return _finished(context, version, **how)


def _finished(context, version, alpn=()):
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context
