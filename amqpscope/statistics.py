"""Counts and times of connections, links and addresses, gathered from Steps.

Memory is that of the links that were not seen to end, and a few numbers for each other one:
latencies are kept as a histogram whose classes are about four percent wide.
"""

from __future__ import annotations

from amqpscope.analysis import Conversation, Step
from amqpscope.frames import Frame
from amqpscope.insight.endings import talk_ending, talk_over_at
from amqpscope.model.delivery import Delivery
from amqpscope.model.ending import link_ending, session_ending
from amqpscope.model.link import LinkEnd
from amqpscope.model.session import SessionEnd
from amqpscope.model.settlement import outcome
from amqpscope.model.stall import credit_left, window_left
from amqpscope.numbers import (
    PERCENTILES,
    ConnectionNumbers,
    Histogram,
    LinkNumbers,
    SessionNumbers,
    Stall,
)
from amqpscope.statistics_older import OlderStatistics
from amqpscope.stream import PEERS
from dissectors.v1_0.bodies import (
    Accepted,
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    End,
    Flow,
    Open,
    TransactionalState,
    Transfer,
)

__all__ = [
    "PERCENTILES", "ConnectionNumbers", "Histogram", "LinkNumbers", "SessionNumbers", "Stall",
    "Statistics", "addresses", "endpoint", "finished", "outcome_of",
]  # fmt: skip


class Statistics:
    """Gathers the numbers of one capture."""

    def __init__(self) -> None:
        self.connections: dict[int, ConnectionNumbers] = {}
        self.links: dict[LinkEnd, LinkNumbers] = {}
        """Those of links that are attached; what is gone stays in `connections` alone."""
        self.sessions: dict[SessionEnd, SessionNumbers] = {}
        self.older = OlderStatistics()
        self.last: Conversation | None = None
        """The connection of the unit before, which mostly is the next one's too; its numbers."""
        self.last_numbers = ConnectionNumbers(0, "", "", "")

    def take(self, step: Step) -> None:
        """One more unit."""
        frame = step.frame
        numbers = self.connection(step.conversation, frame.time)
        client, server = numbers.sent
        sent = server if frame.sender else client
        sent.frames += 1
        sent.octets += len(frame.raw) + frame.missing
        numbers.by_name.add(frame.unit.name)
        numbers.last = frame.time
        if step.older is not None:
            numbers.protocol = step.conversation.protocol
            self.older.take(step, step.older, numbers)
            return
        body = frame.unit.body
        if body is None or frame.unit.type != 0:
            return
        if isinstance(body, Open):
            numbers.containers[frame.sender] = body.container_id
        if isinstance(body, Begin) and step.session is not None:
            self.session(step.session, numbers)
        if isinstance(body, Attach) and step.link is not None:
            self.attach(step.link, numbers)
        if step.delivery is not None:
            self.transfer(step, step.delivery, numbers)
        elif step.covered:
            for delivery in step.covered:
                self.settled(delivery, frame.number)
        if step.session is not None and (isinstance(body, Transfer) or isinstance(body, Flow)):
            self.stalls(step)
        elif isinstance(body, Detach) or isinstance(body, End) or isinstance(body, Close):
            self.forget(step, body)

    def connection(self, conversation: Conversation, time: int) -> ConnectionNumbers:
        """The numbers of a connection."""
        if conversation is self.last:
            return self.last_numbers
        found = self.connections.get(conversation.number)
        if found is None:
            tcp = conversation.connection
            found = ConnectionNumbers(
                conversation.number, endpoint(tcp.client), endpoint(tcp.server),
                conversation.protocol, first=time,
            )  # fmt: skip
            self.connections[conversation.number] = found
        self.last, self.last_numbers = conversation, found
        return found

    def session(self, session: SessionEnd, numbers: ConnectionNumbers) -> SessionNumbers:
        """The numbers of one end of a session."""
        found = self.sessions.get(session)
        if found is None:
            found = SessionNumbers(PEERS[session.owner.peer], session.channel)
            self.sessions[session] = found
            numbers.sessions.append(found)
        return found

    def attach(self, link: LinkEnd, numbers: ConnectionNumbers) -> LinkNumbers:
        """The numbers of a link, under both its ends."""
        pair = link.pair
        found = self.links.get(link) or (None if pair is None else self.links.get(pair))
        if found is None:
            peer = link.session.owner.peer
            sender = PEERS[1 - peer if link.role else peer]
            found = LinkNumbers(link.name, link.node(), sender, link.session.channel)
            numbers.links.append(found)
        found.address = found.address or link.node()
        self.links[link] = found
        return found

    def transfer(self, step: Step, delivery: Delivery, numbers: ConnectionNumbers) -> None:
        """Count a transfer, and its delivery when it is over."""
        link = delivery.link
        found = self.links.get(link) or self.attach(link, numbers)
        found.transfers += 1
        found.bytes += len(step.frame.raw) - step.frame.unit.payload + step.frame.missing
        if step.session is not None:
            self.session(step.session, numbers).transfers += 1
        if delivery.mark.frame == step.frame.number:
            found.begin(step.frame.number, step.frame.packet)
        if delivery.aborted:
            found.aborted += 1
        elif delivery.complete and delivery.snd_settled is not None:
            found.presettled += 1

    def settled(self, delivery: Delivery, frame: int) -> None:
        """Note the outcome and the latency of a delivery that this frame settled."""
        found = self.links.get(delivery.link)
        mark = delivery.settled
        if found is None or mark is None or mark.frame != frame:
            return
        found.latency.add(mark.time - delivery.mark.time)
        found.ended.add(outcome_of(delivery))

    def stalls(self, step: Step) -> None:
        """Look whether credit or window ran out, or came back."""
        frame, session = step.frame, step.session
        link = step.link
        if link is not None:
            sender = link.pair if link.role else link
            numbers = None if sender is None else self.links.get(sender)
            if sender is not None and numbers is not None and sender.deliveries:
                left = credit_left(sender)
                stalled = left is not None and left <= 0
                numbers.credit.update(stalled, frame.time, frame.number, frame.packet)
        if session is not None:
            self.windows(session, frame)
            # What a peer sends takes of its own window; a flow may open its partner's.
            if session.pair is not None and not isinstance(frame.unit.body, Transfer):
                self.windows(session.pair, frame)

    def windows(self, session: SessionEnd, frame: Frame) -> None:
        """Look whether the window of one end's peer is closed."""
        numbers = self.sessions.get(session)
        if numbers is not None and numbers.transfers:
            room = window_left(session)
            closed = room is not None and room <= 0
            numbers.window.update(closed, frame.time, frame.number, frame.packet)

    def forget(self, step: Step, body: Body) -> None:
        """Something is over: stalls end with it, and when both peers say so its state may go."""
        time, session, link = step.frame.time, step.session, step.link
        if isinstance(body, Close):
            client, server = step.conversation.tracker.connection.ends
            if client.close is not None and server.close is not None:
                for end in (client, server):
                    for each in (*end.channels.values(), *end.ended.values()):
                        self.drop_session(each, time)
        elif isinstance(body, End) and session is not None:
            if session.pair is None or session.pair.ended is not None:
                self.drop_session(session, time)
        elif link is not None:
            pair = link.pair
            self.stop(link, time)
            if pair is None or (pair.detach is not None and not (link.unsettled or pair.unsettled)):
                self.drop_link(link, time)

    def stop(self, link: LinkEnd, time: int) -> None:
        """Nothing more is sent on a link: it does not wait for credit either."""
        numbers = self.links.get(link)
        if numbers is not None:
            numbers.credit.finish(time)

    def drop_session(self, session: SessionEnd, time: int) -> None:
        """Forget both ends of a session, and its links."""
        for end in (session, session.pair):
            numbers = None if end is None else self.sessions.pop(end, None)
            if numbers is not None:
                numbers.window.finish(time)
                numbers.ending = session_ending(session)
        for link in (*session.handles.values(), *session.detached.values()):
            self.drop_link(link, time)

    def drop_link(self, link: LinkEnd, time: int) -> None:
        """Forget both ends of a link."""
        self.stop(link, time)
        for end in (link, link.pair):
            numbers = None if end is None else self.links.pop(end, None)
            if numbers is not None:
                numbers.ending = link_ending(link)

    def end(self, talk: Conversation) -> None:
        """A direction of a connection is over, or the capture is."""
        numbers = self.connections.get(talk.number)
        if numbers is None:
            return
        numbers.ending, numbers.over_at = talk_ending(talk), talk_over_at(talk)
        client, server = talk.tracker.connection.ends
        # After a FIN of one peer the other may still send.
        if client.finished and server.finished:
            for end in (client, server):
                for session in (*end.channels.values(), *end.ended.values()):
                    self.drop_session(session, numbers.until)

    def finish(self) -> list[ConnectionNumbers]:
        """All connections, when the capture is over."""
        return finished(list(self.connections.values()))


