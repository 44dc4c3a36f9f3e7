"""Logging in: mechanisms, locales, who the peers say they are (A09-CON-02 to 07, 33, 36, 37)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import (
    ADVISORY,
    ERROR,
    IMPLIED,
    INFO,
    MUST,
    SHOULD,
    WARNING,
    Reporter,
    rule,
)
from amqpscope.stream.types import SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.values import Table

REQUIRED: Final = ("product", "version", "platform", "copyright", "information")
PLAIN: Final = ("PLAIN", "AMQPLAIN")
STRONGER: Final = ("SCRAM-", "CRAM-MD5", "DIGEST-MD5", "RABBIT-CR-DEMO", "GSSAPI", "NTLM")
"""How mechanisms begin that do not send the password."""


def words(method: Method | None, name: str) -> list[str]:
    """A list in a long string, its members between spaces."""
    value = None if method is None else method.get(name)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.split() if isinstance(value, str) else []


@rule("A09-CON-02", "start-ok mechanism validity", MUST, ERROR, on="connection.start-ok")
def mechanism_not_offered(event: Event, report: Reporter, method: Method) -> None:
    """The client logs in with one of the mechanisms that the server offers.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN AMQPLAIN" locales="en_US"
        client: connection.start-ok mechanism="EXTERNAL" locale="en_US"   # <- A09-CON-02

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    start = event.connection.start
    if start is None:
        return
    offered = words(start, "mechanisms")
    chosen = method.get("mechanism")
    if isinstance(chosen, str) and chosen.upper() not in [each.upper() for each in offered]:
        text = f"mechanism is {chosen!r}, the server offers {' '.join(offered)!r}"
        related = ((event.connection.start_mark, "the server's start"),)
        report.sure(event, text, "connection.start-ok.mechanism", related)


@rule("A09-CON-03", "same", MUST, INFO, on="connection.tune connection.secure")
def bad_mechanism_answered(event: Event, report: Reporter) -> None:
    """A server whose client chose a mechanism that was not offered closes at once.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="EXTERNAL" locale="en_US"   # <- A09-CON-02
        server: connection.tune channel-max=10 frame-max=4096   # <- A09-CON-03

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    for fault in event.connection.faults:
        if fault.rule == "A09-CON-02" and fault.sure and event.peer == SERVER:
            related = ((fault.mark, "the client's choice"),)
            text = "the server goes on with a mechanism that it did not offer"
            report.suspect(event, text, "", related)
            return


@rule("A09-CON-04", "start-ok mechanism security", SHOULD, INFO, on="connection.start-ok")
def weaker_mechanism_chosen(event: Event, report: Reporter, method: Method) -> None:
    """A client takes the safest mechanism that both know.

    Which ones the client knows cannot be seen, so this is a hint.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="SCRAM-SHA-256 PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-CON-04

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    connection = event.connection
    if connection.encrypted or method.get("mechanism") not in PLAIN:
        return
    stronger = [each for each in words(connection.start, "mechanisms") if each.startswith(STRONGER)]
    if stronger:
        text = f"{method.get('mechanism')} is chosen, {stronger[0]} was offered too"
        report.suspect(event, text, "connection.start-ok.mechanism")


@rule("A09-CON-05", "1.1.1.1", MUST, ERROR, on="connection.start", needs="server")
def offered_lists_incomplete(event: Event, report: Reporter, method: Method) -> None:
    """The server offers a mechanism, and the locale en_US among others.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="de_DE" # <- A09-CON-05

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    if not words(method, "mechanisms"):
        report.sure(event, "the server offers no mechanism", "connection.start.mechanisms")
    locales = words(method, "locales")
    if "en_US" not in locales:
        text = f"locales are {' '.join(locales)!r}, en_US must be one of them"
        report.sure(event, text, "connection.start.locales")


@rule("A09-CON-06", "start-ok locale", IMPLIED, WARNING, on="connection.start-ok")
def locale_not_offered(event: Event, report: Reporter, method: Method) -> None:
    """The client takes one of the locales that the server offers.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="de_DE"   # <- A09-CON-06

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    start = event.connection.start
    if start is None:
        return
    offered, chosen = words(start, "locales"), method.get("locale")
    if chosen not in offered:
        text = f"locale is {chosen!r}, the server offers {' '.join(offered)!r}"
        related = ((event.connection.start_mark, "the server's start"),)
        report.sure(event, text, "connection.start-ok.locale", related)


