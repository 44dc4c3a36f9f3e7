"""Small plots over time as SVG, for the HTML report.

A quantity that holds until it changes (credit, window, unsettled deliveries) is a step line over
the band between its lowest and highest value in each slice of time; times without any are marked
below. Events (rate, latency) are bars. Numbers are on both axes and in words below each plot.
"""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from amqpscope.insight.series import ENDLESS, LinkSeries, Point, Series
from amqpscope.protocols.words import seconds

# fmt: off
WIDTH:  Final = 480
HEIGHT: Final = 128
LEFT:   Final = 52
RIGHT:  Final = 470
TOP:    Final = 10
BOTTOM: Final = 100
# fmt: on


class TimeSpan(NamedTuple):
    """The time that all plots of a connection show."""

    first: int
    last: int

    def x(self, time: int) -> float:
        """Where a time lies."""
        whole = max(self.last - self.first, 1)
        place = LEFT + (RIGHT - LEFT) * (time - self.first) / whole
        return round(min(max(place, LEFT), RIGHT), 1)


class Plot(NamedTuple):
    """A picture and what it is."""

    title: str
    words: str
    svg: str


def link_plots(link: LinkSeries, span: TimeSpan, marks: list[int]) -> list[Plot]:
    """What is known of a link over time; marks are the times of findings."""
    names = link.names
    found = [
        step_plot(names.credit, link.credit, span, marks, names.empty),
        step_plot("session window", link.window, span, marks, "window closed"),
        step_plot(names.unsettled, link.unsettled, span, marks, "", link.limit),
        rate(link.deliveries, span, marks),
        latency(link.latency, span, marks),
    ]
    # What has no picture is last, where it leaves no hole.
    return sorted((plot for plot in found if plot is not None), key=lambda plot: not plot.svg)


def step_plot(
    title: str, series: Series | None, span: TimeSpan, marks: list[int], empty: str, limit: int = 0
) -> Plot | None:
    """A quantity that holds until it changes; `empty` says what it means to be 0."""
    if series is None or not series.count:
        return None
    points = series.points()
    if series.low > ENDLESS:
        return Plot(title, f"never below {short(series.low)}, which is no limit", "")
    top = max(series.high, limit, 1)
    line, band, zero = _steps(points, span, top)
    parts = [
        f'<path class="band" d="{band}"/>',
        f'<path class="value" d="{line}"/>',
    ]
    words = f"lowest {short(series.low)}, highest {short(series.high)}"
    if limit:
        y = _y(limit, top)
        parts.append(f'<path class="limit" d="M{LEFT} {y}H{RIGHT}"/>')
        words += f", prefetch {short(limit)} (dashed)"
    if series.last is not None:
        words += f", in the end {short(series.last)}"
    if empty and zero:
        parts.append(f'<path class="none" d="{zero}"/>')
        words += f"; {empty} where it is marked red below"
    return Plot(title, words, _frame(title, parts, short(top), span, marks))


def _steps(points: list[Point], span: TimeSpan, top: int) -> tuple[str, str, str]:
    """The line, the band around it, and the stretches at 0."""
    line, band, zero = [], [], []
    known = False
    for place, point in enumerate(points):
        x = span.x(point.time)
        following = points[place + 1].time if place + 1 < len(points) else span.last
        until = span.x(following)
        if point.events and point.low != point.high:
            # What went up and down within one slice is a band; a line would show chance.
            wide = max(min(span.x(point.until), until) - x, 1.2)
            upper, lower = _y(point.high, top), _y(point.low, top)
            band.append(f"M{x} {upper}h{wide:.1f}V{lower}h-{wide:.1f}Z")
            x, known = round(x + wide, 1), False
        if point.events and point.low <= 0:
            # At least a pixel and a half: a short stall is what one looks for.
            begin = span.x(point.time)
            end = until if point.last is not None and point.last <= 0 else begin
            zero.append(f"M{begin} {BOTTOM + 2}H{max(end, begin + 1.5):.1f}")
        if point.last is None:
            known = False
        elif until >= x:
            y = _y(point.last, top)
            line.append(f"V{y}H{until}" if known else f"M{x} {y}H{until}")
            known = True
    return "".join(line), "".join(band), "".join(zero)


