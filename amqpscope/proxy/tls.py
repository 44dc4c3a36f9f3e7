"""One end of a TLS connection, without a socket: ciphertext in, plaintext out, and back.

A `TlsEnd` plays the server toward a client or the client toward an upstream. It never waits:
whoever owns the socket gives what was read to `receive` and writes what `outgoing` has.

Each direction ends by itself. After `close` this end still receives, and after the peer's
close_notify it still sends, as half-closed TCP does.
"""

from __future__ import annotations

import ssl
from typing import Final, Protocol

RECORD: Final = 16384
"""RFC 8446, 5.1: the plaintext of one record is no longer, and one read gives one record."""


class TlsError(Exception):
    """TLS that cannot go on; the text is one line for the user."""

    def __init__(self, text: str, side: int = 0, *, quiet: bool = False) -> None:
        super().__init__(text)
        self.side = side
        """Which side of the proxy it is about: CLIENT or UPSTREAM."""
        self.quiet = quiet
        """Nobody needs to be told: somebody only looked whether the port is open."""
        self.plain = b""
        """What was decrypted in the same call before the trouble; it was sent, so pass it on."""


class Troubles(Protocol):
    """Says in words what went wrong at one end."""

    side: int

    def explain(self, error: OSError, certificate: bytes | None) -> str:
        """One line about an error of OpenSSL, with the certificate (DER) that the peer showed."""

    def cut(self) -> str:
        """One line about a connection that ended inside the handshake."""


class TlsEnd:
    """One end of a TLS connection."""

    def __init__(
        self, context: ssl.SSLContext, troubles: Troubles, *, server_name: str | None = None
    ) -> None:
        self._received = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._received,
            self._outgoing,
            server_side=context.protocol == ssl.PROTOCOL_TLS_SERVER,
            server_hostname=server_name,
        )
        self._troubles = troubles
        self._unsent: list[bytes] = []
        self._closing = False
        self._failure = ""
        """Why it cannot go on. Not the exception, whose traceback would lead back here."""
        self.done = False
        """The handshake is through."""
        self.eof = False
        """The peer has said its last: it sent close_notify, or its socket ended."""
        self.closed = False
        """Our own close_notify is written."""
        self.truncated = False
        """Its socket ended without close_notify."""

    def start(self) -> None:
        """Begin the handshake, as a client does."""
        self._handshake()

    def receive(self, data: bytes) -> bytes:
        """Take octets from the socket; the plaintext that they complete."""
        if self._failure:
            raise TlsError(self._failure, self._troubles.side)
        self._received.write(data)
        if not self.done and not self._handshake():
            return b""
        plain = self._read()
        # A renegotiation may have held it back.
        if self._unsent:
            self._write()
        return plain

    def receive_eof(self) -> None:
        """Take the end of the socket."""
        if not self._failure and not self.done:
            self._failure = self._troubles.cut()
        if self._failure:
            raise TlsError(self._failure, self._troubles.side)
        self.truncated = not self.eof
        self.eof = True

    def send(self, plain: bytes | memoryview) -> None:
        """Take plaintext for the peer; it is not kept, so a buffer may be used again."""
        sent = self._encrypt(plain) if self.done and not self._unsent else 0
        if sent < len(plain):
            self._unsent.append(bytes(plain[sent:]))

    def close(self) -> None:
        """Say that nothing more will be sent, once all that was given is."""
        self._closing = True
        if self.done:
            self._write()

    def outgoing(self) -> bytes:
        """The octets to write to the socket now."""
        return self._outgoing.read() if self._outgoing.pending else b""

    @property
    def queued(self) -> int:
        """Octets for the peer that lie here: not yet encrypted, or not yet taken by `outgoing`."""
        return self._outgoing.pending + sum(map(len, self._unsent))

    @property
    def held(self) -> int:
        """Octets from the peer that lie here: a record that is not complete."""
        return self._received.pending

    @property
    def version(self) -> str:
        """TLSv1.3 or TLSv1.2; empty before the handshake is through."""
        return (self._tls.version() or "") if self.done else ""

    @property
    def alpn(self) -> str:
        """The protocol agreed on, if any."""
        return (self._tls.selected_alpn_protocol() or "") if self.done else ""

    def _handshake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except OSError as error:
            raise self._failed(error) from None
        self.done = True
        self._write()
        return True

    def _read(self) -> bytes:
        parts: list[bytes] = []
        read, received = self._tls.read, self._received
        try:
            while part := read(RECORD):
                parts.append(part)
                # OpenSSL takes whole records off, so there is none left; to ask it costs an error.
                if not received.pending:
                    break
            else:
                self.eof = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.eof = True
        except OSError as error:
            failure = self._failed(error)
            failure.plain = b"".join(parts)
            raise failure from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _write(self) -> None:
        """Encrypt what waits, and say the last word if all is said."""
        unsent = self._unsent
        while unsent:
            sent = self._encrypt(unsent[0])
            if sent < len(unsent[0]):
                unsent[0] = unsent[0][sent:]
                return
            del unsent[0]
        if self._closing:
            self._closing = False
            self.closed = True
            try:
                self._tls.unwrap()
            except ssl.SSLWantReadError:
                pass  # close_notify is out; that of the peer comes when it likes
            except OSError as error:
                raise self._failed(error) from None

    def _encrypt(self, plain: bytes | memoryview) -> int:
        """Write plaintext, a record at a time; how much of it the connection took."""
        size = len(plain)
        view = memoryview(plain)
        sent = 0
        try:
            while sent < size:
                sent += self._tls.write(view[sent : sent + RECORD])
        except ssl.SSLWantReadError:
            pass  # a renegotiation: the peer's turn
        except OSError as error:
            raise self._failed(error) from None
        return sent

    def _failed(self, error: OSError) -> TlsError:
        self._failure = self._troubles.explain(error, shown_certificate(self._tls))
        error.__traceback__ = None
        return TlsError(self._failure, self._troubles.side)


def shown_certificate(tls: ssl.SSLObject) -> bytes | None:
    """The certificate that the peer showed (DER), also one that was not accepted.

    Public from Python 3.13 on; before that only the object inside has it, and what it gives are
    objects. Without it the user is told less, so its absence is no trouble.
    """
    chain = getattr(tls, "get_unverified_chain", None) or getattr(
        getattr(tls, "_sslobj", None), "get_unverified_chain", None
    )
    if chain is None:
        return None
    try:
        shown = chain()
        first = shown[0] if shown else None
        if first is None or isinstance(first, bytes):
            return first
        return ssl.PEM_cert_to_DER_cert(first.public_bytes())
    except (OSError, ValueError):
        return None
