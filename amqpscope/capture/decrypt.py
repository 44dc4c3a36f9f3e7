"""Which TLS connections can be decrypted, and the word to the user about those that cannot.

A capture is read twice for TLS. When the first application data is met and a key may be known, the
capture is read once more from its beginning to collect the TLS records, tshark decrypts them into a
temporary file, and the first reading goes on with the plaintext at hand. Before a connection is
given up for want of a key, the capture is looked through for one that comes later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqpscope.capture.handshake import ALERT, RECORD_HEADER
from amqpscope.capture.keylog import Keys
from amqpscope.capture.source import CaptureError
from amqpscope.capture.tls import APPLICATION_DATA, Records, TlsStream
from amqpscope.stream.types import PEERS

if TYPE_CHECKING:
    from amqpscope.capture.tshark import Plaintexts

CLEAR_ALERT: Final = RECORD_HEADER + 2
"""Octets of an alert that is not encrypted: a level and a description."""
FATAL: Final = 2
# fmt: off
ALERTS: Final = {
    # description: its name in the RFCs 8446 and 7301, and what it mostly means
    10:  ("unexpected_message",          "its peer does not use TLS as it should"),
    20:  ("bad_record_mac",              ""),
    22:  ("record_overflow",             "its peer may not use TLS at all"),
    40:  ("handshake_failure",           "no common cipher, or a client certificate is wanted"),
    42:  ("bad_certificate",             "the certificate is broken, or is for another name"),
    43:  ("unsupported_certificate",     ""),
    44:  ("certificate_revoked",         ""),
    45:  ("certificate_expired",         "the certificate has expired, or is not valid yet"),
    46:  ("certificate_unknown",         "the certificate is not accepted"),
    47:  ("illegal_parameter",           ""),
    48:  ("unknown_ca",                  "it does not trust who signed the certificate"),
    49:  ("access_denied",               "the certificate is valid, but not allowed"),
    50:  ("decode_error",                "its peer may not use TLS at all"),
    51:  ("decrypt_error",               ""),
    70:  ("protocol_version",            "no common version of TLS"),
    71:  ("insufficient_security",       "the ciphers on offer are too weak"),
    80:  ("internal_error",              ""),
    109: ("missing_extension",           ""),
    112: ("unrecognized_name",           "it has no certificate for that name"),
    116: ("certificate_required",        "a client certificate is wanted"),
    120: ("no_application_protocol",     "no common protocol (ALPN)"),
}
# fmt: on
MAX_NOTES: Final = 10
"""Connections named one by one in the notes; the rest is counted."""


class Unread(Records):
    """Takes records that nobody wants to read."""

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        """Take a record; without keys there is nothing to do."""
        return b""


class Decryptor(Records):
    """Knows the plaintext of records, by keys and tshark, and what to show the user if not."""

    def __init__(self, keys: Keys, collect: Callable[[Records], None] | None) -> None:
        super().__init__()
        self._keys = keys
        self._collect = collect
        """Feeds all records of the capture to the writer; None when it cannot be read twice."""
        self._plaintexts: Plaintexts | None = None
        self._failed = False
        self._searched = False
        self.refusal = ""
        """Why nothing can be decrypted here, whatever keys there are."""
        self._notes: list[str] = []
        self._unnamed = 0

    @property
    def notes(self) -> list[str]:
        """What the user should know, one line each."""
        if not self._unnamed:
            return self._notes
        return [*self._notes, f"{self._unnamed} more TLS connections could not be decrypted"]

    def take_notes(self) -> list[str]:
        """The notes since they were last taken."""
        found, self._notes, self._unnamed = self.notes, [], 0
        return found

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        """The application data inside the next record, if a key is known."""
        number = self.count
        self.count += 1
        if record[0] != APPLICATION_DATA:
            if record[0] == ALERT and len(record) == CLEAR_ALERT and record[-2] == FATAL:
                self._note_refusal(stream, _failure(sender, record[-1]))
            return b""
        if not stream.decided:
            self._decide(stream)
        if not stream.decrypted or self._plaintexts is None:
            return b""
        return self._plaintexts.take(number)

    def end_stream(self, stream: TlsStream) -> None:
        """Say so if a key was known and yet nothing came out."""
        if stream.decrypted and not stream.found:
            self._note(stream, "its key is known, but no data was found in it")

    def close(self) -> None:
        """Remove the spooled plaintext."""
        if self._plaintexts is not None:
            self._plaintexts.close()
            self._plaintexts = None

    def _decide(self, stream: TlsStream) -> None:
        stream.decided = True
        if self.refusal:
            self._note(stream, self.refusal)
            return
        keys = self._keys
        if self._collect is not None and not self._searched:
            self._search(stream, self._collect)
        if not keys:
            self._note(stream, _no_key(stream))
        elif self._collect is None:
            self._note(stream, "it can be decrypted only from a file that is complete: read that")
        else:
            if self._plaintexts is None and (keys.growing or keys.knows(stream.client_random)):
                self._decrypt(self._collect)
            if self._plaintexts is not None:
                stream.decrypted = keys.knows(stream.client_random)
            if not stream.decrypted and not self._failed:
                self._note(stream, _no_key(stream))

    def _search(self, stream: TlsStream, collect: Callable[[Records], None]) -> None:
        """Read on for secrets that the capture has further on, once."""
        if not self._keys.knows(stream.client_random):
            self._searched = True
            with suppress(CaptureError, OSError):
                collect(Unread())

    def _decrypt(self, collect: Callable[[Records], None]) -> None:
        if self._failed:
            return
        from amqpscope.capture.tshark import DecryptionError, decrypt

        try:
            self._plaintexts = decrypt(collect, self._keys)
        except (DecryptionError, CaptureError, OSError) as error:
            self._failed = True
            self._notes.append(f"TLS is not decrypted: {error}")

    def _note(self, stream: TlsStream, reason: str) -> None:
        if len(self._notes) >= MAX_NOTES:
            self._unnamed += 1
            return
        self._notes.append(_about(stream, reason))

    def _note_refusal(self, stream: TlsStream, reason: str) -> None:
        """Note a refused handshake, which explains more than a key that is missing."""
        keyless = _about(stream, _no_key(stream))
        if keyless in self._notes:
            self._notes[self._notes.index(keyless)] = _about(stream, reason)
        else:
            self._note(stream, reason)


def _about(stream: TlsStream, reason: str) -> str:
    client, server = _name(stream.connection.client), _name(stream.connection.server)
    return f"connection {client} -> {server} is TLS and {reason}"


def _failure(sender: int, description: int) -> str:
    name, means = ALERTS.get(description, (str(description), ""))
    return f"the {PEERS[sender]} refused it: alert {name}{f' ({means})' if means else ''}"


def _no_key(stream: TlsStream) -> str:
    if not stream.client_random:
        return "its handshake is not in the capture, so it cannot be decrypted"
    return "no key for it is known: give --keylog FILE (or set SSLKEYLOGFILE)"


def _name(endpoint: tuple[str, int]) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
