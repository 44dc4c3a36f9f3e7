"""Logins by SASL, from either side: what is said, and what is answered to a challenge.

SCRAM is RFC 5802 and RFC 7677, without channel binding; CRAM-MD5 is RFC 2195, PLAIN RFC 4616.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
from collections.abc import Sequence
from typing import Final

HASHES: Final = {"SCRAM-SHA-512": "sha512", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}
WITH_PASSWORD: Final = (*HASHES, "PLAIN", "CRAM-MD5")
"""Mechanisms that a user and a password are enough for, the best first."""
WITHOUT: Final = ("ANONYMOUS", "EXTERNAL")
ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 1_000_000
"""What a server may ask for, as each costs time."""


class LoginError(Exception):
    """A challenge or answer that cannot be right; the text says why."""


class Login:
    """One side of a login."""

    def __init__(self, mechanism: str, first: bytes | None = b"") -> None:
        self.mechanism = mechanism
        self.first = first
        """What a client says with its choice; None: it waits for a challenge."""

    def respond(self, said: bytes) -> bytes | None:
        """The answer to what the other side says; None: there is nothing more to say."""
        return b""


class CramMd5(Login):
    """A client by CRAM-MD5."""

    def __init__(self, user: str, password: str) -> None:
        super().__init__("CRAM-MD5", None)
        self.user, self.password = user, password

    def respond(self, said: bytes) -> bytes | None:
        """Show that the password is known."""
        return f"{self.user} {cram_digest(self.password, said)}".encode()


class Scram(Login):
    """A client by SCRAM."""

    def __init__(self, mechanism: str, user: str, password: str) -> None:
        self.hash = HASHES[mechanism]
        self.password = password.encode()
        self.nonce = nonce()
        name = user.replace("=", "=3D").replace(",", "=2C")
        self.bare = f"n={name},r={self.nonce}"
        self.signature = b""
        super().__init__(mechanism, f"n,,{self.bare}".encode())

    def respond(self, said: bytes) -> bytes | None:
        """Prove the password to the server, then see whether it knows it too."""
        if self.signature:
            if base64.b64decode(attributes(said).get("v", "")) != self.signature:
                raise LoginError("the server does not prove that it knows the password")
            return b""
        asked = attributes(said)
        joint, salt, count = asked.get("r", ""), asked.get("s", ""), asked.get("i", "")
        if not joint.startswith(self.nonce) or not count.isdecimal() or not salt:
            raise LoginError("the challenge of the server is none of SCRAM")
        if not 0 < int(count) <= MOST_ITERATIONS:
            raise LoginError(f"the server asks for {count} iterations")
        closing = f"c={base64_text(b'n,,')},r={joint}"
        whole = f"{self.bare},{said.decode()},{closing}".encode()
        proof, self.signature = scram_proofs(
            self.hash, self.password, base64.b64decode(salt), int(count), whole
        )
        return f"{closing},p={base64_text(proof)}".encode()


class ScramServer(Login):
    """A server by SCRAM, which knows the one user there is."""

    def __init__(self, mechanism: str, user: str, password: str) -> None:
        super().__init__(mechanism)
        self.hash = HASHES[mechanism]
        self.user, self.password = user, password.encode()
        self.salt = os.urandom(16)
        self.bare = self.asked = ""
        self.expected: dict[str, str] = {}
        """What the client has to say besides its proof: the joint nonce, and its own header."""
        self.known = False
        """The client has proved that it knows the password."""

    def respond(self, said: bytes) -> bytes | None:
        """Ask for a proof, then judge it."""
        if not self.asked:
            binding, _, rest = said.decode().partition(",")
            name, _, self.bare = rest.partition(",")
            joint = attributes(self.bare.encode()).get("r", "") + nonce()
            self.expected = {"c": base64_text(f"{binding},{name},".encode()), "r": joint}
            self.asked = f"r={joint},s={base64_text(self.salt)},i={ITERATIONS}"
            return self.asked.encode()
        closing, _, proof = said.decode().rpartition(",p=")
        whole = f"{self.bare},{self.asked},{closing}".encode()
        expected, signature = scram_proofs(self.hash, self.password, self.salt, ITERATIONS, whole)
        named = attributes(self.bare.encode()).get("n", "").replace("=2C", ",").replace("=3D", "=")
        self.known = (
            hmac.compare_digest(expected, base64.b64decode(proof))
            and self.expected.items() <= attributes(closing.encode()).items()
            and named == self.user
        )
        return f"v={base64_text(signature)}".encode() if self.known else None


class CramServer(Login):
    """A server by CRAM-MD5, which knows the one user there is."""

    def __init__(self, user: str, password: str) -> None:
        super().__init__("CRAM-MD5")
        self.user, self.password = user, password
        self.asked = b""
        self.known = False

    def respond(self, said: bytes) -> bytes | None:
        """Ask for a digest, then judge it."""
        if not self.asked:
            self.asked = f"<{nonce()}.{int(time.time())}@amqpscope>".encode()
            return self.asked
        expected = f"{self.user} {cram_digest(self.password, self.asked)}".encode()
        self.known = hmac.compare_digest(said, expected)
        return None


def choose_login(
    offered: Sequence[str], recorded: str, user: str | None, password: str
) -> Login | None:
    """How to log in: as the recorded client did, or else by the best that is offered."""
    wanted = WITHOUT if user is None else WITH_PASSWORD
    for name in (recorded, *wanted):
        if name in wanted and name in offered:
            return client_login(name, user or "", password)
    return None


def no_login(offered: Sequence[str], user: str | None) -> str:
    """Why there is no way to log in, and what to do about it."""
    named = ", ".join(offered) or "nothing"
    if user is None:
        return f"the server offers {named}: put user:password@ into the URL"
    if any(name in offered for name in WITHOUT):
        return f"the server offers {named} and takes no password: leave it out of the URL"
    return f"the server offers {named}, and a password is for {', '.join(WITH_PASSWORD)}"


def client_login(mechanism: str, user: str, password: str) -> Login:
    """A client by one of the mechanisms above."""
    if mechanism in HASHES:
        return Scram(mechanism, user, password)
    if mechanism == "CRAM-MD5":
        return CramMd5(user, password)
    if mechanism == "PLAIN":
        return Login(mechanism, f"\0{user}\0{password}".encode())
    return Login(mechanism, b"anonymous" if mechanism == "ANONYMOUS" else b"")


def server_login(
    mechanism: str, user: str | None, password: str
) -> ScramServer | CramServer | None:
    """A server by a mechanism that asks for a proof; None: it has nothing to prove."""
    if user is not None and mechanism in HASHES:
        return ScramServer(mechanism, user, password)
    if user is not None and mechanism == "CRAM-MD5":
        return CramServer(user, password)
    return None


def scram_proofs(
    name: str, password: bytes, salt: bytes, count: int, whole: bytes
) -> tuple[bytes, bytes]:
    """The client's proof, and the server's signature (RFC 5802, 3)."""
    salted = hashlib.pbkdf2_hmac(name, password, salt, count)
    client = digest(name, salted, b"Client Key")
    stored = hashlib.new(name, client).digest()
    signature = digest(name, stored, whole)
    proof = bytes(a ^ b for a, b in zip(client, signature, strict=True))
    return proof, digest(name, digest(name, salted, b"Server Key"), whole)


def digest(name: str, key: bytes, octets: bytes) -> bytes:
    """A keyed digest."""
    return hmac.new(key, octets, name).digest()


def cram_digest(password: str, challenge: bytes) -> str:
    """What proves a password in CRAM-MD5."""
    return hmac.new(password.encode(), challenge, "md5").hexdigest()


def attributes(said: bytes) -> dict[str, str]:
    """The attributes of a message of SCRAM, by letter."""
    parts = said.decode("utf-8", "replace").split(",")
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def base64_text(octets: bytes) -> str:
    """Octets in base64."""
    return base64.b64encode(octets).decode()


def nonce() -> str:
    """Something that was never said before."""
    return base64_text(os.urandom(18))
