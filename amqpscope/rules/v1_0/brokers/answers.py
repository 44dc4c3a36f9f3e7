"""How a broker answers, and what it does unasked (BRK-014, 019, 025, 034, 141).

The paper on broker behaviour asks for more than the specification does, so these are notes.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.rules.v1_0 import ADVISORY, INFO, MUST, Reporter, rule
from amqpscope.rules.v1_0.parameters import attach_of
from amqpscope.rules.v1_0.termini._terminus import symbols
from amqpscope.rules.v1_0.termini.answer import wished_terminus
from amqpscope.stream.types import CLIENT
from dissectors.v1_0.bodies import Attach, Detach, Error, Rejected, SaslMechanisms, Source

FULL: Final = "amqp:resource-limit-exceeded"
COMMON: Final = frozenset((
    "ANONYMOUS", "PLAIN", "EXTERNAL", "LOGIN", "CRAM-MD5", "DIGEST-MD5", "GSSAPI", "GS2-KRB5",
    "SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512", "XOAUTH2", "OAUTHBEARER", "NTLM",
    "SCRAM-SHA-1-PLUS", "SCRAM-SHA-256-PLUS", "GSS-SPNEGO",
))  # fmt: skip
"""Mechanisms that somebody else than their maker has described."""


def sources(event: Event) -> tuple[LinkEnd, Source, Source] | None:
    """The link of an attach that answers one, the source that was asked for, and the answer's."""
    attach: Attach | None = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if found is None:
        return None
    link, asked, given = found
    if not isinstance(asked, Source) or not isinstance(given, Source):
        return None
    return link, asked, given


@rule("BRK-014", "2.3.3", ADVISORY, INFO, on="detach", needs="server")
def node_death_without_reason(event: Event, report: Reporter) -> None:
    """A broker that closes a link by itself says why.

    When a node dies, amqp:resource-deleted or amqp:link:detach-forced tells its clients so. Where
    the client was about to detach the link too, or to end more than that, nothing is said.

    Bad (sending):
        server: detach[0] handle=0 closed=true   # <- BRK-014
        client: detach[0] handle=0 closed=true

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:resource-deleted
                description="the queue was deleted")
        client: detach[0] handle=0 closed=true
    """
    body, link = event.body, event.link
    if not isinstance(body, Detach) or not body.closed or body.error is not None or link is None:
        return
    pair, own = link.pair, link.attach
    if pair is None or pair.attach is None or own is None or not pair.live:
        return
    if (own.target if link.role else own.source) is None:
        return  # a refusal
    if not event.connection.ends[CLIENT].close_mark:
        text = f"the server closes link {link.label()}, unasked and without an error"
        report.suspect(event, text, "detach.error")


@rule("BRK-019", "2.3.7", MUST, INFO, on="attach", needs="server")
def default_outcome_disagreement(event: Event, report: Reporter) -> None:
    """A client looks at the default-outcome that the broker gives its messages.

    The paper has the link refused where they do not agree; by the specification the broker's word
    counts, and the client has to know what becomes of messages that it does not settle.

    Bad (attaching_receiver source=source(address="q" default-outcome=released())):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" default-outcome=accepted())   # <- BRK-019

    Good (attaching_receiver source=source(address="q" default-outcome=released())):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" default-outcome=released())
    """
    found = sources(event)
    if found is None:
        return
    link, asked, given = found
    if asked.default_outcome is None or given.default_outcome is None:
        return
    wanted, granted = outcome(asked.default_outcome), outcome(given.default_outcome)
    if wanted != granted:
        text = f"the default-outcome of link {link.label()} was to be {wanted} and is {granted}"
        related = ((link.mark, "the request"),)
        report.sure(event, text, "attach.source.default-outcome", related)


@rule("BRK-025", "2.3.9", MUST, INFO, on="receiver-disposition state", needs="server")
def credit_not_honoured(event: Event, report: Reporter, state: Rejected) -> None:
    """A broker gives no credit for messages that it has no room for.

    A limit may be that of one queue behind an exchange, so this is never certain.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"x")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:resource-limit-exceeded))  # <- BRK-025

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"x")
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:not-allowed))
    """
    error = state.error
    if not isinstance(error, Error) or error.condition != FULL or not event.covered:
        return
    link = event.covered[0].link
    if report.once(link):
        text = f"a message within the credit of link {link.label()} is refused: {FULL}"
        report.suspect(event, text, "disposition.state")


@rule("BRK-034", "2.3.11.3", MUST, INFO, on="attach", needs="server")
def asked_outcome_not_granted(event: Event, report: Reporter) -> None:
    """A client looks whether the broker knows the outcomes that it wants to use.

    The paper has the link refused where it does not.

    Bad (attaching_receiver
            source=source(address="q" outcomes=[:amqp:accepted:list :amqp:modified:list])):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list])   # <- BRK-034

    Good (attaching_receiver source=source(address="q" outcomes=[:amqp:accepted:list])):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" outcomes=[:amqp:accepted:list :amqp:modified:list])
    """
    found = sources(event)
    if found is None:
        return
    link, asked, given = found
    granted = symbols(given.outcomes)
    missing = [each for each in symbols(asked.outcomes) if granted and each not in granted]
    if missing:
        text = f"link {link.label()} is attached without the outcome {missing[0]}, which was asked"
        report.sure(event, f"{text} for", "attach.source.outcomes", ((link.mark, "the request"),))


@rule("BRK-141", "0.2", MUST, INFO, on="sasl", needs="server")
def extension_required(event: Event, report: Reporter) -> None:
    """A server offers a mechanism that others know, beside those of its own.

    Bad:
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:X-OURS]   # <- BRK-141

    Good:
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:X-OURS :PLAIN]
    """
    body = event.body
    if not isinstance(body, SaslMechanisms):
        return
    offered = symbols(body.sasl_server_mechanisms)
    if offered and not COMMON.intersection(offered):
        text = f"the server offers only private mechanisms: {', '.join(sorted(offered))}"
        report.suspect(event, text, "sasl-mechanisms.sasl-server-mechanisms")
