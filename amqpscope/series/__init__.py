"""How credit, window, unsettled deliveries, rate and settle latency went over time, by link.

In the older protocols a consumer stands for a link on which the server sends, its prefetch for the
credit and its unacknowledged deliveries for the unsettled ones; a channel for one on which the
client sends, with its unconfirmed publishes.

plots = Plots()
for step in steps:
    plots.take(step)
for link in plots.links:
    link.credit.points(), link.unsettled.points(), link.deliveries.rates(), ...
"""

from amqpscope.series.course import ENDLESS, SLICES, Point, Series
from amqpscope.series.gathered import KINDS, Gathered, Kind, LinkSeries
from amqpscope.series.plots import Plots

__all__ = [
    "ENDLESS",
    "KINDS",
    "SLICES",
    "Gathered",
    "Kind",
    "LinkSeries",
    "Plots",
    "Point",
    "Series",
]