@rule("A09-CON-07", "required-fields", SHOULD, INFO, on="connection.start connection.start-ok")
def peer_properties_incomplete(event: Event, report: Reporter, method: Method) -> None:
    """A peer says its product, version, platform, copyright and other information.

    Servers should name their host too; none does.

    Bad (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="x" version="1"}   # <- A09-CON-07

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    name = "server-properties" if event.name == "connection.start" else "client-properties"
    properties = method.get(name)
    if not isinstance(properties, Table):
        return
    missing = [each for each in REQUIRED if properties.get(each) is None]
    if missing:
        report.sure(event, f"{name} lack {', '.join(missing)}", f"{event.name}.{name}")


@rule("A09-CON-33", "4.6.2", SHOULD, INFO, on="finished", needs="server !closed")
def handshake_error_without_pause(event: Event, report: Reporter) -> None:
    """A server that refuses a login waits a little before it closes.

    Otherwise passwords can be tried as fast as the network allows.

    Bad (started):
        server: FIN   # <- A09-CON-33

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
        server: FIN
        client: FIN
    """
    connection, own = event.connection, event.own
    login = connection.start_ok_mark
    if own.finished != "fin" or connection.stage != stages.AUTH:
        return
    if login is None or event.partner.finished:
        return
    if event.since(login) < PAUSE:
        text = "the server refuses a login by closing at once, without a pause"
        report.suspect(event, text, "", ((login, "the login"),))


PAUSE: Final = 100_000_000
"""Nanoseconds that are no pause."""


@rule(
    "A09-CON-36",
    "authentication_failure_close",
    IMPLIED,
    WARNING,
    on="connection.close",
    needs="server rabbit",
)
def login_refusal_form(event: Event, report: Reporter, method: Method) -> None:
    """A refused login is told by a close only to clients that announced to understand it.

    Others take a close in the handshake for a broken protocol; for them the server just closes the
    socket, after a pause.

    Bad (started connection.start.server-properties={product="RabbitMQ"}):
        server: connection.close reply-code=403 reply-text="ACCESS_REFUSED"   # <- A09-CON-36

    Good (header):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
                server-properties={product="RabbitMQ" version="3" platform="p" copyright="c"
                information="i"}
        client: connection.start-ok mechanism="PLAIN" locale="en_US" client-properties={
                product="c" version="1" platform="p" copyright="c" information="i"
                capabilities={authentication_failure_close=true}}
        server: connection.close reply-code=403 reply-text="ACCESS_REFUSED"
        client: connection.close-ok
    """
    connection = event.connection
    if connection.stage != stages.AUTH or method.get("reply-code") != 403:
        return
    if "authentication_failure_close" not in event.partner.capabilities:
        text = "a login is refused by a close, which the client did not say it understands"
        report.sure(event, text, "", ((connection.start_ok_mark, "the login"),))


@rule("A09-CON-37", "4.6", ADVISORY, INFO, on="connection.start-ok")
def clear_text_login(event: Event, report: Reporter, method: Method) -> None:
    """A password does not go over a network in clear.

    TLS may end right before the server, or run in a tunnel that cannot be seen.

    Bad (remote):
        server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
        client: connection.start-ok mechanism="PLAIN" locale="en_US"   # <- A09-CON-37

    Good (opened):
        client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    connection = event.connection
    if connection.encrypted or connection.loopback:
        return
    if method.get("mechanism") in PLAIN:
        text = f"the client logs in with {method.get('mechanism')} over a network in clear"
        report.suspect(event, text, "connection.start-ok.mechanism")
