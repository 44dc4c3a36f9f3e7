"""Makes the records of all connections of one or several captures, frame by frame."""

from __future__ import annotations

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.journeys.declarations import FRAMES
from amqpscope.insight.journeys.records import Court, Peers
from amqpscope.insight.journeys.witness import CONCLUDED, INTRODUCTIONS, SELECTED, Witness
from amqpscope.model.event import Event
from amqpscope.stream.types import SERVER


class Witnesses:
    """Makes the records of all connections of one or several captures."""

    def __init__(self, court: Court) -> None:
        self.court = court
        """Says who takes the records of a connection."""
        self.known: dict[Conversation, Witness] = {}

    def take(self, step: Step, capture: int = 0) -> None:
        """Say what a frame shows of messages."""
        conversation, event = step.conversation, step.event
        if step.talk is not conversation.talk:
            return  # A server that refuses its client's protocol takes no message of it.
        witness = self.known.get(conversation)
        if witness is not None and witness.publishing:
            witness.report_progress()
        if event.message is not None:
            carried = event.carries
            if carried is not None:
                if witness is None:
                    witness = self.meet(conversation, capture)
                witness.complete(event, carried)
        elif event.frame.unit.header is None:
            if witness is None:
                if not is_first(event):
                    return
                witness = self.meet(conversation, capture)
            witness.take(event)
        if event.peer == SERVER and witness is not None and witness.unproved:
            witness.prove()

    def meet(self, conversation: Conversation, capture: int) -> Witness:
        """A connection of which there is something to say."""
        talk, connection = conversation.talk, conversation.connection
        peers = Peers(
            conversation.number, capture, talk.family, connection.client, connection.server
        )
        witness = self.known[conversation] = Witness(conversation, self.court.meet(peers))
        return witness

    def end(self, conversation: Conversation) -> None:
        """A direction of a connection is over, or the capture is."""
        witness = self.known.get(conversation)
        if witness is not None:
            witness.end()
            if all(end.finished for end in conversation.current.ends):
                del self.known[conversation]


def is_first(event: Event) -> bool:
    """Whether there is something to say of a connection that nothing was said of."""
    if event.covers:
        return False
    name = event.name
    if event.aborts or name == "attach" or name in FRAMES:
        return True
    return name in INTRODUCTIONS or name in SELECTED or event.transacts in CONCLUDED
