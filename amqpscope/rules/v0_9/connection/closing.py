"""Closing a connection (A09-CON-24 to 32; 2.3.7, 4.5)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import PEERS
from dissectors.v0_9.codec import Method

HARD: Final = "hard-error"
ALLOWED: Final = (200, 320)
REFUSED_LOGIN: Final = 403
OPEN_STAGES: Final = frozenset((stages.OPEN, stages.OPENING, stages.REDIRECTED))


@rule("A09-CON-24", "2.3.7, 1.1.1.10", MUST, WARNING, on="finished")
def connection_close_unanswered(event: Event, report: Reporter) -> None:
    """A connection.close is answered by a close-ok.

    Bad (channel):
        server: connection.close reply-code=320 reply-text="stop"
        client: FIN   # <- A09-CON-24

    Good (channel):
        server: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
        client: FIN
        server: FIN
    """
    own, partner = event.own, event.partner
    if own.finished != "fin" or partner.finished or partner.close is None:
        return
    if own.close_ok_mark is None and own.close is None and own.anchored:
        text = f"the {PEERS[event.peer]} closes its socket without a close-ok"
        report.sure(event, text, "", ((partner.close.mark, "the close"),))


@rule("A09-CON-25", "close stability", MUST, WARNING, on="finished", dialects=NEW)
def crossing_close_unanswered(event: Event, report: Reporter) -> None:
    """When two closes cross, each is answered by a close-ok.

    The texts before 0-9-1 say nothing of it, or that all but close-ok is dropped.

    Bad (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server~1: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
        server: FIN   # <- A09-CON-25

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server~1: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
        server: connection.close-ok
        server: FIN
        client: FIN
    """
    own, partner = event.own, event.partner
    if own.finished != "fin" or partner.finished or own.close is None or partner.close is None:
        return
    if own.close_ok_mark is None and own.anchored:
        related = ((partner.close.mark, "the partner's close"), (own.close.mark, "its own"))
        text = f"two closes cross, and the {PEERS[event.peer]} does not answer its partner's"
        report.sure(event, text, "", related)


@rule("A09-CON-26", "1.1.1.10", MUST, ERROR, on="after-close", needs="anchored trusted")
def frame_after_own_connection_close(event: Event, report: Reporter) -> None:
    """Who has closed the connection sends nothing more but a close-ok and heartbeats.

    Bad (channel):
        client: connection.close reply-code=200 reply-text="bye"
        client: channel.open[2]   # <- A09-CON-26

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        client: heartbeat
        server: connection.close-ok
    """
    own = event.own
    if own.close is None or own.close_ok_mark is not None:
        return
    if event.kinds & kinds.HEARTBEAT or event.name == "connection.close-ok":
        return
    if report.once(own):
        text = f"the {PEERS[event.peer]} sends {event.name} after its connection.close"
        report.sure(event, text, "", ((own.close.mark, "its close"),))


@rule("A09-CON-27", "1.1.1.10", IMPLIED, INFO, on="frame tick")
def frame_after_peer_connection_close(event: Event, report: Reporter) -> None:
    """Who was sent a connection.close answers it, and does nothing else any more.

    What was under way is not meant, so a second has to pass. The closer drops all of it.

    Bad (channel):
        server: connection.close reply-code=320 reply-text="stop"
        @3s client: channel.open[2]   # <- A09-CON-27

    Good (channel):
        server: connection.close reply-code=320 reply-text="stop"
        @3s client: connection.close-ok
    """
    own, partner = event.own, event.partner
    if partner.close is None or own.close_ok_mark is not None:
        return
    if event.name in ("heartbeat", "connection.close-ok", "connection.close"):
        return
    late = event.knew(partner.close.mark) and event.since(partner.close.mark) > GRACE
    if late and report.once(own):
        related = ((partner.close.mark, "the partner's close"),)
        text = f"the {PEERS[event.peer]} sends {event.name} after its partner closed"
        report.suspect(event, text, "", related)


@rule("A09-CON-28", "1.1.1.11", SHOULD, WARNING, on="finished")
def socket_closed_without_handshake(event: Event, report: Reporter) -> None:
    """A connection is closed by close and close-ok before the socket is.

    A process that was killed cannot do it; a client that ends in order should.

    Bad (channel):
        client: FIN   # <- A09-CON-28
        server: FIN

    Good (channel):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
        client: FIN
        server: FIN

    Good (channel):
        client: GAP
        server: RST
    """
    own, partner, connection = event.own, event.partner, event.connection
    if own.finished not in ("fin", "rst") or partner.finished or connection.stage != stages.OPEN:
        return
    if own.close is not None or partner.close is not None:
        return
    if not own.anchored or not partner.anchored:
        return  # The close, or its answer, may be among the octets that are missing.
    beat = connection.heartbeat
    if beat > 0 and partner.heard and event.time - partner.heard > 2 * beat * 1_000_000_000:
        return  # Its partner is dead: then it is right (A09-CON-20).
    how = "closes its socket" if own.finished == "fin" else "resets the connection"
    report.sure(event, f"the {PEERS[event.peer]} {how} without a connection.close")


@rule("A09-CON-29", "4.5, 2.3.6", MUST, WARNING, on="connection.close")
def connection_close_code_class(event: Event, report: Reporter, method: Method) -> None:
    """A connection is closed with 200, 320 or the code of an error that ends connections.

    Codes of errors that end a channel close the channel. A login is refused with 403. Some
    clients close in order with a code of 0, which misleads nobody: that is a note.

    Bad (channel):
        server: connection.close reply-code=404 reply-text="NOT_FOUND"   # <- A09-CON-29

    Good (channel):
        server: connection.close reply-code=504 reply-text="CHANNEL_ERROR"
        client: connection.close-ok
    """
    dialect = event.connection.dialect
    if not dialect.constants:
        return
    code = number(method, "reply-code")
    handshake = event.connection.stage not in OPEN_STAGES
    if code in ALLOWED or (code == REFUSED_LOGIN and handshake):
        return
    known = dialect.constant(code)
    if known is not None and known.level == HARD:
        return
    unknown = "not an error code of this version"
    what = unknown if known is None else f"{known.name}, which ends a channel"
    text = f"connection.close with {code}, {what}"
    report.sure(event, text, "connection.close.reply-code", severity="" if code else INFO)


@rule("A09-CON-30", "close class-id", IMPLIED, WARNING, on="connection.close")
def connection_close_names_wrong_method(event: Event, report: Reporter, method: Method) -> None:
    """A close names the method that caused it: one that the partner has sent, or none.

    Bad (channel):
        server: connection.close reply-code=503 reply-text="COMMAND_INVALID" class-id=60
                method-id=40   # <- A09-CON-30

    Good (queue):
        server: connection.close reply-code=503 reply-text="COMMAND_INVALID" class-id=50
                method-id=10
        client: connection.close-ok
    """
    partner = event.partner
    if not partner.anchored or partner.damaged is not None:
        return
    class_id, method_id = number(method, "class-id"), number(method, "method-id")
    code = class_id << 16 | method_id
    if not class_id or not method_id or code in partner.sent or event.ahead:
        return
    plan = event.connection.dialect.methods.get(code)
    name = f"{class_id}.{method_id}" if plan is None else plan.name
    text = f"the close blames {name}, which the {PEERS[partner.peer]} has not sent"
    report.sure(event, text, "connection.close.method-id")


@rule("A09-CON-31", "reply-text", IMPLIED, INFO, on="connection.close")
def connection_close_text_empty(event: Event, report: Reporter) -> None:
    """A close says why, in words.

    Bad (channel):
        server: connection.close reply-code=320 reply-text=""   # <- A09-CON-31

    Good (channel):
        server: connection.close reply-code=320 reply-text="shutdown"
        client: connection.close-ok
    """
    method = event.unit.method
    if method is not None and method.get("reply-text") == "" and not event.unit.faults:
        report.sure(event, "connection.close without a reply-text", "connection.close.reply-text")


@rule("A09-CON-32", "2.2.1", MUST, ERROR, on="unasked connection.*", needs="trusted")
def connection_reply_unasked(event: Event, report: Reporter) -> None:
    """A reply answers a request that waits for it.

    A09-CON-01 reports replies of the handshake.

    Bad (channel):
        client: connection.close-ok   # <- A09-CON-32

    Good (channel):
        server: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok
    """
    if event.kinds & kinds.HANDSHAKE:
        return
    report.sure(event, f"{event.name} answers nothing that was asked")
