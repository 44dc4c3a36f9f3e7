"""What a live peer of AMQP 1.0 does not allow yet: for want of credit, window or an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.protocols.replay_acts import DROP, Act, Cue
from amqpscope.protocols.v1_0.replay_script import (
    Delivery,
    Grant,
    Link,
    Piece,
    Session,
    Verdict,
)

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10


class Obstacles:
    """Says of each act why it has to wait."""

    def __init__(self, part: Part10) -> None:
        self.part = part

    def answers_now(self, act: Act) -> bool:
        """Whether an act answers something of the live peer that has come."""
        about = act.about
        if isinstance(about, Link) and about.live is not None:
            if act.kind == "attach":
                return about.initiator != self.part.side and about.live.handles[1] is not None
            return act.kind == "detach" and about.live.detached[1]
        if isinstance(about, Session) and about.live is not None:
            if act.kind == "begin":
                return about.initiator != self.part.side and about.live.channels[1] is not None
            return act.kind == "end" and about.live.ended[1]
        return (act.kind == "close" and self.part.closes[1]) or (
            act.kind == "open" and self.part.opens_alone
        )

    def feeds(self, act: Act, cue: Cue) -> bool:
        """Whether an act grants the credit without which a message cannot come.

        Some brokers send beyond their credit, so that their messages were recorded before the
        grant that a lawful sender needs for them.
        """
        about, awaited = act.about, cue.about
        if not isinstance(about, Grant) or not isinstance(awaited, Delivery):
            return False
        link, live = about.link, awaited.link.live
        return (
            awaited.link is link and live is not None and live.starved and not live.sends
            and (about.body.link_credit or 0) > live.received - about.received
        )  # fmt: skip

    def session_obstacle(self, act: Act, session: Session) -> str:
        """Of a begin or end."""
        live = session.live
        if act.kind == "begin":
            if session.initiator == self.part.side or live is not None:
                return ""
            return awaited_answer(session.cues.get("begin"))
        return DROP if live is None or live.channels[0] is None or live.ended[0] else ""

    def link_obstacle(self, act: Act, link: Link) -> str:
        """Of an attach or detach."""
        live = link.live
        if act.kind == "attach":
            session = link.session.live
            if session is None or not session.usable:
                return DROP
            if link.initiator == self.part.side or live is not None:
                return ""
            return awaited_answer(link.cues.get("attach"))
        return DROP if live is None or live.handles[0] is None or live.detached[0] else ""

    def transfer_obstacle(self, piece: Piece) -> str:
        """Of a transfer: the link, its credit and the session's window."""
        link = piece.delivery.link
        live = link.live
        if live is None or live.handles[0] is None or any(live.detached):
            return DROP
        if not live.session.usable:
            return DROP
        if self.part.choices.exact:
            return ""
        if live.handles[1] is None:
            return f"the attach of {link.title}"
        if piece.begins and live.sending is not None:
            return f"the end of the delivery before it on {link.title}"
        if not piece.begins and live.sending is None:
            return DROP
        if piece.begins and live.credit <= 0:
            return f"credit on {link.title}"
        if live.session.remote_window <= 0:
            return "the incoming window of the session"
        return ""

    def verdict_obstacle(self, verdict: Verdict) -> str:
        """Of a disposition: the deliveries that it speaks of."""
        session = verdict.session.live
        if session is None or not session.usable:
            return DROP
        known = False
        for delivery in verdict.deliveries:
            live = delivery.link.live
            if live is None:
                continue
            places = live.incoming if verdict.body.role else live.outgoing
            if delivery.place in places:
                known = True
            elif any(live.detached):
                continue
            elif not verdict.body.role:
                return f"the delivery on {delivery.link.title}"
            elif delivery.cue is not None and delivery.cue.left > 0:
                return f"message {delivery.place + 1} on {delivery.link.title}"
        return "" if known else DROP

    def flow_obstacle(self, grant: Grant) -> str:
        """Of a flow: its session and link."""
        session, link = grant.session.live, grant.link
        if session is None or not session.usable:
            return DROP
        if link is None:
            return ""
        live = link.live
        if live is None or live.handles[0] is None or any(live.detached):
            return DROP
        if live.sends and grant.body.drain and not live.draining:
            return DROP  # the drain was answered when it came
        return ""


def awaited_answer(cue: Cue | None) -> str:
    """What an answer waits for; it is dropped where that will not come."""
    return cue.where if cue is not None and cue.left > 0 else DROP
