"""What frames of 1.0 refuse: a login, a message, a link, a session, the connection."""

from __future__ import annotations

from typing import Final

from amqpscope.model.refusal import ABORTED, LOGIN, REJECTED, Refusal
from dissectors.v1_0.bodies import (
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Rejected,
    SaslOutcome,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.names import CONDITIONS
from dissectors.v1_0.tables import choice
from dissectors.v1_0.values import Value

SASL_CODES: Final = {
    # 5.3.3.6 sasl-code
    "auth":     "the server does not accept the name or the password",
    "sys":      "the server failed while it checked the login",
    "sys-perm": "the server cannot check logins until somebody mends it",
    "sys-temp": "the server cannot check logins now, and may be able to later",
}  # fmt: skip


GIVEN_UP: Final = "The sender gave the message up before its end; the receiver drops it."


def refused_by(body: Body | None) -> Refusal | None:
    """What a performative or SASL frame refuses; mostly nothing."""
    if isinstance(body, SaslOutcome):
        if body.code is None or not body.code:
            return None
        code = choice("sasl-code", body.code) or str(body.code)
        return Refusal(LOGIN, code, "", sentence(SASL_CODES.get(code, "")))
    if isinstance(body, Transfer):
        return Refusal(ABORTED, "", "", GIVEN_UP) if body.aborted else None
    if isinstance(body, Disposition):
        state = body.state.outcome if isinstance(body.state, TransactionalState) else body.state
        return refusal_of_error(REJECTED, state.error) if isinstance(state, Rejected) else None
    if isinstance(body, Detach):
        return None if body.error is None else refusal_of_error("detached", body.error)
    if isinstance(body, End):
        return None if body.error is None else refusal_of_error("session ended", body.error)
    if isinstance(body, Close):
        return None if body.error is None else refusal_of_error("closed", body.error)
    return None


def refusal_of_error(what: str, error: Value) -> Refusal:
    """A refusal with an error, as far as there is one."""
    if not isinstance(error, Error):
        return Refusal(what, "", "")
    condition, said = str(error.condition or ""), error.description
    text = "" if said is None else f'"{said}"' if type(said) is str else str(said)
    return Refusal(what, condition, text, sentence(CONDITIONS.get(condition, "")))


def sentence(words: str) -> str:
    """Words as a sentence; nothing stays nothing."""
    return f"{words[0].upper()}{words[1:]}." if words else ""
