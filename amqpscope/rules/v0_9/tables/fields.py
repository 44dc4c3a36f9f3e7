"""Field tables: names, letters, sizes and values (A09-TBL-01 to 10, 13, 14; 4.2.5.5)."""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.handshake import refined_by
from amqpscope.model.v0_9.odd_tables import DEEPEST, LATEST, LONGEST_NAME
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
from amqpscope.rules.v0_9.tables._field_tables import (
    EVERY_LETTER,
    OF_QPID,
    all_tables,
    defined,
    fields,
    first_fault,
    letter_text,
    usual,
)
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import CLIENT, PEERS, SERVER
from dissectors.errors import Damage
from dissectors.v0_9.values import Long, PosixTime, ScaledDecimal, Short, Unreadable

_START: Final = re.compile(r"[A-Za-z$#]")
_NAME: Final = re.compile(r"[A-Za-z0-9$#_]*")
BAD_NAMES: Final = frozenset(("A09-TBL-01", "A09-TBL-02", "A09-TBL-03"))
LARGEST_SCALE: Final = 10
VOID: Final = 0
"""A zero octet in the place of the letter V."""
BYTES: Final = ord("x")
SOMEBODYS: Final = EVERY_LETTER | frozenset(OF_QPID.encode())
"""Letters that some version or product has."""


@rule("A09-TBL-01", "4.2.5.5", MUST, INFO, on="tables", default=False)
def table_name_bad_start(event: Event, report: Reporter) -> None:
    """The name of a table's field begins with a letter, `$` or `#`.

    Nobody enforces it, and programs use what they like.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={_x=1}   # <- A09-TBL-01

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x=1}
    """
    for field in fields(event):
        if field.name and not _START.match(field.name):
            report.sure(event, f"a field is called {field.name!r}", field.path)
            return


@rule("A09-TBL-02", "4.2.5.5", MUST, INFO, on="tables", default=False)
def table_name_bad_character(event: Event, report: Reporter) -> None:
    """The names of a table's fields have letters, digits, `$`, `#` and `_` only.

    The names that brokers themselves define, such as x-match, break it.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={x-expires=60000}   # <- A09-TBL-02

    Good (channel):
        client: queue.declare[1] queue="q" arguments={expires=60000}
    """
    for field in fields(event):
        if field.name and not _NAME.fullmatch(field.name):
            report.sure(event, f"a field is called {field.name!r}", field.path)
            return


@rule("A09-TBL-03", "4.2.5.5", MUST, ERROR, on="odd-table")
def table_name_length(event: Event, report: Reporter) -> None:
    """The name of a table's field has 1 to 128 characters.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={"a"*129=1}   # <- A09-TBL-03

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x-max-length=10}
    """
    for field in fields(event):
        name = field.name
        if name is None or isinstance(name, Unreadable) or not event.trusted:
            continue
        if not name:
            report.sure(event, "a field has an empty name", field.path)
            return
        if len(name) > LONGEST_NAME:
            text = f"the name of a field has {len(name)} characters, {LONGEST_NAME} at most"
            report.sure(event, f"{text}: {name[:20]!r}...", field.path)
            return


@rule("A09-TBL-04", "4.2.5.5, 4.2.1", MUST, ERROR, on="malformed | odd-table")
def table_letter_undefined(event: Event, report: Reporter) -> None:
    """The letter before a value of a table is one that the version or the product defines.

    A receiver that does not know a letter cannot know how long the value is, nor where the next
    field begins. A zero octet is read as void by some, and is a warning.

    Bad (channel):
        client: frame-0-x type=1 channel=1
                0x0032000a000001710000000007017a5a00000001   # <- A09-TBL-04, A09-TBL-06

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x-expires=60000'l a=true b=1'b c=2.5}

    Bad (v0_9):
        client: queue.declare[1] queue="q" arguments={lazy=true}   # <- A09-TBL-04

    Good (v0_9):
        client: queue.declare[1] queue="q" arguments={size=1 nothing=null}
    """
    fault = first_fault(event)
    if fault is not None:
        if fault.kind is Damage.UNKNOWN_CODE:
            report.sure(event, fault.reason, fault.path)
        return
    if event.unit.faults or not event.trusted:
        return
    spoken = refined_by(event)
    for field in fields(event):
        letter = field.letter
        if usual(letter, spoken) or (letter in SOMEBODYS and not introduced(event)):
            continue
        text = f"{spoken.name} has no type with the letter {letter_text(letter)}"
        if letter == VOID or (letter == BYTES and defined(letter, spoken)):
            report.sure(event, text, field.path, severity=WARNING)
        elif not defined(letter, spoken):
            report.sure(event, text, field.path)
        else:
            continue
        return


