"""Frames of 1.0 that say less: without optional fields, sections of messages and their contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from amqpscope.model import event as shared
from amqpscope.model.v1_0.event import Event
from amqpscope.protocols import simpler
from amqpscope.protocols.v1_0.peers_edit import NULL, rebuild
from dissectors.v1_0.message import walk

EMPTY_MESSAGE: Final = b"\x00\x53\x75\xa0\x00"
"""One data section without octets."""


class Simplifier(simpler.Simplifier):
    """Proposes simpler frames."""

    def simpler(self, event: shared.Event) -> Iterator[bytes]:
        """The frame without all that is optional; then without one thing at a time."""
        own = cast(Event, event)
        unit, raw = own.unit, own.frame.raw
        body = unit.body
        if body is None or unit.faults or body.wrong or own.frame.missing:
            return
        optional = [
            place
            for place, field in enumerate(body.row.fields)
            if place < len(body) and body.values[place] is not None and not field.mandatory
        ]
        if len(optional) > 1:
            yield rebuild(raw, unit, dict.fromkeys(optional, NULL))
        for place in optional:
            yield rebuild(raw, unit, {place: NULL})
        yield from _payloads(raw, unit.payload)


def _payloads(raw: bytes, start: int) -> Iterator[bytes]:
    """The frame with less of a message in it."""
    payload = raw[start:]
    if len(payload) <= len(EMPTY_MESSAGE):
        return
    yield _sized(raw[:start] + EMPTY_MESSAGE)
    sections, fault = walk(payload)
    if fault is None and len(sections) > 1:
        for section in sections:
            yield _sized(raw[:start] + payload[: section.start] + payload[section.stop :])
    elif fault is not None:
        yield _sized(raw[:start] + payload[: len(payload) // 2])


def _sized(raw: bytes) -> bytes:
    return len(raw).to_bytes(4, "big") + raw[4:]
