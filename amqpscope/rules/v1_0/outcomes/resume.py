"""What becomes of unsettled deliveries when a link is attached again (OUT; spec 3.4.6).

Both peers list in their attach what they remember, and the two lists decide for each delivery
whether it is sent again, gone on with, aborted or only settled. A sender that begins to resume has
credit on the new attachment, so it has read the receiver's list; where it may not have, nothing
is said.
"""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, SHOULD, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Attach, Body, Received, Transfer
from dissectors.v1_0.values import Map, Value


class Resumed:
    """A delivery that is resumed, and what both peers remembered of it."""

    def __init__(self, body: Transfer, link: LinkEnd, own: Value, other: Value, both: bool) -> None:
        self.body = body
        self.link = link
        self.own = own
        """The sender's entry."""
        self.other = other
        """The receiver's entry."""
        self.both = both
        """The receiver has an entry at all."""


def resumed_delivery(event: Event) -> Resumed | None:
    """The first transfer of a delivery that both lists allow to judge."""
    body, link = event.body, event.link
    if not isinstance(body, Transfer) or link is None or event.damaged or event.discarded:
        return None
    pair, tag = link.pair, body.delivery_tag
    if pair is None or link.attach is None or pair.attach is None or tag is None:
        return None
    if not link.terms.clear or not pair.terms.clear or not event.knew(pair.mark):
        return None
    if not pair.receiving.credit.entries:
        return None
    own, other = link.attach.unsettled, pair.attach.unsettled
    if not isinstance(own, Map) or (other is not None and not isinstance(other, Map)):
        return None
    mine, found = entry(own, tag)
    if not found:
        return None
    theirs, both = (None, False) if other is None else entry(other, tag)
    if not both and pair.attach.incomplete_unsettled:
        return None
    return Resumed(body, link, mine, theirs, both)


def entry(unsettled: Map, tag: bytes) -> tuple[Value, bool]:
    """What a list says of a delivery, and whether it has it."""
    for key, state in unsettled:
        if type(key) is bytes and key == tag:
            return state, True
    return None, False


def place(state: Value) -> tuple[int, int] | None:
    """How far a state says that a message has come; None for one that is no such state."""
    if state is None:
        return (0, 0)
    if isinstance(state, Received) and not state.wrong:
        return (state.section_number or 0, state.section_offset or 0)
    return None


