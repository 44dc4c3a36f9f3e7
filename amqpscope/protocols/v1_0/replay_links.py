"""Sessions and links of a replayed peer of AMQP 1.0, with the numbers of the live one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from amqpscope.protocols.replay_acts import Act
from amqpscope.protocols.v1_0.replay_live import LiveLink, LiveSession
from amqpscope.protocols.v1_0.replay_mend import with_fields
from amqpscope.protocols.v1_0.replay_script import (
    Link,
    Session,
)
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Detach,
    End,
    Source,
    Target,
)
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Map, Value

if TYPE_CHECKING:
    from amqpscope.protocols.v1_0.replay import Part10


class LinkSender:
    """Sends begin, end, attach and detach."""

    def __init__(self, part: Part10) -> None:
        self.part = part

    def send_begin(self, session: Session) -> None:
        """Begin a session, or answer one."""
        live = session.live
        if live is None:
            live = session.live = LiveSession()
            live.script = session
        recorded = cast(Begin, session.begins[self.part.side])
        self.begin(live, recorded, session.channels[self.part.side] or 0)

    def begin(self, live: LiveSession, recorded: Begin, channel: int) -> None:
        """Send a begin with the numbers of a recorded one."""
        peer = self.part.opens[1]
        limit = 65535 if peer is None or peer.channel_max is None else peer.channel_max
        taken = self.part.sessions[0]
        if channel in taken or channel > limit:
            free = [number for number in range(limit + 1) if number not in taken]
            if not free:
                self.part.diverge("stuck", None, f"no channel is free: channel-max is {limit}")
                return
            channel = free[0]
        live.next_outgoing_id = recorded.next_outgoing_id or 0
        live.window = live.full_window = max(1, recorded.incoming_window or 0)
        live.outgoing_window = recorded.outgoing_window or 0
        if live.channels[1] is not None and self.part.receiver.begins[live.channels[1]].handle_max:
            live.handle_max = self.part.receiver.begins[live.channels[1]].handle_max or 0
        if live.channels[1] is not None:
            begun = self.part.receiver.begins[live.channels[1]]
            live.remote_window = begun.incoming_window or 0
        self.part.emit(
            with_fields(
                recorded,
                remote_channel=live.channels[1],
                next_outgoing_id=live.next_outgoing_id,
                incoming_window=live.window,
                outgoing_window=live.outgoing_window,
            ),
            channel,
        )
        live.channels[0] = channel
        taken[channel] = live

    def send_end(self, act: Act, session: Session) -> None:
        """End a session."""
        live = session.live
        assert live is not None
        self.end(live, cast(End, cast(Unit, act.frame.unit).body))

    def end(self, live: LiveSession, body: End) -> None:
        """End a session; its channel is free when both have."""
        channel = live.channels[0] or 0
        self.part.emit(body, channel)
        live.ended[0] = True
        self.part.sessions[0].pop(channel, None)

    def send_attach(self, link: Link) -> None:
        """Attach a link, or answer one."""
        recorded = cast(Attach, link.attaches[self.part.side])
        session = link.session.live
        assert session is not None
        live = link.live
        if live is None:
            live = LiveLink(session, self.free_name(recorded), not recorded.role)
            live.script = link
        self.attach(live, self.answer_terms(link, live, recorded))
        if link.live is None:
            link.live = live
            session.links.append(live)

    def free_name(self, recorded: Attach) -> str:
        """The name of a link of ours: another one where a link of that name is in use (2.6.1)."""
        taken = {
            link.name
            for session in self.part.sessions[0].values()
            for link in session.links
            if link.sends != bool(recorded.role) and link.detached != [True, True]
        }
        name, count = str(recorded.name), 1
        while name in taken and not self.part.choices.exact:
            count += 1
            name = f"{recorded.name}-{count}"
        return name

    def answer_terms(self, link: Link, live: LiveLink, recorded: Attach) -> Attach:
        """An attach of ours for the live link: its name, and addresses as they are called now."""
        source, target = recorded.source, recorded.target
        asked = link.attaches[1 - self.part.side]
        terms: dict[str, Value] = {}
        if link.initiator != self.part.side and asked is not None:
            seen = self.part.receiver.attaches.get(id(live))
            for name in ("snd-settle-mode", "rcv-settle-mode"):
                if seen is not None and recorded.part_named(name) == asked.part_named(name):
                    terms[name.replace("-", "_")] = seen.part_named(name)
            if seen is not None:
                source = echo_terminus(source, asked.source, seen.source)
                target = echo_terminus(target, asked.target, seen.target)
        source = self.renamed_terminus(source) if source is recorded.source else source
        target = self.renamed_terminus(target) if target is recorded.target else target
        if asked is not None:
            source = self.named_node(source, asked.source)
            target = self.named_node(target, asked.target)
        if not recorded.role and recorded.initial_delivery_count is None:
            terms["initial_delivery_count"] = 0
        if isinstance(recorded.unsettled, Map) and recorded.role and not self.part.choices.exact:
            # The tags are those of the live sender, as far as it has sent any.
            known = [
                (self.part.tags[tag], state)
                for tag, state in recorded.unsettled
                if tag in self.part.tags
            ]
            terms["unsettled"] = Map(known) if known else None
        return cast(
            Attach, with_fields(recorded, name=live.name, source=source, target=target, **terms)
        )

    def named_node(self, answer: Value, asked: Value) -> Value:
        """The answer to who asks for a node of its own: it has an address (3.5.3, 3.5.4)."""
        if not isinstance(answer, Source | Target) or not isinstance(asked, Source | Target):
            return answer
        wants_node = asked.dynamic or answer.dynamic
        if not wants_node or answer.address is not None or self.part.choices.exact:
            return answer
        return with_fields(answer, address=f"amqpscope-node-{self.part.moves}")

    def renamed_terminus(self, terminus: Value) -> Value:
        """A source or target whose address is called otherwise now."""
        if isinstance(terminus, Source | Target) and terminus.address in self.part.values:
            return with_fields(terminus, address=self.part.values[terminus.address])
        return terminus

    def attach(self, live: LiveLink, body: Attach) -> None:
        """Send an attach under a handle that is free."""
        session = live.session
        handle = session.free_handle(body.handle or 0)
        self.part.emit(with_fields(body, handle=handle), session.channels[0] or 0)
        live.handles[0] = handle
        session.handles[0][handle] = live
        if live.sends:
            live.delivery_count = body.initial_delivery_count or 0
            live.counted = True

    def send_detach(self, act: Act, link: Link) -> None:
        """Detach a link; a link that the peer closes is closed."""
        live = link.live
        assert live is not None
        body = cast(Detach, cast(Unit, act.frame.unit).body)
        self.detach(live, body)

    def detach(self, live: LiveLink, body: Detach) -> None:
        """Send a detach; the handle is free then."""
        if self.part.receiver.closed_by_peer.get(id(live)):
            body = with_fields(body, closed=True)
        handle = live.handles[0] or 0
        self.part.emit(with_fields(body, handle=handle), live.session.channels[0] or 0)
        live.detached[0] = True
        live.session.handles[0].pop(handle, None)


def echo_terminus(answer: Value, asked: Value, seen: Value) -> Value:
    """A terminus of an answer: with the live address, where the recorded one was the one asked."""
    if not isinstance(answer, Source | Target) or not isinstance(asked, Source | Target):
        return answer
    if not isinstance(seen, Source | Target) or asked.dynamic:
        return answer
    if answer.address == asked.address:
        return with_fields(answer, address=seen.address)
    return answer
