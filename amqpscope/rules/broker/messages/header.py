"""What a broker does with header and annotations (BRK-104 to 109; spec 3.2.1 to 3.2.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import DEFAULT_PRIORITY, Content
from amqpscope.model.broker.moment import Moment, is_direct, residence, was_forwarded
from amqpscope.rules.broker import IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule

ALIKE: Final = 3
"""Messages that lost an annotation: one may have been changed on purpose, several are not."""
MILLISECOND: Final = 1_000_000
OWN_KEYS: Final = ("x-opt-qd.", "x-opt-amq-", "x-opt-jms-", "x-opt-rabbitmq-")
"""Annotations that brokers and routers make, read and take off themselves."""
MEANT: Final = frozenset((
    "x-opt-delivery-time", "x-opt-delivery-delay", "x-opt-partition-key", "x-opt-via-partition-key",
    "x-opt-scheduled-enqueue-time", "x-opt-routing-type", "x-opt-ingress-time",
    "x-opt-enqueued-time", "x-opt-enqueue-sequence-number", "x-opt-sequence-number",
    "x-opt-locked-until", "x-opt-lock-token", "x-opt-message-state", "x-opt-publisher",
    "x-opt-partition-id", "x-opt-dest", "x-opt-cc", "x-opt-bcc", "CC", "BCC",
))  # fmt: skip
"""Annotations that tell a broker what to do and need not go further, or that it sets itself."""


def both_contents(moment: Moment) -> tuple[Content, Content] | None:
    """What publish and delivery say, where they can be compared."""
    publish = moment.publish
    if publish is None or was_forwarded(moment.leg.envelope):
        return None
    return publish.envelope.open(), moment.leg.envelope.open()


def is_modified(moment: Moment) -> bool:
    """A consumer has changed the annotations of the message on purpose, or may have."""
    return any(leg.verdict.annotations for leg in moment.journey.deliveries)


@rule("BRK-104", "3.2.3", MUST, WARNING, on="matched reheaded")
def message_annotation_lost(moment: Moment, report: Reporter) -> None:
    """A broker hands on message annotations that it does not know.

    Annotations that are for brokers are not meant, and added ones are fine. One message may have
    been changed on purpose; that three have lost the same is certain where all connections are in
    view. The headers of 0-9 are meant too, but for those that begin with `x-`.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | message-annotations({:x-opt-a=1}) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-104

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | message-annotations({:x-opt-a=1}) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | message-annotations({:x-opt-a=1 :x-opt-b=2}) properties(message-id="m1")
                    data(b"x")
    """
    both = both_contents(moment)
    if both is None or is_modified(moment):
        return
    theirs, ours = both[0].annotations, both[1].annotations
    counted = moment.leg.envelope.has_header
    what, where = (
        ("message annotation", "message-annotations") if counted else ("header", "headers")
    )
    for key, value in theirs.items():
        if not is_plain(key, counted) or (key in ours and ours[key] == value):
            continue
        change = "changed" if key in ours else "dropped"
        lost = moment.broker.keys.get(f"annotations {change}")
        several = counted and lost is not None and lost[key] >= ALIKE
        text = f"{what} {key} is {change} by the broker"
        if several and lost is not None:
            text += f", as of {lost[key]} messages"
        report.find(moment, text, f"{where}.{key}", sure=several, once=True)
        return


def is_plain(key: str, annotation: bool) -> bool:
    """Whether an annotation, or a header of 0-9, is the publisher's own."""
    if key in MEANT:
        return False
    if not annotation:
        return not key.startswith("x-")
    return key.startswith("x-opt-") and not key.startswith(OWN_KEYS)


