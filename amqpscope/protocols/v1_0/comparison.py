"""How two conversations of 1.0 are compared."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.v1_0.event import Event
from amqpscope.protocols import comparison
from amqpscope.protocols.comparison import CONNECTION, Counter, Facts, Lane
from amqpscope.protocols.v1_0.json import TAGS
from dissectors.v1_0.bodies import Begin, Disposition, Transfer
from dissectors.v1_0.tables import COMPOSITES

VOLATILE: Final = frozenset((
    "begin.remote-channel", "begin.next-outgoing-id",
    "attach.handle", "attach.initial-delivery-count", "attach.unsettled",
    "flow.next-incoming-id", "flow.incoming-window", "flow.next-outgoing-id",
    "flow.outgoing-window", "flow.handle", "flow.delivery-count", "flow.available",
    "transfer.handle", "transfer.delivery-id", "transfer.delivery-tag",
    "disposition.first", "disposition.last",
    "detach.handle",
    "transfer.state.txn-id", "disposition.state.txn-id", "amqp-value.txn-id",
    "flow.properties.txn-id",
    "sasl-challenge.challenge", "sasl-response.response",
    "sasl-outcome.additional-data",
))  # fmt: skip
CONSTANT_LOGINS: Final = ("PLAIN", "ANONYMOUS", "EXTERNAL", "AMQPLAIN", "MSSBCBS")
"""Mechanisms whose response is the same in each run."""

DEFAULTS: Final = {
    row.name: {field.name: field.default for field in row.fields if field.default is not None}
    for row in COMPOSITES
}
# What the text of the specification says of fields that are left out, and its tables do not.
DEFAULTS["attach"]["max-message-size"] = 0
DEFAULTS["transfer"]["settled"] = False
SYMBOLS: Final = frozenset(("expiry-policy",))
"""Fields whose default is a symbol."""
MESSAGE_HEADER: Final = "header"
PER_LINK: Final = frozenset(("attach", "flow", "transfer", "detach"))
PER_SESSION: Final = frozenset(("begin", "end", "flow", "disposition"))


class Lanes(comparison.Lanes):
    """Finds the lane of each frame of one connection."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Counter()
        self.links = Counter()
        self.channels: dict[tuple[int, int], int] = {}
        """The partner's channel of a session, by peer and channel."""
        self.sent: dict[tuple[int, int], dict[int, int]] = {}
        """First frames by delivery-id, for each peer and channel."""

    def lane(self, event: shared.Event) -> Lane:
        """The link, session or connection that a frame belongs to, seen from its sender."""
        unit = cast(Event, event).unit
        name, body, channel = unit.name, unit.body, unit.channel
        if body is None or unit.kind == "sasl" or name not in PER_LINK | PER_SESSION:
            return Lane(CONNECTION)
        key = (event.peer, channel)
        begun = self.sessions.use(key, name == "begin", name == "end")
        handle = body.part_named("handle") if name in PER_LINK else None
        if not isinstance(handle, int):
            kind = "settlement" if name == "disposition" else "session"
            return Lane(kind, channel, begun)
        attached = self.links.use((*key, begun, handle), name == "attach", name == "detach")
        return Lane("link", channel, begun, str(handle), attached)

    def note(self, event: shared.Event, lane: Lane) -> None:
        """Remember a delivery by its id, also where the model cannot place it; and channels."""
        super().note(event, lane)
        unit, peer = cast(Event, event).unit, event.peer
        body = unit.body
        if isinstance(body, Begin):
            self.sent.pop((peer, unit.channel), None)
            if body.remote_channel is not None:
                self.channels[peer, unit.channel] = body.remote_channel
                self.channels[1 - peer, body.remote_channel] = unit.channel
        elif isinstance(body, Transfer) and body.delivery_id is not None:
            known = self.sent.setdefault((peer, unit.channel), {})
            if body.delivery_id not in known:
                known[body.delivery_id] = event.frame.number
                self.begun.setdefault(event.frame.number, lane)

    def answered_frames(self, event: shared.Event) -> list[int]:
        """The deliveries that a disposition is about: by the model, or else by their ids."""
        found = super().answered_frames(event)
        unit, peer = cast(Event, event).unit, event.peer
        body = unit.body
        if found or not isinstance(body, Disposition) or body.first is None:
            return found
        channel = unit.channel
        if body.role:
            peer, channel = 1 - peer, self.channels.get((peer, channel), channel)
        last = body.first if body.last is None else body.last
        known = self.sent.get((peer, channel), {})
        return [frame for number, frame in known.items() if body.first <= number <= last]


class Comparison(comparison.Comparison):
    """What may differ between two conversations of 1.0."""

    volatile = VOLATILE
    names = frozenset(("open.container-id",))
    chosen = frozenset(("attach.name",))
    settling = frozenset(("disposition",))
    outcome = ("disposition.state",)

    def lanes(self) -> Lanes:
        """What finds the lanes of one connection."""
        return Lanes()

    def facts(self, name: str, document: dict[str, Any]) -> Facts:
        """Fields with their defaults, then the sections of the message."""
        found: Facts = {}
        fields = document.get("fields")
        _put(found, name, fields, name, ordered=False)
        sections = document.get("sections")
        if sections is not None:
            _put_sections(found, sections)
        for part in ("malformed", "missing"):
            if part in document:
                found[f"{name}.{part}"] = document[part]
        return found

    def is_volatile(self, path: str, facts: Facts) -> bool:
        """Numbers, tags and windows; a login where its mechanism makes a new one each time."""
        if path == "sasl-init.initial-response":
            mechanism = facts.get("sasl-init.mechanism")
            word = mechanism.get("symbol") if isinstance(mechanism, dict) else mechanism
            return word not in CONSTANT_LOGINS
        return path in self.volatile

    def cadence(self, name: str, facts: Facts) -> bool:
        """Empty frames, and flows that only grant more."""
        return name == "empty" or (name == "flow" and facts.get("flow.drain") is not True)


def _put_sections(found: Facts, sections: list[dict[str, Any]]) -> None:
    """The sections of a message; one that is left out is one in which all is usual."""
    found.update({f"header.{name}": value for name, value in DEFAULTS[MESSAGE_HEADER].items()})
    counts: dict[str, int] = {}
    for section in sections:
        name = str(section.get("name", "malformed"))
        counts[name] = counts.get(name, 0) + 1
        path = name if counts[name] == 1 else f"{name}.{counts[name]}"
        _put(found, path, section.get("value", section), name, ordered=True)


def _put(found: Facts, path: str, value: Any, composite: str, *, ordered: bool) -> None:
    """Put in a value, free of how it is encoded."""
    if isinstance(value, list):
        items = value if ordered else sorted(value, key=_text)
        found[path] = items[0] if len(items) == 1 and not ordered else items
    elif not isinstance(value, dict) or _is_leaf(value):
        if value is not None:
            found[path] = value
    elif "described" in value and "value" in value:
        name = value["described"]
        found[path] = name
        if isinstance(value["value"], dict):
            _put(found, path, value["value"], str(name), ordered=ordered)
        else:
            found[f"{path}.value"] = value["value"]
    else:
        for name, default in DEFAULTS.get(composite, {}).items():
            found[f"{path}.{name}"] = {"symbol": default} if name in SYMBOLS else default
        for name, item in value.items():
            _put(found, f"{path}.{name}", item, name, ordered=ordered)


def _is_leaf(value: dict[str, Any]) -> bool:
    """Whether an object stands for one value of a type that JSON does not have."""
    return len(value) == 1 and next(iter(value)) in TAGS


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
