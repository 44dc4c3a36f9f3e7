"""Frames of 0-8, 0-9 and 0-9-1, made anew or with some fields changed."""

from __future__ import annotations

from amqpscope.proxy.faults.errors import CannotApplyError
from dissectors.v0_9.encode import content_payload, encode_frame, encode_method, method_payload
from dissectors.v0_9.framing import HEADER, METHOD, Unit
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.values import Value


def rebuild(unit: Unit, changes: dict[str, Value]) -> bytes:
    """A method or content header with other values in some fields."""
    method, content = unit.method, unit.content
    try:
        if method is not None and not method.raw and unit.envelope is None:
            values = dict(zip(method.plan.names, method.values, strict=True)) | changes
            payload = method_payload(method.plan.row, values)
            return encode_frame(METHOD, unit.channel, payload, head=unit.head)
        if content is not None and content.plan is not None:
            named = zip(content.plan.names, content.values, strict=False)
            values = dict(named) | changes
            row = content.plan.row
            payload = content_payload(row, content.body_size, values, content.weight)
            return encode_frame(HEADER, unit.channel, payload, head=unit.head)
    except (ValueError, OverflowError, TypeError, KeyError) as error:
        raise CannotApplyError(f"the value does not fit: {error}") from error
    raise CannotApplyError("this frame has no fields that could be changed")


def make_method(dialect: Dialect, name: str, channel: int, **fields: Value) -> bytes:
    """A method; `-` of a field's name is `_`."""
    if name not in dialect.by_name:
        raise CannotApplyError(f"{dialect.name} has no {name}")
    known = dialect.by_name[name].names
    values = {key.replace("_", "-"): value for key, value in fields.items()}
    given = {key: value for key, value in values.items() if key in known}
    return encode_method(dialect, name, given, channel, head=dialect.heads[0])


def with_channel(raw: bytes, channel: int) -> bytes:
    """A frame on another channel."""
    return raw[:1] + channel.to_bytes(2, "big") + raw[3:]