@rule("BRK-105", "3.2.2", IMPLIED, INFO, on="matched hinted")
def delivery_annotation_passed_on(moment: Moment, report: Reporter) -> None:
    """Delivery annotations are for the next hop alone.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | delivery-annotations({:x-opt-a=1}) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | delivery-annotations({:x-opt-a=1}) properties(message-id="m1")
                    data(b"x")   # <- BRK-105

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | delivery-annotations({:x-opt-a=1}) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    both = both_contents(moment)
    if both is None:
        return
    theirs = both[0].delivery_annotations
    for key, value in both[1].delivery_annotations.items():
        if key in theirs and theirs[key] == value:
            text = f"delivery annotation {key} of the publisher is passed on to the consumer"
            report.find(moment, text, f"delivery-annotations.{key}", once=True)
            return


@rule("BRK-106", "3.2.1", IMPLIED, INFO, on="matched reheaded")
def durable_flag_changed(moment: Moment, report: Reporter) -> None:
    """A durable message stays durable, and one that is not does not become so.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(durable=true) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(durable=false) properties(message-id="m1") data(b"x")   # <- BRK-106

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(durable=true) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(durable=true delivery-count=0) properties(message-id="m1") data(b"x")
    """
    both = both_contents(moment)
    if both is None or bool(both[0].durable) == bool(both[1].durable):
        return
    before, after = ("durable", "not durable") if both[0].durable else ("not durable", "durable")
    text = f"published as {before}, delivered as {after}"
    report.find(moment, text, "header.durable", once=True)


@rule("BRK-107", "3.2.1", IMPLIED, INFO, on="matched reheaded")
def priority_changed(moment: Moment, report: Reporter) -> None:
    """A message keeps its priority; without one it has 4.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=7) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-107

    Good (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=4) properties(message-id="m1") data(b"x")
    """
    both = both_contents(moment)
    if both is None:
        return
    before, after = both[0].priority, both[1].priority
    before = DEFAULT_PRIORITY if before is None else before
    after = DEFAULT_PRIORITY if after is None else after
    if before != after:
        text = f"published with priority {before}, delivered with priority {after}"
        report.find(moment, text, "header.priority", once=True)


@rule("BRK-108", "3.2.1 ttl", SHOULD, WARNING, on="matched aged | matched reheaded")
def ttl_not_reduced(moment: Moment, report: Reporter) -> None:
    """The ttl of a delivered message is what is left of it.

    How long a message was at the broker is proved by two frames: the answer to its publish, by
    which it had arrived, and the consumer's flow, before which it could not be sent.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=60000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @10s C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                       target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=60000) properties(message-id="m1") data(b"x")   # <- BRK-108

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=60000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @10s C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                       target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=50000) properties(message-id="m1") data(b"x")
    """
    publish, both = moment.publish, both_contents(moment)
    if publish is None or both is None or not publish.envelope.has_header or not is_direct(moment):
        return
    before, after = both[0].ttl, both[1].ttl
    if before is not None and after is None:
        text = f"published with a ttl of {before} ms, delivered without one"
        report.find(moment, text, "header.ttl", sure=True, once=True)
    least = residence(publish, moment.leg)
    if before is None or after is None or after > before or least < 2 * MILLISECOND:
        return
    if least > before * MILLISECOND:
        return  # BRK-110
    if after * MILLISECOND > before * MILLISECOND - least + MILLISECOND:
        waited = least // MILLISECOND
        text = f"ttl is {after} ms of {before} ms, after {waited} ms or more at the broker"
        report.find(moment, text, "header.ttl", sure=True, once=True)


@rule("BRK-109", "3.2.1 ttl", IMPLIED, WARNING, on="matched reheaded")
def ttl_grown(moment: Moment, report: Reporter) -> None:
    """The ttl of a message never grows.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=1000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=60000) properties(message-id="m1") data(b"x")   # <- BRK-109

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=1000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=999) properties(message-id="m1") data(b"x")
    """
    both = both_contents(moment)
    if both is None or not is_direct(moment):
        return
    before, after = both[0].ttl, both[1].ttl
    if before is not None and after is not None and after > before:
        text = f"ttl grew from {before} ms to {after} ms"
        report.find(moment, text, "header.ttl", once=True)
