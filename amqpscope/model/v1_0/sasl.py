"""The SASL layer (spec 5.3): mechanisms, init, challenge and response, outcome.

The server says mechanisms, challenge and outcome, the client init and response; what comes from
the wrong peer is left out here. What a mechanism's own rules need is kept as short octet strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.mark import Mark
from dissectors.v1_0.bodies import (
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.v1_0.values import Array, Symbol

if TYPE_CHECKING:
    from amqpscope.model.v1_0.event import Event

CLIENT: Final = 0
SERVER: Final = 1

LAYERED: Final = ("GSSAPI", "GS2-", "DIGEST-MD5", "KERBEROS", "NTLM", "SRP")
"""Mechanisms that may wrap all that follows in a security layer of their own."""


class Sasl:
    """What was said in the SASL layer so far."""

    def __init__(self) -> None:
        self.begun = [False, False]
        """Which peers have sent a SASL header."""
        self.nested = False
        """A peer began a second SASL layer; it is not followed."""
        self.unclear = [False, False]
        """A SASL frame of this peer could not be read, or not all of it."""
        self.reversed = [False, False]
        """This peer has sent a frame that only the other may send."""
        self.last_mark: Mark | None = None
        """The newest header or frame of the layer."""
        self.mechanisms: SaslMechanisms | None = None
        self.mechanisms_mark: Mark | None = None
        self.init: SaslInit | None = None
        self.init_mark: Mark | None = None
        self.challenges = 0
        self.challenge_mark: Mark | None = None
        """The last challenge."""
        self.responses = 0
        self.response_mark: Mark | None = None
        self.outcome: SaslOutcome | None = None
        self.outcome_mark: Mark | None = None
        self.client_messages: list[bytes] = []
        """What the client's side of the mechanism said first and second."""
        self.server_messages: list[bytes] = []
        """What the server's side said first and second, without empty challenges, which only ask to
        begin."""

    @property
    def mechanism(self) -> str:
        """What the client chose; empty while that is not known."""
        if self.init is None or self.init.mechanism is None or self.unclear[CLIENT]:
            return ""
        return self.init.mechanism

    @property
    def user(self) -> str:
        """The name that the client logs in with; empty where the mechanism does not show it."""
        said = None if self.init is None else self.init.initial_response
        if not isinstance(said, bytes):
            return ""
        if self.mechanism == "PLAIN":
            parts = said.split(b"\0")
            return parts[1].decode("utf-8", "replace") if len(parts) == 3 else ""
        if self.mechanism.startswith("SCRAM-"):
            named = [part[2:] for part in said.split(b",")[2:] if part.startswith(b"n=")]
            name = named[0].replace(b"=2C", b",").replace(b"=3D", b"=") if named else b""
            return name.decode("utf-8", "replace")
        return ""

    @property
    def offered(self) -> list[str]:
        """The mechanisms of the server's list; empty when it could not be read."""
        if self.mechanisms is None or self.unclear[SERVER]:
            return []
        said = self.mechanisms.sasl_server_mechanisms
        if isinstance(said, Symbol):
            return [said]
        return list(said) if isinstance(said, Array) else []

    @property
    def opaque(self) -> bool:
        """What follows the exchange may be wrapped by the mechanism's own layer."""
        return self.unclear[CLIENT] or self.mechanism.startswith(LAYERED)

    @property
    def failed(self) -> bool:
        """The server has refused the client."""
        return self.outcome is not None and self.outcome.code is not None and self.outcome.code > 0

    def begin(self, event: Event) -> None:
        """A peer's SASL header."""
        if self.begun[event.peer]:
            self.nested = True
        self.begun[event.peer] = True
        self.last_mark = event.mark

    def apply(self, event: Event) -> None:
        """Take a SASL frame."""
        frame = event.frame
        self.last_mark = event.mark
        if event.peer == SERVER:
            self.take_server(event)
        else:
            self.take_client(event)
        unread = event.body is None and frame.unit.kind != "empty"
        if unread or frame.unit.faults or frame.missing:
            self.unclear[event.peer] = True

    def take_server(self, event: Event) -> None:
        """A frame of the server."""
        body, mark = event.body, event.mark
        if isinstance(body, SaslMechanisms):
            self.mechanisms, self.mechanisms_mark = body, mark
        elif isinstance(body, SaslChallenge):
            self.challenges += 1
            self.challenge_mark = mark
            if body.challenge:
                keep(self.server_messages, body.challenge)
        elif isinstance(body, SaslOutcome):
            self.outcome, self.outcome_mark = body, mark
        elif isinstance(body, (SaslInit, SaslResponse)):
            self.reversed[SERVER] = True

    def take_client(self, event: Event) -> None:
        """A frame of the client."""
        body, mark = event.body, event.mark
        if isinstance(body, SaslInit):
            self.init, self.init_mark = body, mark
            if body.initial_response:
                keep(self.client_messages, body.initial_response)
        elif isinstance(body, SaslResponse):
            self.responses += 1
            self.response_mark = mark
            if body.response is not None:
                keep(self.client_messages, body.response)
        elif isinstance(body, (SaslMechanisms, SaslChallenge, SaslOutcome)):
            self.reversed[CLIENT] = True


def keep(messages: list[bytes], message: bytes) -> None:
    """Remember the first two."""
    if len(messages) < 2:
        messages.append(message)
