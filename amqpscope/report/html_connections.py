"""The connections of one capture in the HTML report: numbers, links, plots and ladder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from amqpscope.insight.endings import explain_ending, explained_words
from amqpscope.insight.explanation import holding_words, with_frame
from amqpscope.insight.ladder import FAULT
from amqpscope.model.ending import CONNECTION, LINK
from amqpscope.model.place import EXCHANGE, QUEUE
from amqpscope.protocols.ending_words import full_words
from amqpscope.protocols.words import printable, seconds, size
from amqpscope.report.html_plot import TimeSpan, link_plots
from amqpscope.report.ladder_svg import svg_inline
from amqpscope.report.stats import latency, stalls, words_for
from amqpscope.stream.types import PEERS
from amqpscope.wording import plural
from dissectors.secrets import clean_name

if TYPE_CHECKING:
    from amqpscope.insight.ladder import Arrow, Ladder, Note
    from amqpscope.insight.series import LinkSeries
    from amqpscope.insight.statistics import ConnectionNumbers, LinkNumbers
    from amqpscope.protocols.stuck import Held
    from amqpscope.report.illustration import Illustration

LINKS: Final = 50
"""Links of a connection that the table lists."""
PLOTTED: Final = 6
"""Links of a connection of which there are plots: those with the most deliveries."""
TITLES: Final = {"link": "Link", "consumer": "Consumer", "channel": "Publishes on"}
"""What plots are of."""


class ConnectionsPart:
    """The connections of the capture at this place."""

    def __init__(self, place: int, shown: Illustration, named: set[str]) -> None:
        self.prefix = f"c{place}-"
        self.shown = shown
        self.named = named
        """The findings that can be pointed at."""
        self.ladders = {ladder.number: ladder for ladder in shown.ladders}
        self.links: dict[int, list[LinkSeries]] = {}
        for link in shown.plots.links:
            self.links.setdefault(link.connection, []).append(link)

    def parts(self) -> Iterator[str]:
        """All connections that are drawn, and how many are not."""
        yield f'<section id="{self.prefix}connections">\n<h3>Connections</h3>\n'
        drawn = [each for each in self.shown.numbers if each.number in self.ladders]
        for numbers in drawn:
            yield from self.connection(numbers, alone=len(drawn) == 1)
        left = len(self.shown.numbers) - len(drawn)
        if left:
            yield (
                f"<p>{plural(left, 'more connection')} of this capture "
                f"{'is' if left == 1 else 'are'} not drawn here; "
                "<code>amqpscope ladder --connection N</code> draws any.</p>\n"
            )
        yield "</section>\n"

    def connection(self, numbers: ConnectionNumbers, *, alone: bool) -> Iterator[str]:
        """A connection with its links, plots and ladder."""
        number = numbers.number
        ladder = self.ladders[number]
        found = self.shown.of_connection(number)
        opened = " open" if alone or found else ""
        told = f', <b class="found">{plural(len(found), "finding")}</b>' if found else ""
        named = " → ".join(printable(name) if name else "?" for name in numbers.containers)
        containers = f"Containers {named}. " if any(numbers.containers) else ""
        client, server = escape(numbers.client), escape(numbers.server)
        yield (
            f'<details class="connection" id="{self.prefix}connection-{number}"{opened}>\n'
            f"<summary><h4>Connection {number}</h4> "
            f'<span class="ends">{client} → {server}</span> '
            f'<span class="facts">{escape(numbers.protocol)}, '
            f"{plural(sum(numbers.frames), 'frame')} in {seconds(numbers.until - numbers.first)}"
            f"{told}</span></summary>\n"
            f"<p>{escape(containers)}The client sent "
            f"{plural(numbers.frames[0], 'frame')}, {size(numbers.bytes[0])}; the server "
            f"{plural(numbers.frames[1], 'frame')}, {size(numbers.bytes[1])}. "
            f"{escape(performatives(numbers))}</p>\n"
            f"<p>{escape(self.ending_sentence(numbers))}</p>\n"
        )
        yield from self.link_table(numbers)
        yield from self.plots(numbers)
        yield from self.ladder(ladder)
        yield "</details>\n"

    def ending_sentence(self, numbers: ConnectionNumbers) -> str:
        """How a connection ended, and what explains it, as a sentence."""
        ending = numbers.ending
        if ending is None:
            return "It was open when the capture ended."
        words = full_words(ending, self.shown.first)
        found = explain_ending(ending, self.shown.of_connection(numbers.number))
        why = "" if found is None else f"; {explained_words(found)}"
        return f"{words[0].upper()}{words[1:]}{why}."

    def link_table(self, numbers: ConnectionNumbers) -> Iterator[str]:
        """What each link did, and what holds it when the capture ends."""
        if not numbers.links:
            return
        number = numbers.number
        held = holding((h for h in self.shown.held if h.connection == number), self.shown.last)
        yield (
            '<div class="wide" tabindex="0"><table class="links">\n<caption>'
            f"{table_title(numbers.links[0].kind)}</caption>"
            "<thead><tr><th>link<th>address<th>sender<th class=n>deliveries<th>outcomes"
            "<th>settled after<th>stalls, and how it ends</tr></thead>\n<tbody>\n"
        )
        busiest = sorted(numbers.links, key=lambda link: -link.deliveries)
        for link in busiest[:LINKS]:
            yield link_row(link, self.link_end(link) or held.get((link.name, link.sender), ""))
        left = len(busiest) - LINKS
        if left > 0:
            yield f"<tr><td colspan=7>and {plural(left, 'more link')}</tr>\n"
        yield "</tbody></table></div>\n"

    def link_end(self, link: LinkNumbers) -> str:
        """How a link ended; empty where it did not."""
        ending = link.ending
        if ending is None:
            return ""
        if ending.what == CONNECTION:
            return "ended with the connection"
        return full_words(ending, self.shown.first, own=LINK)

    def plots(self, numbers: ConnectionNumbers) -> Iterator[str]:
        """The busiest links over time."""
        links = [link for link in self.links.get(numbers.number, ()) if shows(link)]
        links.sort(key=lambda link: -link.deliveries.count)
        span = TimeSpan(numbers.first, max(numbers.until, numbers.first + 1))
        found = self.shown.of_connection(numbers.number)
        for place, link in enumerate(links[:PLOTTED]):
            marks = [f.time for f in found if not f.link or f.link == clean_name(link.name)][:40]
            plots = link_plots(link, span, marks)
            name = printable(link.name)
            address = printable(link.address)
            title = f"{address} ({name})" if address and address != name else name or address
            yield (
                f'<details class="plots"{" open" if place < 2 else ""}><summary>'
                f"{TITLES.get(link.kind, link.kind.capitalize())} <q>{escape(title)}</q>"
                " over time, "
                f"sent by the {link.sender}</summary>\n"
                '<div class="grid">\n'
            )
            for plot in plots:
                yield (
                    f"<figure><figcaption><b>{escape(plot.title)}</b> {escape(plot.words)}"
                    f"</figcaption>{plot.svg}</figure>\n"
                )
            told = '<p class="quiet">▾ above a plot: a finding.</p>\n' if marks else ""
            yield f"</div>{told}</details>\n"
        left = len(links) - PLOTTED
        if left > 0:
            yield f'<p class="quiet">{plural(left, "more link")} without plots.</p>\n'

    def ladder(self, ladder: Ladder) -> Iterator[str]:
        """Who sent what to whom."""
        yield (
            '<details class="drawn" open><summary>Ladder</summary>\n'
            '<div class="wide" tabindex="0">'
            f"{svg_inline(ladder, f'{self.prefix}l', self.linker)}</div></details>\n"
        )

    def linker(self, row: Arrow, note: Note) -> str:
        """Where a finding on an arrow is described in full; a fault is so where it is."""
        if note.rule == FAULT:
            return ""
        name = f"{self.prefix}f{row.frame}-{note.rule}"
        return f"#{name}" if name in self.named else f"#rule-{note.rule}"


def table_title(kind: str) -> str:
    """What the table of places is called that begins with one of a kind."""
    return "Exchanges and queues" if kind in (EXCHANGE, QUEUE) else f"{kind.capitalize()}s"


def shows(link: LinkSeries) -> bool:
    """Whether there is anything to be seen of a link over time."""
    return bool(link.credit.count if link.kind == "link" else link.deliveries.count)


def performatives(numbers: ConnectionNumbers) -> str:
    """How often each kind of frame came."""
    return ", ".join(f"{name} {times:,}" for name, times in numbers.names.most_common(14)) + "."


def link_row(link: LinkNumbers, held: str) -> str:
    """A row of the table of links."""
    outcomes = [f"{times:,} {name}" for name, times in link.outcomes.most_common()]
    outcomes += [f"{link.presettled:,} sent settled"] if link.presettled else []
    outcomes += [f"{link.aborted:,} aborted"] if link.aborted else []
    outcomes += [f"{link.unsettled:,} {words_for(link).pending}"] if link.unsettled else []
    stalled = stalls(link.credit, words_for(link).credit).removeprefix(", ")
    told = "; ".join(filter(None, (stalled, held)))
    cells = (
        printable(link.name) or "(no name)",
        printable(link.address),
        link.sender,
        f"{link.deliveries:,}",
        ", ".join(outcomes),
        latency(link.latency) if link.latency.count else "",
        told,
    )
    kinds = (' class="path"', ' class="path"', "", ' class="n"', "", "", "")
    row = "".join(f"<td{kind}>{escape(cell)}" for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{row}</tr>\n"


def holding(held: Iterable[Held], now: int) -> dict[tuple[str, str], str]:
    """What holds each link that is not over when the capture ends, by name and sender."""
    found = {}
    for each in held:
        bound = each.bound
        if bound.ending is None:
            words = with_frame(holding_words(bound, now), bound.frame, "since")
            found[each.name, PEERS[each.sender]] = f"in the end {words}"
    return found