def beyond(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a place surely lies behind another: a section's end is the start of the next."""
    if one[0] == other[0] + 1 and one[1] == 0:
        return False
    return one > other


def report_resumed(event: Event, report: Reporter, found: Resumed, text: str, path: str) -> None:
    """Report something about a delivery that is resumed."""
    pair = found.link.pair
    related = (
        (found.link.mark, "what the sender remembered"),
        (None if pair is None else pair.mark, "what the receiver remembered"),
    )
    tag = found.body.delivery_tag or b""
    report.sure(
        event, f"delivery 0x{tag.hex()} of link {found.link.label()}: {text}", path, related
    )


@rule("OUT-040", "3.4.6", MUST, WARNING, on="resume first")
def resume_flag_on_forgotten_delivery(event: Event, report: Reporter) -> None:
    """A delivery that the receiver does not remember is sent again as a new one, not resumed.

    The receiver ignores a resumed delivery that it knows nothing of, so the message would be lost.
    Another place of the specification (2.6.13) lets the sender choose, hence a warning.

    Bad (resuming server.unsettled={}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")   # <- OUT-040

    Good (resuming server.unsettled={}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0
                | data(b"7")
    """
    found = resumed_delivery(event)
    if found is None or found.both or outcome(found.own) or found.body.aborted:
        return
    if place(found.own) is not None:
        text = "resumed, though the receiver does not remember it"
        report_resumed(event, report, found, text, "transfer.resume")


@rule("OUT-041", "3.4.6", IMPLIED, WARNING, on="resume first")
def resume_leaves_hole(event: Event, report: Reporter) -> None:
    """A resumed delivery goes on from where the receiver has got to, or from before that.

    What lies between is missing from the message for ever. A place at the end of a section is the
    same as the start of the next.

    Bad (resuming server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=received(section-number=0 section-offset=9) | raw 0x3132   # <- OUT-041

    Good (resuming server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=received(section-number=0 section-offset=2) | raw 0x3132
    """
    found = resumed_delivery(event)
    if found is None or not isinstance(found.other, Received) or found.body.aborted:
        return
    own, other, start = place(found.own), place(found.other), place(found.body.state)
    if own is None or other is None or start is None or beyond(own, other):
        return
    if beyond(start, other):
        text = f"goes on from {start}, the receiver has got to {other}"
        report_resumed(event, report, found, text, "transfer.state")


@rule("OUT-042", "3.4.6", SHOULD, WARNING, on="resume first")
def resume_terminal_not_answered(event: Event, report: Reporter) -> None:
    """For a delivery that the receiver has finished, the sender states its own outcome.

    The receiver waits for it to settle. A sender that says nothing leaves it in doubt, and one that
    settles with another outcome has the last word without the receiver's knowing.

    Bad (resuming server.unsettled={b"7"=accepted()}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0
                resume=true   # <- OUT-042

    Good (resuming server.unsettled={b"7"=accepted()}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true state=accepted()
    """
    found = resumed_delivery(event)
    if found is None or found.body.aborted or place(found.own) is None:
        return
    theirs = outcome(found.other)
    if not theirs:
        return
    stated = outcome(found.body.state)
    if found.body.state is None and not found.body.settled:
        text = f"resumed without a state, though the receiver has {theirs} it"
        report_resumed(event, report, found, text, "transfer.state")
    elif found.body.settled and stated and stated != theirs:
        text = f"settled as {stated}, the receiver has it as {theirs}"
        report_resumed(event, report, found, text, "transfer.state")


@rule("OUT-043", "3.4.6", MUST, ERROR, on="resume first")
def resume_from_start_broken(event: Event, report: Reporter) -> None:
    """A delivery of which the receiver has nothing yet is sent whole again.

    Both lists have it without a state: the receiver knows the tag only. A start in the middle
    leaves it with half a message.

    Bad (attaching_sender unsettled={b"7"=null}):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
                unsettled={b"7"=null}   # <- OUT-044
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=received(section-number=1 section-offset=0) | raw 0x3132   # <- OUT-043

    Good (resuming):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=received(section-number=0 section-offset=0) | data(b"7")
    """
    found = resumed_delivery(event)
    if found is None or not found.both or found.other is not None or found.own is not None:
        return
    start = place(found.body.state)
    if start is not None and start > (0, 0) and not found.body.aborted:
        text = f"goes on from {start}, the receiver has nothing of it"
        report_resumed(event, report, found, text, "transfer.state")


@rule("OUT-044", "3.4.6", SHOULD, WARNING, on="attach")
def receiver_keeps_null_entry(event: Event, report: Reporter, attach: Attach) -> None:
    """A receiver does not list deliveries of which it has nothing.

    Left out, they are simply sent again. Listed without a state they have to be resumed or aborted,
    to no good.

    Bad (attaching_sender unsettled={b"7"=null}):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
                unsettled={b"7"=null}   # <- OUT-044

    Good (attaching_sender unsettled={b"7"=null}):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
                unsettled={}
    """
    if attach.role is not True or not isinstance(attach.unsettled, Map):
        return
    empty = [key for key, state in attach.unsettled if state is None and type(key) is bytes]
    if empty:
        text = f"the receiver lists {len(empty)} unsettled deliveries without a state"
        report.sure(event, text, "attach.unsettled")


@rule("OUT-045", "3.4.6", IMPLIED, WARNING, on="resume first")
def unresumable_not_aborted(event: Event, report: Reporter) -> None:
    """A delivery that the sender can no longer send from where the receiver stopped is aborted.

    Its list says that it can go on only from a later place, so the receiver can never have the
    whole message; aborting it lets both forget it. The sender may have kept more than it said: a
    warning.

    Bad (sending client.unsettled={b"7"=received(section-number=0 section-offset=9)}
            server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=received(section-number=0 section-offset=9) | raw 0x3132   # <- OUT-045

    Good (sending client.unsettled={b"7"=received(section-number=0 section-offset=9)}
            server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                aborted=true
    """
    found = resumed_delivery(event)
    if found is None or not found.both or found.body.aborted or outcome(found.body.state):
        return
    own, other = place(found.own), place(found.other)
    if own is not None and other is not None and beyond(own, other):
        text = f"not aborted: the sender has it from {own}, the receiver up to {other}"
        report_resumed(event, report, found, text, "transfer.aborted")


@rule("OUT-046", "3.4.6", MUST, ERROR, on="resume first")
def sender_terminal_entry_changed(event: Event, report: Reporter) -> None:
    """A sender that lists a delivery with an outcome keeps to it.

    An outcome is final; the receiver has prepared to follow it. Another one on the same tag tells
    that one of the two was a lie. Sending the message once more is only suspected to be one.

    Bad (sending client.unsettled={b"7"=released()}
            server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true state=accepted()   # <- OUT-046

    Good (sending client.unsettled={b"7"=released()}
            server.unsettled={b"7"=received(section-number=0 section-offset=4)}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                aborted=true state=released()
    """
    found = resumed_delivery(event)
    listed = "" if found is None else outcome(found.own)
    if found is None or not listed:
        return
    stated = outcome(found.body.state)
    if stated and stated != listed and stated != outcome(found.other):
        text = f"stated as {stated}, the sender's own list has it as {listed}"
        report_resumed(event, report, found, text, "transfer.state")
    elif event.payload and not found.body.aborted and not stated:
        text = f"delivery of link {found.link.label()} is sent again, though listed as {listed}"
        report.suspect(event, text, "transfer", ((found.link.mark, "the sender's list"),))


@rule("OUT-050", "3.4.6", MUST, ERROR, on="resume first")
def differing_outcome_not_restated(event: Event, report: Reporter) -> None:
    """Where both have an outcome for a delivery and they differ, the sender states its own again.

    The sender's counts, and the receiver then follows. If the sender says nothing, or takes over
    the receiver's, each side believes something else happened to the message.

    Bad (sending client.unsettled={b"7"=released()} server.unsettled={b"7"=accepted()}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true state=accepted()   # <- OUT-050

    Good (sending client.unsettled={b"7"=released()} server.unsettled={b"7"=accepted()}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                state=released()
    """
    found = resumed_delivery(event)
    if found is None:
        return
    own, other = outcome(found.own), outcome(found.other)
    if not own or not other or own == other or found.body.aborted:
        return
    state = found.body.state
    if state is None or (isinstance(state, Body) and outcome(state) == other):
        said = "no state" if state is None else other
        text = f"resumed with {said}, the sender has it as {own}, the receiver as {other}"
        report_resumed(event, report, found, text, "transfer.state")
