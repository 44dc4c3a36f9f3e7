"""What one process knows of the messages of a capture."""

from amqpscope.check.selection import Selection
from amqpscope.insight.delays import Delays
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.message_list import list_messages
from amqpscope.insight.messages import Followed
from amqpscope.runs.run import Run


class KnownMessages:
    """What `trace`, `stats` and the TUI say of them."""

    def __init__(self, path):
        journeys, followed, delays = Journeys(collects=True), Followed(), Delays()
        last = None
        with Run(str(path), Selection(), follow_messages=False) as run:
            for batch in run:
                for step in batch.steps:
                    last = step.frame
                    for each in (journeys, followed, delays):
                        each.take(step)
                if batch.end is not None:
                    journeys.end(batch.end.conversation)
                    delays.end(batch.end.conversation)
                    followed.end(batch.end.conversation, batch.end.reason)
        self.journeys = [
            journey
            for broker in dict.fromkeys(journeys.brokers.values())
            for journey in (*broker.gone, *broker.exact.values())
        ]
        listed = list_messages(followed, last.number, last.time).rows if last else ()
        self.states = {each.message.frame: each.state for each in listed}
        self.redeliveries = {each.message.frame: each.message.redelivered for each in listed}
        self.delays = {address: times.classes for address, times in delays.by_address.items()}