def rate(series: Series, span: TimeSpan, marks: list[int]) -> Plot | None:
    """Deliveries per second."""
    rates = series.rates(over=span.last - span.first)
    if not rates:
        return None
    top = max(value for _, value in rates)
    width = rates[1][0] - rates[0][0] if len(rates) > 1 else (span.last - span.first) // 60
    bars = _bars([(time, time + width, 0.0, value) for time, value in rates], span, top)
    words = f"{series.count:,} in all, at most {short(top)} per second"
    svg = _frame(
        "deliveries per second", [f'<path class="bar" d="{bars}"/>'], short(top), span, marks
    )
    return Plot("deliveries per second", words, svg)


def latency(series: Series, span: TimeSpan, marks: list[int]) -> Plot | None:
    """From the first transfer to the settlement: lowest to highest, and the mean."""
    points = [point for point in series.points() if point.events]
    if not points:
        return None
    top = float(max(series.high, 1))
    bars = _bars([(p.time, p.until, float(p.low), float(p.high)) for p in points], span, top)
    dots = "".join(
        f"M{span.x(p.time)} {_y(p.total / p.events, top)}h{_wide(p.time, p.until, span):.1f}"
        for p in points
    )
    mean = sum(p.total for p in points) / series.count
    words = (
        f"{series.count:,} settled, fastest {seconds(series.low)}, "
        f"mean {seconds(round(mean))}, slowest {seconds(series.high)}"
    )
    parts = [f'<path class="bar" d="{bars}"/>', f'<path class="mean" d="{dots}"/>']
    return Plot(
        "settle latency", words, _frame("settle latency", parts, seconds(round(top)), span, marks)
    )


def _bars(bars: list[tuple[int, int, float, float]], span: TimeSpan, top: float) -> str:
    path = []
    for begin, end, low, high in bars:
        if high > 0:
            x, wide = span.x(begin), _wide(begin, end, span)
            upper, lower = _y(high, top), _y(low, top)
            path.append(f"M{x} {upper}h{wide:.1f}V{max(lower, upper + 1)}h-{wide:.1f}Z")
    return "".join(path)


def _wide(begin: int, end: int, span: TimeSpan) -> float:
    return max(span.x(end) - span.x(begin) - 0.4, 3)


def _y(value: float, top: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * min(max(value / top, 0), 1), 1)


def _frame(title: str, parts: list[str], top: str, span: TimeSpan, marks: list[int]) -> str:
    """Axes and numbers around what is drawn."""
    found = "".join(f"M{span.x(time)} {TOP - 1}l-3 -6h6Z" for time in marks)
    duration = seconds(max(span.last - span.first, 0))
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)} over time">'
        f'<path class="grid" d="M{LEFT} {TOP}H{RIGHT}M{LEFT} {(TOP + BOTTOM) / 2}H{RIGHT}"/>'
        f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>'
        + "".join(parts)
        + (f'<path class="mark" d="{found}"/>' if found else "")
        + _text("end", LEFT - 6, TOP + 5, top)
        + _text("end", LEFT - 6, BOTTOM + 3, "0")
        + _text("start", LEFT, BOTTOM + 20, "0 s")
        + _text("end", RIGHT, BOTTOM + 20, duration)
        + "</svg>"
    )


def _text(anchor: str, x: int, y: int, said: str) -> str:
    return f'<text text-anchor="{anchor}" x="{x}" y="{y}">{escape(said)}</text>'


def short(value: float) -> str:
    """A number in a few characters."""
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= factor:
            return f"{value / (1e3 if unit == ' k' else factor):.3g}{unit}"
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"
