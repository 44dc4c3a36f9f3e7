"""How a replayed connection of AMQP 1.0 is set up: headers and SASL, by what the user asked for.

What was recorded is followed as far as it goes without secrets: a client logs in with what the
command line has, and a server offers what was offered and can be played.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay_differences import FieldDifference
from amqpscope.protocols.sasl_login import (
    WITH_PASSWORD,
    CramServer,
    Login,
    LoginError,
    Scram,
    ScramServer,
    choose_login,
    no_login,
    server_login,
)
from amqpscope.protocols.v1_0.replay_script import SASL
from amqpscope.stream.types import CLIENT
from dissectors.v1_0.bodies import (
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from dissectors.v1_0.encode import encode_frame, encode_header
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Array, Symbol, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10

AMQP: Final = 0
CODES: Final = {
    0: "ok",
    1: "auth (user or password is wrong)",
    2: "sys",
    3: "sys-perm",
    4: "sys-temp",
}
"""What an outcome says of a login (5.3.3.6)."""
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
        self.login: Login | None = None
        """How we log in."""
        self.asking: ScramServer | CramServer | None = None
        """How the live client has to prove itself."""

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
            mechanism, choices = str(unit.body.mechanism), self.part.choices
            self.asking = server_login(mechanism, choices.user, choices.password)
            self.take_proof(unit.body.initial_response)
        elif isinstance(unit.body, SaslResponse):
            self.take_proof(unit.body.response)
        elif isinstance(unit.body, SaslChallenge):
            self.respond(unit.body.challenge)
        elif isinstance(unit.body, SaslOutcome):
            self.take_outcome(unit.body)

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
            offered = Array(0xA3, map(Symbol, self.offered_mechanisms()))
            self.send(encode_frame(SaslMechanisms(offered)))
        else:
            self.send_header(AMQP)
            self.part.ready = True

    def offered_mechanisms(self) -> list[str]:
        """The recorded mechanisms that can be played, and what clients can do instead."""
        recorded, init = self.script.mechanisms, self.script.init
        names = [] if recorded is None else symbols(recorded.sasl_server_mechanisms)
        known = self.part.choices.user is not None
        played = [name for name in names if name in PLAYED or (known and name in WITH_PASSWORD)]
        if init is None or str(init.mechanism) not in played:
            played += [name for name in ("ANONYMOUS", "PLAIN") if name not in played]
        return played

    def take_proof(self, said: bytes | None) -> None:
        """Take what a client says to log in, and ask for more where its mechanism needs it."""
        asking = self.asking
        if asking is None:
            self.answer_login(None)
            return
        try:
            answer = asking.respond(said or b"")
        except (LoginError, ValueError) as error:
            self.refuse(f"the login of the client: {error}")
            return
        if asking.known:
            self.answer_login(answer)
        elif answer is not None:
            self.send(encode_frame(SaslChallenge(answer)))
        else:
            self.send(encode_frame(SaslOutcome(1)))
            self.refuse("the client does not prove that it knows the password")

    def answer_login(self, proof: bytes | None) -> None:
        """Let a client in, unless the recorded one was not."""
        outcome = self.script.outcome
        if outcome is None and self.script.init is not None:
            self.part.over = self.part.ending or "fin"
            return
        code = 0 if outcome is None else outcome.code or 0
        self.send(encode_frame(SaslOutcome(code, proof)))
        if code:
            self.part.over = "fin"

    def log_in(self, body: SaslMechanisms) -> None:
        """Log in with what the user gave, or as nobody."""
        offered = symbols(body.sasl_server_mechanisms)
        made = self.choose(offered)
        if made is None:
            self.refuse(no_login(offered, self.part.choices.user))
            return
        self.send(encode_frame(made))

    def choose(self, offered: list[str]) -> SaslInit | None:
        """What to answer to the mechanisms that a server offers; None where nothing fits."""
        choices, recorded = self.part.choices, self.script.init
        mechanism = "" if recorded is None else str(recorded.mechanism)
        as_recorded = choices.user is None and choices.secrets and not self.script.challenged
        if as_recorded and (mechanism in offered or choices.exact):
            return recorded
        login = self.login = choose_login(offered, mechanism, choices.user, choices.password)
        if login is None:
            return None
        host = choices.host if recorded is not None and recorded.hostname else None
        return SaslInit(Symbol(login.mechanism), login.first, host)

    def respond(self, challenge: bytes | None) -> None:
        """Answer what the server asks of us."""
        if self.login is None:
            self.refuse("the server asks for more than what was recorded")
            return
        try:
            answer = self.login.respond(challenge or b"")
        except (LoginError, ValueError) as error:
            self.refuse(str(error))
            return
        self.send(encode_frame(SaslResponse(answer or b"")))

    def take_outcome(self, body: SaslOutcome) -> None:
        """Go on behind a login; one that fails is the end, as recorded or not."""
        expected = self.script.outcome
        wanted = 0 if expected is None else expected.code or 0
        code = body.code or 0
        if code != wanted:
            difference = FieldDifference("code", CODES.get(wanted, ""), CODES.get(code, str(code)))
            self.part.diverge("changed", None, "sasl-outcome", fields=[difference])
        if code:
            self.part.over = "fin"
            return
        if body.additional_data and isinstance(self.login, Scram):
            try:
                self.login.respond(body.additional_data)
            except (LoginError, ValueError) as error:
                self.refuse(str(error))
                return
        self.send_header(AMQP)


def symbols(value: Value) -> list[str]:
    """One symbol, or several."""
    if value is None:
        return []
    return [str(value)] if isinstance(value, str) else [str(item) for item in value]
