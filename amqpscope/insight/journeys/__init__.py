"""Messages followed through a broker, from the connection that publishes to those that consume.

`Journeys` takes the Steps of one or several captures. It recognises messages by their octets or
ids, keeps what happened to each (`model.broker`), counts what brokers do with them, and lets the
rules about brokers look at every delivery.
"""

from amqpscope.insight.journeys.journeys import FollowingSteps, Journeys

__all__ = ["FollowingSteps", "Journeys"]
