"""Which family's rules a connection's conversations are kept legal by."""

from __future__ import annotations

from amqpscope.protocols.talk import Talk
from amqpscope.protocols.v0_9.talk import Talk as TalkV09
from amqpscope.protocols.v1_0.talk import Talk as TalkV10
from amqpscope.proxy.faults.peer_view import PeerView
from amqpscope.proxy.faults.peers_v0_9 import PeersV09
from amqpscope.proxy.faults.peers_v1_0 import PeersV10


def view_of(talk: Talk) -> PeerView:
    """Both peers of a connection that was just recognised."""
    if isinstance(talk, TalkV10):
        return PeersV10()
    if isinstance(talk, TalkV09):
        return PeersV09(talk.spoken)
    return PeerView()