def introduced(event: Event) -> bool:
    """Whether the server has said whose product it is, which decides what letters mean."""
    return event.connection.start is not None or event.name == "connection.start"


@rule("A09-TBL-05", "errata 3", IMPLIED, INFO, on="odd-table", dialects=NEW, needs="!faulty")
def table_letter_ambiguous(event: Event, report: Reporter) -> None:
    """The letters `s`, `l` and `U` mean one thing in the text of 0-9-1 and another in products.

    The text has `s` for a short string, `l` for a number without sign and `U` for one of 16 bit;
    RabbitMQ, Qpid and most clients take `s` for the latter and `l` for one with a sign.
    Reported once for each peer, where it matters: the reading here is the one that fits.

    Bad (plain):
        client: queue.declare[1] queue="q" arguments={n=-5'l}   # <- A09-TBL-05

    Good (plain):
        client: queue.declare[1] queue="q" arguments={n=5'l}
    """
    written = refined_by(event).name == "0-9-1" and introduced(event)
    for field in fields(event):
        letter, value = chr(field.letter), field.value
        if letter == "s":
            odd = written or isinstance(value, str)
            what = "a short string" if isinstance(value, str) else "a number of 16 bit"
        elif letter == "l":
            odd = written and isinstance(value, int) and not 0 <= value < 1 << 63
            what = "a number with a sign" if isinstance(value, Long) else "a number without a sign"
        else:
            odd = written and letter == "U" and isinstance(value, Short)
            what = "a number of 16 bit, which products write with the letter 's'"
        if odd and report.once(event.own):
            text = f"the letter {letter!r} is read as {what} here; others read it differently"
            report.sure(event, text, field.path)
            return


@rule("A09-TBL-06", "parser", IMPLIED, WARNING, on="malformed | odd-table", needs="client")
def table_letter_fatal_to_server(event: Event, report: Reporter) -> None:
    """A client sends RabbitMQ no table with letters that end the connection.

    Its parser has no clause for `U`, though the text of 0-9-1 defines it, nor for letters that
    nobody defines: the connection ends, mostly without an answer.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={n=5'U}   # <- A09-TBL-06

    Good (channel):
        client: queue.declare[1] queue="q" arguments={n=5's}
    """
    if event.partner.product != "RabbitMQ":
        return
    fault = first_fault(event)
    if fault is not None and fault.kind is Damage.UNKNOWN_CODE:
        report.sure(event, f"{fault.reason}: RabbitMQ cannot read it and closes", fault.path)
        return
    if event.unit.faults:
        return
    for field in fields(event):
        if field.letter == ord("U") or not defined(field.letter, event.connection.dialect):
            text = f"RabbitMQ cannot read a field of type {letter_text(field.letter)} and closes"
            report.sure(event, text, field.path)
            return


@rule("A09-TBL-07", "4.2.5.5", MUST, ERROR, on="malformed")
def table_length_wrong(event: Event, report: Reporter) -> None:
    """The length of a table is that of its fields, which stay within it.

    Bad (channel):
        client: frame-0-x type=1 channel=1
                0x0032000a0000017100000000080178490000000a   # <- A09-TBL-07

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x=10}
    """
    fault = first_fault(event)
    if fault is not None and fault.kind is Damage.TRUNCATED:
        report.sure(event, f"a table's length is wrong: {fault.reason}", fault.path)


