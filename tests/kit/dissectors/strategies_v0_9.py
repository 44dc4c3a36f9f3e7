"""Hypothesis strategies made from the rows of 0-9: values, tables, frames."""

from hypothesis import strategies as st

from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.encodings import AS_SPOKEN, AS_WRITTEN, KINDS
from dissectors.v0_9.values import (
    Byte,
    Char,
    Content,
    FieldArray,
    Float,
    Int,
    Long,
    PosixTime,
    ScaledDecimal,
    Short,
    Table,
    Ubyte,
    Uint,
    Ulong,
    Unreadable,
    Ushort,
)

INTEGERS = {
    "int8": (Byte, -(2**7), 2**7 - 1),
    "uint8": (Ubyte, 0, 2**8 - 1),
    "int16": (Short, -(2**15), 2**15 - 1),
    "uint16": (Ushort, 0, 2**16 - 1),
    "int32": (Int, -(2**31), 2**31 - 1),
    "uint32": (Uint, 0, 2**32 - 1),
    "int64": (Long, -(2**63), 2**63 - 1),
    "uint64": (Ulong, 0, 2**64 - 1),
    "timestamp": (PosixTime, 0, 2**64 - 1),
}


def integers(kind):
    made, least, most = INTEGERS[kind]
    small = st.integers(max(least, -100), min(most, 127))
    return (small | st.integers(least, most) | st.sampled_from([least, most])).map(made)


def is_text(raw):
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


unreadable = st.binary(min_size=1, max_size=9).filter(lambda raw: not is_text(raw))
short_strings = (
    st.text(max_size=12)
    | st.sampled_from(["", "q", "amq.topic", "x" * 255])
    | unreadable.map(Unreadable)
)
long_strings = st.text(max_size=12) | unreadable | st.text("é\0", min_size=200, max_size=300)
keys = st.sampled_from(["a", "x-death", "1 2", "", "b", "\n"]) | short_strings

LEAVES = {
    "void": st.none(),
    "boolean": st.booleans(),
    **{kind: integers(kind) for kind in INTEGERS},
    "float": st.floats(width=32).map(Float),
    "double": st.floats(),
    "decimal": st.builds(ScaledDecimal, st.integers(0, 255), st.integers(-(2**31), 2**31 - 1)),
    "shortstr": short_strings,
    "longstr": long_strings,
    "bytes": st.binary(max_size=12),
    "char": st.characters(max_codepoint=255).map(Char),
}


def letters(kinds):
    """Each letter of a reading with the values that it can have, tables and arrays apart."""
    return {
        octet: LEAVES[KINDS[kinds[octet]]] for octet in range(256) if KINDS[kinds[octet]] in LEAVES
    }


def typed(kinds):
    """Values with their letters."""
    leaf = st.one_of(*(st.tuples(st.just(octet), found) for octet, found in letters(kinds).items()))

    def deeper(inner):
        return st.tuples(st.just(ord("F")), table_of(inner)) | st.tuples(
            st.just(ord("A")), array_of(inner)
        )

    return st.recursive(leaf, deeper, max_leaves=6)


def table_of(items):
    pairs = st.lists(st.tuples(keys, items), max_size=5)
    return pairs.map(
        lambda found: Table(
            [(name, value) for name, (_, value) in found], bytes(mark for _, (mark, _) in found)
        )
    )


def array_of(items):
    return st.lists(items, max_size=4).map(
        lambda found: FieldArray([value for _, value in found], bytes(mark for mark, _ in found))
    )


SPOKEN = typed(AS_SPOKEN)
WRITTEN = typed(AS_WRITTEN)
TABLES = {"0-9-1": table_of(WRITTEN)}
tables = table_of(SPOKEN)

WIDTHS = {"octet": 8, "short": 16, "long": 32, "longlong": 64, "timestamp": 64}


def arguments(kind, name):
    """Values of a declared type, in a dialect."""
    if kind in WIDTHS:
        most = 2 ** WIDTHS[kind] - 1
        return st.integers(0, min(most, 300)) | st.integers(0, most) | st.just(most)
    return {
        "bit": st.booleans(),
        "shortstr": short_strings,
        "longstr": long_strings,
        "table": TABLES.get(name, tables),
        "content": st.builds(Content, st.integers(0, 255), long_strings),
    }[kind]


channels = st.integers(0, 3) | st.integers(0, 65535)


@st.composite
def methods(draw, name):
    """A method of a dialect with all its fields."""
    rows = [method for row in dialect(name).classes for method in row.methods]
    row = draw(st.sampled_from(rows))
    return row, {field.name: draw(arguments(field.type, name)) for field in row.fields}


@st.composite
def contents(draw, name):
    """A class that carries contents, and some of its properties."""
    rows = [plan.row for plan in dialect(name).contents.values()]
    row = draw(st.sampled_from(rows))
    chosen = [field for field in row.properties if draw(st.booleans())]
    return row, {field.name: draw(arguments(field.type, name)) for field in chosen}


names = st.sampled_from(NAMES)


@st.composite
def frames(draw):
    """A dialect, the size of its frames' headers, and a sound frame."""
    name = draw(names)
    spoken = dialect(name)
    head = draw(st.sampled_from(spoken.heads))
    channel = draw(channels)
    kind = draw(st.sampled_from(["method", "method", "header", "body", "heartbeat"]))
    if kind == "method":
        row, fields = draw(methods(name))
        return spoken, head, encode_method(spoken, row.name, fields, channel, head=head)
    if kind == "header":
        row, fields = draw(contents(name))
        size = draw(st.integers(0, 2**64 - 1))
        raw = encode_content_header(spoken, row.name, size, fields, channel, head=head)
        return spoken, head, raw
    if kind == "body":
        return spoken, head, encode_body(draw(st.binary(max_size=40)), channel, head=head)
    return spoken, head, encode_heartbeat(channel, head=head)


@st.composite
def damaged(draw):
    """A frame in which some octets were changed, dropped or added; or octets of any kind."""
    spoken, head, raw = draw(frames())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(raw)))
        some = draw(st.binary(max_size=2))
        raw = raw[:at] + some + raw[at + draw(st.integers(0, 2)) :]
    return spoken, head, draw(st.just(raw) | st.binary(max_size=60))
