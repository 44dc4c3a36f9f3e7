"""The series of links (1.0), from the model as it stands after each unit."""

from __future__ import annotations

from amqpscope.analysis import Step
from amqpscope.model.link import LinkEnd
from amqpscope.model.session import SessionEnd
from amqpscope.model.stall import credit_left, window_left
from amqpscope.series.course import Series
from amqpscope.series.gathered import MAX_LINKS, Gathered, LinkSeries
from amqpscope.series.older import OlderPlots
from amqpscope.stream import PEERS
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Transfer,
)


class Plots(Gathered):
    """Gathers the series of one capture."""

    def __init__(self, most_links: int = MAX_LINKS) -> None:
        super().__init__(most_links)
        self._older = OlderPlots(self)
        self._links: dict[LinkEnd, LinkSeries] = {}
        """Those that are attached, by their sender's end."""
        self._sessions: dict[SessionEnd, Series] = {}
        """The windows of sessions that have links."""
        self._counted: set[LinkEnd] = set()
        """Attached links that are left out."""

    def take(self, step: Step) -> None:
        """One more unit."""
        if step.older is not None:
            self._older.take(step.conversation.number, step.older)
            return
        unit = step.frame.unit
        body = unit.body
        session = step.session
        if body is None or unit.type != 0:
            return
        time = step.frame.time
        if isinstance(body, Disposition):
            self._disposition(step, time)
        elif step.link is not None and isinstance(body, Attach | Flow | Transfer | Detach):
            sender = sending(step.link)
            if sender is not None:
                self._link(step, sender, body, time)
        if session is not None and isinstance(body, Begin | Flow | Transfer):
            self._windows(session, time)
        if isinstance(body, End | Close):
            self._over(step, body)

    def find(self, link: LinkEnd) -> LinkSeries | None:
        """The series of a link that is attached, by either of its ends."""
        sender = sending(link)
        return None if sender is None else self._links.get(sender)

    def _link(self, step: Step, sender: LinkEnd, body: Body, time: int) -> None:
        found = self._links.get(sender)
        if found is None:
            found = self._attach(step, sender)
            if found is None:
                return
        if isinstance(body, Detach):
            found.credit.add(time, None)
            if sender.pair is None or sender.pair.detach is not None:
                self._forget(sender)
            return
        if isinstance(body, Transfer) and step.delivery is not None:
            if step.delivery.mark.frame == step.frame.number:
                found.deliveries.add(time, step.octets)
            found.unsettled.add(time, len(sender.unsettled))
        found.credit.add(time, credit_left(sender))

    def _attach(self, step: Step, sender: LinkEnd) -> LinkSeries | None:
        if sender in self._counted or not sender.live:
            return None
        number = step.conversation.number
        peer = PEERS[sender.session.owner.peer]
        window = self._sessions.setdefault(sender.session, Series())
        found = self.add(LinkSeries("link", number, sender.name, sender.node(), peer, window))
        if found is None:
            self._counted.add(sender)
        else:
            self._links[sender] = found
        return found

    def _windows(self, session: SessionEnd, time: int) -> None:
        for end in (session, session.pair):
            found = None if end is None else self._sessions.get(end)
            if end is not None and found is not None:
                found.add(time, window_left(end))

    def _disposition(self, step: Step, time: int) -> None:
        for link in {delivery.link for delivery in step.covered}:
            found = self._links.get(link)
            if found is not None:
                found.unsettled.add(time, len(link.unsettled))
        for delivery in step.covered:
            mark = delivery.settled
            found = self._links.get(delivery.link)
            if found is not None and mark is not None and mark.frame == step.frame.number:
                found.latency.add(time, max(mark.time - delivery.mark.time, 0))

    def _over(self, step: Step, body: Body) -> None:
        """Both peers have ended a session, or closed: its links are over with it."""
        if isinstance(body, End):
            session = step.session
            if session is not None and (session.pair is None or session.pair.ended is not None):
                self._end(session, step.frame.time)
            return
        client, server = step.conversation.tracker.connection.ends
        if client.close is not None and server.close is not None:
            for end in (client, server):
                for session in (*end.channels.values(), *end.ended.values()):
                    self._end(session, step.frame.time)

    def _end(self, session: SessionEnd, time: int) -> None:
        for end in (session, session.pair):
            if end is None:
                continue
            for link in (*end.handles.values(), *end.detached.values()):
                found = self._links.get(link)
                if found is not None:
                    found.credit.add(time, None)
                self._forget(link)
            self._sessions.pop(end, None)

    def _forget(self, link: LinkEnd) -> None:
        self._links.pop(link, None)
        self._counted.discard(link)


def sending(link: LinkEnd) -> LinkEnd | None:
    """The sender's end of a link, by either end; None while it has not attached."""
    return link.pair if link.role else link