def finished(connections: list[ConnectionNumbers]) -> list[ConnectionNumbers]:
    """Let stalls that go on count up to the end of their connection, or of the capture."""
    for numbers in connections:
        for link in numbers.links:
            link.credit.finish(numbers.until)
        for session in numbers.sessions:
            session.window.finish(numbers.until)
    return connections


def endpoint(address: tuple[str, int]) -> str:
    """An address with its port."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def outcome_of(delivery: Delivery) -> str:
    """The outcome that a settled delivery has, as far as the wire tells."""
    if delivery.snd_state is None and isinstance(delivery.rcv_state, Accepted):
        return "accepted"  # as most are
    states = (delivery.snd_state, delivery.rcv_state)
    if any(isinstance(state, TransactionalState) for state in states):
        return "transactional"
    found = [outcome(state) for state in states if outcome(state)]
    found += [state.row.name for state in states if isinstance(state, Body)]
    return found[0] if found else "settled without a state"


def addresses(connections: list[ConnectionNumbers]) -> dict[str, LinkNumbers]:
    """The links of all connections, summed up by address and direction."""
    found: dict[str, LinkNumbers] = {}
    for numbers in connections:
        for link in numbers.links:
            key = f"{link.sender}\0{link.kind}\0{link.address}"
            into = found.setdefault(
                key, LinkNumbers("", link.address, link.sender, 0, kind=link.kind)
            )
            into.redelivered += link.redelivered
            into.transfers += link.transfers
            into.deliveries += link.deliveries
            into.bytes += link.bytes
            into.aborted += link.aborted
            into.presettled += link.presettled
            for name, times in link.outcomes.items():
                into.ended.add(name, times)
            into.latency.merge(link.latency)
            into.credit.count += link.credit.count
            into.credit.total += link.credit.total
            into.credit.longest = max(into.credit.longest, link.credit.longest)
    return found
