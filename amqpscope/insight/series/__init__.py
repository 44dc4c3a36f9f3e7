"""How credit, window, unsettled deliveries, rate and settle latency went over time, by link.

A consumer is followed like a link on which the server sends, with its prefetch as credit and its
unacknowledged deliveries as unsettled ones; a channel like one on which the client sends, with its
unconfirmed publishes.

plots = Plots()
for step in steps:
    plots.take(step)
for link in plots.links:
    link.credit.points(), link.unsettled.points(), link.deliveries.rates(), ...
"""

from amqpscope.insight.series.downsample import ENDLESS, SLICES, Drought, Point, Series
from amqpscope.insight.series.plots import Plots
from amqpscope.insight.series.store import KINDS, LinkSeries, Names, SeriesStore

__all__ = [
    "ENDLESS",
    "KINDS",
    "SLICES",
    "Drought",
    "LinkSeries",
    "Names",
    "Plots",
    "Point",
    "Series",
    "SeriesStore",
]
