"""How a replayed connection of 0-9 is set up: header, login, tuning, virtual host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.protocols.replay_differences import FieldDifference
from amqpscope.protocols.sasl_login import (
    WITH_PASSWORD,
    CramServer,
    Login,
    LoginError,
    ScramServer,
    choose_login,
    no_login,
    server_login,
)
from amqpscope.protocols.v0_9.peers_edit import rebuild
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method
from dissectors.v0_9.encode import encode_header
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.values import Table, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v0_9.replay import Part09

PLAYED: Final = ("PLAIN", "AMQPLAIN", "ANONYMOUS", "EXTERNAL")
"""Mechanisms in which the server has nothing to prove."""
FRAME_MAX: Final = 131072
SMALLEST: Final = 4096
"""Octets of a frame that every peer takes."""
HEARTBEAT: Final = 60


class Setup:
    """The beginning of one connection."""

    def __init__(self, part: Part09) -> None:
        self.part = part
        self.recorded = part.script.setup
        self.login: Login | None = None
        """How we log in."""
        self.asking: ScramServer | CramServer | None = None
        """How the live client has to prove itself."""

    def start(self) -> None:
        """A client begins; a server waits."""
        part = self.part
        if part.side == CLIENT:
            headers = part.script.headers
            self.send(headers[0] if headers else encode_header(part.dialect))

    def send(self, raw: bytes) -> None:
        """Send a header or method, if it is legal."""
        finding = self.part.put(raw)
        if finding is not None:
            self.refuse(f"{finding.rule} {finding.message}")

    def receive(self, raw: bytes, unit: Unit) -> None:
        """Take what comes before the connection is open."""
        part = self.part
        part.moves += 1
        if unit.header is not None:
            self.take_header(raw)
            return
        if unit.label == "heartbeat":
            return
        take = {
            "connection.start": self.take_start,
            "connection.start-ok": self.take_start_ok,
            "connection.secure": self.take_secure,
            "connection.secure-ok": self.take_secure_ok,
            "connection.tune": self.take_tune,
            "connection.tune-ok": self.take_tune_ok,
            "connection.open": self.take_open,
            "connection.open-ok": self.take_open_ok,
        }.get(unit.name)
        if take is not None and unit.method is not None:
            take(raw, unit.method)
        elif unit.name in ("connection.close", "connection.close-ok"):
            part.ready = True
            part.receiver.receive(raw, unit)
        else:
            self.refuse(f"{unit.name} comes before the connection is open")

    def refuse(self, what: str) -> None:
        """End a connection that cannot be set up."""
        self.part.diverge("stuck", None, f"the connection is not set up: {what}")
        self.part.over = "fin"

    def take_header(self, raw: bytes) -> None:
        """A client begins, or a server refuses our header."""
        part, script = self.part, self.part.script
        if part.side == CLIENT:
            if script.refusal == raw:
                part.over = "fin"
            else:
                self.refuse(f"the server answers with the header {raw[4:].hex(' ')}")
        elif script.headers and raw != script.headers[0]:
            self.send(script.headers[0])
            self.refuse(f"the client begins with the header {raw[4:].hex(' ')}")
        elif script.refusal:
            self.send(script.refusal)
            part.over = "fin"
        else:
            self.send_start()

    def send_start(self) -> None:
        """Offer what was offered, as far as it can be played."""
        recorded = self.recorded.get("connection.start")
        if recorded is None or recorded.method is None:
            self.part.over = self.part.ending or "fin"
            return
        offered = text_of(recorded.method.get("mechanisms"))
        known = self.part.choices.user is not None
        played = " ".join(
            name for name in offered.split() if name in PLAYED or (known and name in WITH_PASSWORD)
        )
        if "PLAIN" not in played.split():
            played = f"{played} PLAIN".lstrip()
        self.send(rebuild(recorded, {"mechanisms": played}))

    def take_start(self, raw: bytes, method: Method) -> None:
        """Log in with what the user gave."""
        recorded, choices = self.recorded.get("connection.start-ok"), self.part.choices
        asked = None if recorded is None else recorded.method
        offered = text_of(method.get("mechanisms"))
        mechanism = "" if asked is None else text_of(asked.get("mechanism"))
        login: dict[str, Value] | None = None
        if (
            choices.user is None
            and choices.secrets
            and (mechanism in offered.split() or choices.exact)
        ):
            login = {}
        else:
            self.login = choose_login(offered.split(), mechanism, choices.user, choices.password)
            if self.login is not None:
                first = self.login.first or b""
                login = {"mechanism": self.login.mechanism, "response": first}
        if login is None:
            self.refuse(no_login(offered.split(), choices.user))
        elif recorded is not None:
            self.send(rebuild(recorded, login))
        else:
            self.part.emit(
                "connection.start-ok", client_properties=Table(), locale="en_US", **login
            )

    def take_secure(self, raw: bytes, method: Method) -> None:
        """Answer what the server asks of us."""
        if self.login is None:
            self.refuse("the server asks for more than what was recorded")
            return
        try:
            answer = self.login.respond(octets_of(method.get("challenge")))
        except (LoginError, ValueError) as error:
            self.refuse(str(error))
            return
        self.part.emit("connection.secure-ok", response=answer or b"")

    def take_start_ok(self, raw: bytes, method: Method) -> None:
        """Take what a client says to log in."""
        choices = self.part.choices
        mechanism = text_of(method.get("mechanism"))
        self.asking = server_login(mechanism, choices.user, choices.password)
        self.take_proof(octets_of(method.get("response")))

    def take_secure_ok(self, raw: bytes, method: Method) -> None:
        """Take what a client answers to a challenge."""
        if self.asking is not None and self.asking.known:
            self.let_in()
        else:
            self.take_proof(octets_of(method.get("response")))

    def take_proof(self, said: bytes) -> None:
        """Let a client in that proves itself, where its mechanism asks for that."""
        asking = self.asking
        if asking is None:
            self.let_in()
            return
        try:
            answer = asking.respond(said)
        except (LoginError, ValueError) as error:
            self.refuse(f"the login of the client: {error}")
            return
        if answer is not None:
            self.part.emit("connection.secure", challenge=answer)
        elif asking.known:
            self.let_in()
        else:
            self.refuse("the client does not prove that it knows the password")

    def let_in(self) -> None:
        """Let a client in, unless the recorded one was not."""
        recorded = self.recorded.get("connection.tune")
        if recorded is not None:
            self.send(rebuild(recorded, {}))
        elif "connection.start-ok" in self.recorded:
            self.give_way()
        else:
            self.part.emit("connection.tune", frame_max=FRAME_MAX, heartbeat=HEARTBEAT)

    def give_way(self) -> None:
        """The recorded server did not go on here: what it did instead is in the script."""
        self.part.ready = True
        if self.part.played:
            self.part.over = self.part.ending or "fin"

    def take_tune(self, raw: bytes, method: Method) -> None:
        """Agree on what was recorded, as far as the live server allows it."""
        recorded = self.recorded.get("connection.tune-ok")
        asked = None if recorded is None else recorded.method
        agreed = {}
        for name in ("channel-max", "frame-max", "heartbeat"):
            live, wish = int(method.get(name) or 0), int((asked and asked.get(name)) or 0)
            agreed[name] = min(live, wish) if live and wish else wish if asked else live
            if name != "heartbeat" and not agreed[name]:
                agreed[name] = live or wish
        if agreed["frame-max"] and not self.part.choices.exact:
            agreed["frame-max"] = max(agreed["frame-max"], SMALLEST)
        self.agree(agreed)
        self.part.emit("connection.tune-ok", **{
            name.replace("-", "_"): value for name, value in agreed.items()
        })  # fmt: skip
        opened = self.recorded.get("connection.open")
        vhost = self.part.choices.vhost
        if opened is not None:
            self.send(rebuild(opened, {} if vhost is None else {"virtual-host": vhost}))
        else:
            self.part.emit("connection.open", virtual_host="/" if vhost is None else vhost)

    def agree(self, agreed: dict[str, int]) -> None:
        """Keep to what was agreed on."""
        part = self.part
        part.channel_max, part.frame_max = agreed["channel-max"], agreed["frame-max"]
        part.heartbeat = agreed["heartbeat"]

    def take_tune_ok(self, raw: bytes, method: Method) -> None:
        """Keep to what the client wants."""
        names = ("channel-max", "frame-max", "heartbeat")
        self.agree({name: int(method.get(name) or 0) for name in names})

    def take_open(self, raw: bytes, method: Method) -> None:
        """Open the connection, unless the recorded server did not."""
        part, recorded = self.part, self.recorded.get("connection.open")
        if recorded is not None and recorded.method is not None:
            expected, seen = recorded.method.get("virtual-host"), method.get("virtual-host")
            if expected != seen and "virtual-host" not in part.choices.ignore:
                difference = FieldDifference("virtual-host", str(expected), str(seen))
                frames = [each for each in part.frames if each.unit is recorded]
                part.diverge("changed", frames[0], "connection.open", part.show(raw), [difference])
        answer = self.recorded.get("connection.open-ok")
        if answer is not None:
            self.send(rebuild(answer, {}))
            part.ready = True
        elif recorded is not None:
            self.give_way()
        else:
            part.emit("connection.open-ok")
            part.ready = True

    def take_open_ok(self, raw: bytes, method: Method) -> None:
        """The connection is open."""
        self.part.ready = True


def text_of(value: Value) -> str:
    """A long string as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def octets_of(value: Value) -> bytes:
    """A long string as octets."""
    return value if isinstance(value, bytes) else text_of(value).encode()
