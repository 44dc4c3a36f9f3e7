"""The handshake: its order, the virtual host, redirects (A09-CON-01, 12 to 17)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import OLD
from amqpscope.stream.types import PEERS, SERVER
from dissectors.v0_9.codec import Method

LONGEST_PATH: Final = 127


@rule("A09-CON-01", "1.1.1 grammar", MUST, ERROR, on="disorderly", needs="!faulty anchored")
def handshake_out_of_order(event: Event, report: Reporter) -> None:
    """The handshake goes start, start-ok, secure and secure-ok as often as needed, tune, tune-ok,
    open, open-ok.

    A client may send its open right after its tune-ok.

    Bad (header):
        server: connection.tune channel-max=10 frame-max=4096   # <- A09-CON-01

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    connection = event.connection
    stage = connection.stage
    if stage in (stages.NEW, stages.REFUSED):
        return
    if event.name == "connection.open" and connection.open_mark is not None:
        return  # A09-CON-14
    if event.name == "connection.redirect" and stage in (stages.OPEN, stages.REDIRECTED):
        return  # A09-CON-17
    expected = " or ".join(stages.NEXT[stage]) or "nothing of the handshake"
    text = f"the {PEERS[event.peer]} sends {event.name}, where {expected} should come"
    report.sure(event, text)


@rule("A09-CON-12", "2.3.3", MUST, ERROR, on="connection.open-ok", needs="server anchored")
def tune_missing(event: Event, report: Reporter) -> None:
    """The server proposes limits before it opens the connection.

    Bad (started):
        client: connection.open virtual-host="/"   # <- A09-CON-01
        server: connection.open-ok   # <- A09-CON-12

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    if event.connection.tune is None:
        report.sure(event, "the server opens the connection without a tune")


@rule("A09-CON-13", "1.1.1.7", MUST, WARNING, on="early method", needs="client anchored")
def work_before_open(event: Event, report: Reporter) -> None:
    """Nothing else is done before the virtual host is open.

    A client that sends its first channel.open right after connection.open is tolerated.

    Bad (tuned):
        client: connection.tune-ok channel-max=10 frame-max=4096
        client: channel.open[1]   # <- A09-CON-13

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    connection = event.connection
    if connection.open_mark is not None or connection.stage in (stages.UNKNOWN, stages.REFUSED):
        return
    if not event.name.startswith("connection.") and report.once(event.own):
        report.sure(event, f"the client sends {event.name} before connection.open")


@rule("A09-CON-14", "3.1.2", MUST, ERROR, on="connection.open", needs="client")
def connection_open_repeated(event: Event, report: Reporter) -> None:
    """A connection works with one virtual host, which is opened once.

    Bad (opened):
        client: connection.open virtual-host="other"   # <- A09-CON-14

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    mark = event.connection.open_mark
    if mark is not None:
        report.sure(event, "the client opens a second virtual host", "", ((mark, "the first"),))


@rule("A09-CON-15", "path domain", IMPLIED, WARNING, on="connection.open")
def virtual_host_length(event: Event, report: Reporter, method: Method) -> None:
    """The name of a virtual host has 1 to 127 octets.

    RabbitMQ takes longer ones.

    Bad (tuned):
        client: connection.tune-ok channel-max=10 frame-max=4096
        client: connection.open virtual-host=""   # <- A09-CON-15

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    name = method.get("virtual-host")
    if not isinstance(name, str):
        return
    size = len(name.encode("utf-8", "replace"))
    if not 0 < size <= LONGEST_PATH:
        text = f"virtual-host has {size} octets, 1 to {LONGEST_PATH} are allowed"
        report.sure(event, text, "connection.open.virtual-host")


@rule("A09-CON-16", "open insist", MUST, ERROR, on="connection.redirect", dialects=OLD)
def redirect_despite_insist(event: Event, report: Reporter) -> None:
    """A client that insists is not sent elsewhere.

    Bad:
        client: header 1 1.0.9
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"
        server: connection.tune channel-max=10 frame-max=4096
        client: connection.tune-ok channel-max=10 frame-max=4096
        client: connection.open virtual-host="/" insist=true
        server: connection.redirect host="other"   # <- A09-CON-16

    Good (v0_9):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    connection = event.connection
    if connection.stage == stages.OPENING and connection.insist and not event.unit.faults:
        related = ((connection.open_mark, "the open with insist"),)
        report.sure(event, "the server redirects a client that insists", "", related)


@rule("A09-CON-17", "1.1.1 grammar", MUST, ERROR, on="connection.redirect channel.*", dialects=OLD)
def redirect_out_of_place(event: Event, report: Reporter) -> None:
    """A redirect answers connection.open, and nothing else; after it the connection is closed.

    What the client sent before it had read the redirect is not meant; the server knew of it.

    Bad (v0_9):
        server: connection.redirect host="other"   # <- A09-CON-17

    Good:
        client: header 1 1.0.9
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="b" version="1" platform="p" copyright="c"
                information="i"}
        client: connection.start-ok mechanism="PLAIN" locale="en_US" client-properties={
                product="c" version="1" platform="p" copyright="c" information="i"}
        server: connection.tune channel-max=10 frame-max=4096
        client: connection.tune-ok channel-max=10 frame-max=4096
        client: connection.open virtual-host="/"
        server: connection.redirect host="other"
    """
    stage, name = event.connection.stage, "connection.redirect"
    if event.name != name:
        mark = event.connection.ends[SERVER].sent.get(event.connection.dialect.by_name[name].code)
        knows = stage == stages.REDIRECTED and (event.peer == SERVER or event.knew(mark))
        if knows and report.once(event.own):
            who = PEERS[event.peer]
            words = f"the {who} sends {event.name} on a connection that was redirected"
            report.suspect(event, words, "", ((mark, "the redirect"),))
    elif stage in (stages.OPEN, stages.REDIRECTED) and event.own.anchored:
        report.sure(event, "the server redirects when nothing was asked to be opened")