@rule("A09-TBL-08", "4.2.5.5", MUST, WARNING, on="odd-table")
def table_name_repeated(event: Event, report: Reporter) -> None:
    """A table has each name once.

    In 0-9-1 it is forbidden; RabbitMQ keeps both, clients mostly the last. In the versions before
    the first one counts, and it is only a note.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={x=1 x=2}   # <- A09-TBL-08

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x=1 y={x=2}}
    """
    severity = WARNING if event.connection.dialect.name.startswith("0-9-1") else INFO
    for path, table in all_tables(event):
        seen: set[str] = set()
        for name, _ in table:
            if name in seen:
                report.sure(event, f"the table has {name!r} more than once", f"{path}.{name}",
                            severity=severity)  # fmt: skip
                return
            seen.add(name)


@rule("A09-TBL-09", "4.2.5.5", IMPLIED, INFO, on="odd-table")
def decimal_implausible(event: Event, report: Reporter) -> None:
    """A decimal has no more decimal places than its value can have digits.

    Its value has 32 bit, so ten at most.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={x=5e-200'D}   # <- A09-TBL-09

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x=150e-2'D}
    """
    for field in fields(event):
        if isinstance(field.value, ScaledDecimal) and field.value.scale > LARGEST_SCALE:
            text = f"a decimal with {field.value.scale} decimal places"
            report.suspect(event, text, field.path)
            return


@rule("A09-TBL-10", "4.2.5.4", IMPLIED, INFO, on="odd-table | odd-header", needs="!faulty")
def table_timestamp_not_seconds(event: Event, report: Reporter) -> None:
    """A timestamp counts seconds.

    Milliseconds are a common mistake: read as they are, they mean a year far ahead. Reported once
    for each peer, of the property `timestamp` as well.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
                timestamp=1700000000000   # <- A09-TBL-10

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0 timestamp=1700000000
    """
    times: list[tuple[str, int]] = [
        (field.path, field.value) for field in fields(event) if isinstance(field.value, PosixTime)
    ]
    header = event.unit.content
    stamp = None if header is None else header.get("timestamp")
    if isinstance(stamp, int):
        times.append(("content-header.timestamp", stamp))
    for path, value in times:
        if value > LATEST and report.once(event.own):
            report.suspect(event, f"a timestamp of {value} seconds; were milliseconds meant?", path)
            return


@rule("A09-TBL-13", "2.3.2", ADVISORY, INFO, on="malformed | odd-table")
def table_too_deep(event: Event, report: Reporter) -> None:
    """Tables are within each other a few levels, not dozens.

    Each level costs the reader stack for a few octets of the sender.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={a=[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]
                ]]]]]]]]]]]]]]]]]]]]]]]]}   # <- A09-TBL-13

    Good (channel):
        client: queue.declare[1] queue="q" arguments={a=[[[1]]]}
    """
    for fault in event.unit.faults:
        if fault.kind is Damage.LIMIT and event.trusted:
            report.sure(event, fault.reason, fault.path)
            return
    deepest = max((field.depth for field in fields(event)), default=0)
    if deepest > DEEPEST:
        report.sure(event, f"tables or arrays are nested {deepest} deep", event.name)


@rule(
    "A09-TBL-14",
    "4.2.5.5 table_01",
    SHOULD,
    INFO,
    on="frame tick | answers",
    default=False,
    needs="server",
)
def bad_table_name_tolerated(event: Event, report: Reporter) -> None:
    """A server closes the connection of a client whose tables have bad names.

    No server that we know does.

    Bad (channel):
        client: queue.declare[1] queue="q" arguments={_x=1}
        @3s server: queue.declare-ok[1] queue="q"   # <- A09-TBL-14

    Good (channel):
        client: queue.declare[1] queue="q" arguments={x=1}
        @3s server: queue.declare-ok[1] queue="q"
    """
    if event.name == "connection.close":
        return
    for fault in event.connection.faults:
        bad = fault.rule in BAD_NAMES and fault.peer == CLIENT and event.knew(fault.mark)
        if bad and event.since(fault.mark) > GRACE and report.once(event.own):
            text = f"the {PEERS[SERVER]} accepts a table with a bad field name"
            report.suspect(event, text, "", ((fault.mark, "the table"),))
            return
