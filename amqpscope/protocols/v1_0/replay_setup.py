"""How a replayed connection of AMQP 1.0 is set up: headers and SASL, by what the user asked for.

What was recorded is followed as far as it goes without secrets: a client logs in with what the
command line has, and a server offers what was offered and can be played.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay import FieldDifference
from amqpscope.protocols.v1_0.replay_script import SASL
from amqpscope.stream.types import CLIENT
from dissectors.v1_0.bodies import SaslInit, SaslMechanisms, SaslOutcome
from dissectors.v1_0.encode import encode_frame, encode_header
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Array, Symbol, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10

AMQP: Final = 0
PLAYED: Final = ("ANONYMOUS", "PLAIN", "EXTERNAL", "MSSBCBS", "XOAUTH2")
"""Mechanisms in which the server has nothing to prove."""


class Setup:
    """The beginning of one connection."""

    def __init__(self, part: Part10) -> None:
        self.part = part
        self.script = part.script
        self.by_sasl = self.script.uses_sasl or part.choices.user is not None
        self.sent = [False, False]
        """Our headers, by layer: AMQP, SASL."""

    def start(self) -> None:
        """A client begins; a server waits."""
        if self.part.side == CLIENT:
            self.send_header(SASL if self.by_sasl else AMQP)

    def send_header(self, layer: int) -> None:
        """Begin a layer."""
        self.sent[layer == SASL] = True
        self.send(encode_header(layer))

    def send(self, raw: bytes) -> None:
        """Send a header or SASL frame, if it is legal."""
        finding = self.part.put(raw)
        if finding is not None:
            self.refuse(f"{finding.rule} {finding.message}")

    def receive(self, unit: Unit) -> None:
        """Take a header or SASL frame of the live peer."""
        self.part.moves += 1
        if unit.header is not None:
            layer = unit.header.id
            version = tuple(unit.header)[1:]
            self.take_server_header(layer, version) if self.part.side == CLIENT else (
                self.take_client_header(layer, version)
            )
        elif isinstance(unit.body, SaslMechanisms):
            self.log_in(unit.body)
        elif isinstance(unit.body, SaslInit):
            self.answer_login()
        elif isinstance(unit.body, SaslOutcome):
            self.take_outcome(unit.body)
        else:
            self.refuse("a SASL challenge, which cannot be replayed")

    def refuse(self, what: str) -> None:
        """End a connection that cannot be set up."""
        self.part.diverge("stuck", None, f"the connection is not set up: {what}")
        self.part.over = "fin"

    def take_server_header(self, layer: int, version: tuple[int, ...]) -> None:
        """The server's answer to our header."""
        if version != (1, 0, 0) or not self.sent[layer == SASL]:
            numbers = ".".join(map(str, version))
            self.refuse(f"the server answers with the header of layer {layer}, version {numbers}")
        elif layer == AMQP:
            self.part.ready = True

    def take_client_header(self, layer: int, version: tuple[int, ...]) -> None:
        """What a client begins with; a recorded refusal is a refusal again."""
        recorded = self.script.headers
        refusal = recorded[1][0] if recorded[1] else b""
        if refusal and recorded[0] and refusal != recorded[0][0] and not self.script.opens[1]:
            self.send(refusal)
            self.part.over = "fin"
        elif version != (1, 0, 0) or layer not in (AMQP, SASL):
            self.send_header(AMQP)
            self.refuse(f"the client begins layer {layer}, version {version}")
        elif layer == SASL:
            self.send_header(SASL)
            offered = Array(0xA3, map(Symbol, self.offered()))
            self.send(encode_frame(SaslMechanisms(offered)))
        else:
            self.send_header(AMQP)
            self.part.ready = True

    def offered(self) -> list[str]:
        """The recorded mechanisms that can be played."""
        recorded = self.script.mechanisms
        names = [] if recorded is None else symbols(recorded.sasl_server_mechanisms)
        played = [name for name in names if name in PLAYED]
        return played or ["ANONYMOUS", "PLAIN"]

    def answer_login(self) -> None:
        """Let a client in, unless the recorded one was not."""
        outcome = self.script.outcome
        if outcome is None and self.script.init is not None:
            self.part.over = self.part.ending or "fin"
            return
        code = 0 if outcome is None else outcome.code or 0
        self.send(encode_frame(SaslOutcome(code)))
        if code:
            self.part.over = "fin"

    def log_in(self, body: SaslMechanisms) -> None:
        """Log in with what the user gave, or as nobody."""
        offered = symbols(body.sasl_server_mechanisms)
        made = self.choose(offered)
        if made is None:
            self.refuse(
                f"the server offers {', '.join(offered) or 'nothing'}: "
                "put user:password@ into the URL"
            )
            return
        self.send(encode_frame(made))

    def choose(self, offered: list[str]) -> SaslInit | None:
        """What to answer to the mechanisms that a server offers; None where nothing fits."""
        choices, recorded = self.part.choices, self.script.init
        if choices.user is not None:
            secret = f"\0{choices.user}\0{choices.password}".encode()
            return SaslInit(Symbol("PLAIN"), secret) if "PLAIN" in offered else None
        if choices.secrets and recorded is not None and not self.script.challenged:
            return recorded
        for name in ("ANONYMOUS", "EXTERNAL"):
            if name in offered:
                return SaslInit(Symbol(name), b"anonymous" if name == "ANONYMOUS" else b"")
        return None

    def take_outcome(self, body: SaslOutcome) -> None:
        """Go on behind a login; one that fails is the end, as recorded or not."""
        expected = self.script.outcome
        wanted = 0 if expected is None else expected.code or 0
        code = body.code or 0
        if code != wanted:
            difference = FieldDifference("code", str(wanted), str(code))
            self.part.diverge("changed", None, "sasl-outcome", fields=[difference])
        if code:
            self.part.over = "fin"
        else:
            self.send_header(AMQP)


def symbols(value: Value) -> list[str]:
    """One symbol, or several."""
    if value is None:
        return []
    return [str(value)] if isinstance(value, str) else [str(item) for item in value]
