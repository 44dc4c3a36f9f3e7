"""Answers, and the requests that they belong to (BRK-139)."""

from __future__ import annotations

from amqpscope.model.broker.envelope import id_text
from amqpscope.model.broker.moment import Moment
from amqpscope.rules.broker import ADVISORY, INFO, Reporter, rule
from amqpscope.stream.types import CLIENT


@rule("BRK-139", "request/response", ADVISORY, INFO, on="replied")
def reply_correlation_mismatch(moment: Moment, report: Reporter) -> None:
    """The correlation-id of an answer is the message-id of its request, in the same type.

    The correlation-id of the request will do as well. A requester that compares them does not find
    `5` as a number where it asked with the string "5". What does not fit at all is reported only
    where all connections are in view.

    Bad (asking):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id=ulong 5 reply-to="answers") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(correlation-id="5") data(b"y")   # <- BRK-139

    Good (asking):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id=ulong 5 reply-to="answers") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(correlation-id=ulong 5) data(b"y")
    """
    leg = moment.leg
    requests = moment.broker.requests.get(leg.node.name, [])
    correlation = leg.envelope.open().correlation
    loose = id_text(correlation)
    for ids, frame, connection in requests:
        if correlation in ids:
            return
        for id in ids:
            if id_text(id) == loose:
                kind, wanted = kind_of(correlation), kind_of(id)
                text = f"the answer has correlation-id {loose} as {kind}; the request of frame"
                text += f" {frame} on connection {connection} has it as {wanted}"
                report.find(moment, text, "properties.correlation-id", peer=CLIENT)
                return
    if moment.closed and requests:
        text = f"the answer has correlation-id {loose}, which no request to {leg.node.name} has"
        report.find(moment, text, "properties.correlation-id", peer=CLIENT)


def kind_of(id: bytes) -> str:
    """The type of an id."""
    return id.partition(b" ")[0].decode()
