"""Frames of 0-8, 0-9 and 0-9-1, made again or with some fields changed."""

from __future__ import annotations

from functools import partial

from amqpscope.protocols.peers import NO_FIELD, CannotApplyError, SettingReader
from dissectors.notation_scanner import NAME, Scanner
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v0_9.encode import (
    content_payload,
    encode_argument,
    encode_frame,
    encode_method,
    method_payload,
)
from dissectors.v0_9.framing import HEADER, METHOD, Unit
from dissectors.v0_9.notation_parser import read_argument
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.rows import Field
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


def read_settings(text: str, owned: tuple[Field, ...]) -> dict[str, Value]:
    """The values of a method's arguments or a content's properties."""
    fields = {field.name: field for field in owned}
    scanner = Scanner(text)
    given: dict[str, Value] = {}
    while scanner.peek():
        start = scanner.at
        name = scanner.take(NAME, "FIELD=VALUE")[0]
        if name not in fields:
            scanner.fail(f"{NO_FIELD}{name}", start)
        scanner.expect("=")
        field = fields[name]
        at = scanner.at
        value = read_argument(scanner, field)
        if field.type != "bit":
            scanner.make_octets(partial(encode_argument, value, field.type), at)
        given[name] = value
    if not given:
        scanner.fail("expected FIELD=VALUE")
    return given


def setting_readers() -> list[SettingReader]:
    """Reads settings of each method, and of each class's properties."""
    usual = dialect(DEFAULT)
    owners = [plan.row.fields for plan in usual.by_name.values()]
    owners += [row.properties for row in usual.classes]
    return [partial(read_settings, owned=fields) for fields in owners]
