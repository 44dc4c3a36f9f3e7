"""Hypothesis strategies from the rows of 1.0: values, bodies, frames, octets good and bad."""

from hypothesis import strategies as st

from dissectors.v1_0.bodies import BODIES
from dissectors.v1_0.decimals import FORMATS
from dissectors.v1_0.encode import Spelled, encode, encode_frame
from dissectors.v1_0.encodings import BY_CODE, CODES, ENCODINGS, TYPES
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, SECTIONS, primitive
from dissectors.v1_0.values import (
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Uuid,
)

INTEGERS = {
    "ubyte": (Ubyte, 0, 2**8 - 1),
    "ushort": (Ushort, 0, 2**16 - 1),
    "uint": (Uint, 0, 2**32 - 1),
    "ulong": (Ulong, 0, 2**64 - 1),
    "byte": (Byte, -(2**7), 2**7 - 1),
    "short": (Short, -(2**15), 2**15 - 1),
    "int": (Int, -(2**31), 2**31 - 1),
    "long": (Long, -(2**63), 2**63 - 1),
    "timestamp": (Timestamp, -(2**63), 2**63 - 1),
}
SMALL = {0x52: (0, 255), 0x53: (0, 255), 0x54: (-128, 127), 0x55: (-128, 127)}
ONLY = {0x40: None, 0x41: True, 0x42: False, 0x43: Uint(0), 0x44: Ulong(0), 0x45: []}


def integers(kind):
    made, least, most = INTEGERS[kind]
    small = st.integers(max(least, -200), min(most, 300))
    return (small | st.integers(least, most) | st.sampled_from([least, most])).map(made)


def decimals(kind):
    form = FORMATS[kind]
    sign = st.integers(0, 1)
    emax = (3 << (form.octets * 8 - 1 - form.trailing - 2)) - 1
    digits = st.integers(0, 10**form.digits - 1) | st.integers(0, 99)
    payload = st.integers(0, 10 ** (form.digits - 1) - 1)
    numbers = st.tuples(sign, digits, st.integers(-form.bias, emax - form.bias))
    special = st.tuples(sign, payload, st.sampled_from("nN")) | st.tuples(
        sign, st.just(0), st.just("F")
    )
    return (numbers | special).map(lambda t: form.made((t[0], tuple(map(int, str(t[1]))), t[2])))


symbols = st.text(st.characters(max_codepoint=127), max_size=12).map(Symbol) | st.sampled_from(
    [Symbol("queue"), Symbol("amqp:not-found"), Symbol("x-opt-to")]
)
binaries = st.binary(max_size=12) | st.binary(min_size=250, max_size=260)
strings = st.text(max_size=12) | st.text("aé\U0001f600", min_size=120, max_size=130)

LEAVES = {
    "null": st.none(),
    "boolean": st.booleans(),
    **{kind: integers(kind) for kind in INTEGERS},
    **{kind: decimals(kind) for kind in FORMATS},
    "float": st.floats(width=32).map(Float),
    "double": st.floats(),
    "char": st.characters(exclude_categories=["Cs"]).map(Char),
    "uuid": st.binary(min_size=16, max_size=16).map(Uuid),
    "binary": binaries,
    "string": strings,
    "symbol": symbols,
}
leaves = st.one_of(*LEAVES.values())


def known(descriptor):
    if isinstance(descriptor, Symbol):
        return any(descriptor == row.symbol for row in COMPOSITES)
    return isinstance(descriptor, Ulong) and any(descriptor == row.code for row in COMPOSITES)


descriptors = (symbols | LEAVES["ulong"] | LEAVES["string"]).filter(lambda d: not known(d))


def elements(code):
    """What an array of this format code can hold."""
    kind = BY_CODE[code].type
    if code in ONLY:
        return st.just(ONLY[code])
    if code in SMALL:
        least, most = SMALL[code]
        return st.integers(least, most).map(INTEGERS[kind][0])
    if kind in LEAVES:
        short = BY_CODE[code].sized and BY_CODE[code].width == 1
        strategy = LEAVES[kind]
        return strategy.filter(lambda v: len(encode(v)) < 250) if short else strategy
    few = {
        "list": st.lists(leaves_short, max_size=3),
        "map": st.lists(st.tuples(leaves_short, leaves_short), max_size=2).map(Map),
        "array": st.lists(LEAVES["ushort"], max_size=3).map(lambda items: Array(0x60, items)),
    }
    return few[kind]


leaves_short = leaves.filter(lambda v: len(encode(v)) < 40)


@st.composite
def arrays(draw):
    code = draw(st.sampled_from([row.code for row in ENCODINGS]))
    items = draw(st.lists(elements(code), max_size=4))
    described = draw(st.lists(descriptors, max_size=2))
    return Array(code, items, tuple(described))


def containers(inner):
    pairs = st.lists(st.tuples(inner, inner), max_size=4)
    return (
        st.lists(inner, max_size=5)
        | pairs.map(Map)
        | pairs.map(lambda some: Map([*some, *some]))
        | st.builds(Described, descriptors | st.builds(Described, descriptors, inner), inner)
    )


values = st.recursive(leaves | arrays(), containers, max_leaves=12)


def field_values(field):
    """What a field may hold, as decoding gives it."""
    base = primitive(field.type)
    if base in COMPOSITE:
        return bodies(base)
    if base == "*":
        return values
    if base in INTEGERS and base != "timestamp":
        return integers(base).map(int)
    if base == "map":
        return st.lists(st.tuples(symbols, values), max_size=3).map(Map)
    one = LEAVES[base]
    if not field.multiple:
        return one
    codes = st.sampled_from([row.code for row in CODES[base]])
    return one | codes.flatmap(
        lambda c: st.lists(elements(c), max_size=3).map(lambda i: Array(c, i))
    )


def bodies(name):
    """Bodies of a composite type."""
    row = COMPOSITE[name]
    fields = (st.none() | field_values(field) for field in row.fields)
    return st.tuples(*fields).map(lambda parts: BODIES[name](*parts))


any_body = st.sampled_from(sorted(COMPOSITE)).flatmap(bodies)


@st.composite
def spelled(draw):
    """A body in any legal spelling."""
    body = draw(any_body)
    row = body.row
    descriptor = draw(st.sampled_from(["small", "wide", "sym"]))
    name = Symbol(row.symbol) if descriptor == "sym" else Ulong(row.code)
    return Spelled(body, name, 0xD0) if descriptor != "small" else body


@st.composite
def frames(draw):
    """Sound frames of all kinds."""
    body = draw(st.none() | spelled())
    payload = draw(st.just(b"") | st.binary(max_size=20) | messages())
    extended = draw(st.sampled_from([b"", b"", bytes(4), b"extended"]))
    channel = draw(st.sampled_from([0, 1, 65535]))
    return encode_frame(body, channel, b"" if body is None else payload, extended=extended)


@st.composite
def messages(draw):
    """Sections in any order and number."""
    parts = []
    for code in draw(st.lists(st.sampled_from(sorted(SECTIONS)), max_size=4)):
        name = SECTIONS[code]
        if name in COMPOSITE:
            parts.append(encode(draw(bodies(name))))
        else:
            kind = {"data": "binary"}.get(name)
            value = draw(LEAVES[kind] if kind else values)
            parts.append(b"\x00\x53" + bytes((code,)) + encode(value))
    return b"".join(parts)


def wire_leaves():
    """Octets of values without others in them, in each encoding, rightly and wrongly filled."""

    def fill(row):
        if not row.sized:
            content = st.binary(min_size=row.width, max_size=row.width)
        else:
            content = st.binary(max_size=9).map(lambda b: len(b).to_bytes(row.width, "big") + b)
        return content.map(lambda octets: bytes((row.code,)) + octets)

    rows = [row for row in ENCODINGS if row.type not in {"list", "map", "array"}]
    return st.sampled_from(rows).flatmap(fill)


def wire_compounds(inner):
    def compound(parts):
        code, items, lie = parts
        code |= 0x10 if len(b"".join(items)) > 250 else 0
        width = BY_CODE[code].width
        inside = (len(items) + lie[0]).to_bytes(width, "big") + b"".join(items)
        return bytes((code,)) + (len(inside) + lie[1]).to_bytes(width, "big") + inside

    codes = st.sampled_from([0xC0, 0xD0, 0xC1, 0xD1])
    lies = st.sampled_from([(0, 0)] * 8 + [(1, 0), (0, 1), (0, 3)])
    compounds = st.tuples(codes, st.lists(inner, max_size=4), lies).map(compound)
    return compounds | st.tuples(inner, inner).map(lambda pair: b"\0" + pair[0] + pair[1])


wire_values = st.recursive(wire_leaves() | arrays().map(encode), wire_compounds, max_leaves=10)
"""Octets of values in every encoding, canonical or not, some with a wrong size or count."""


@st.composite
def wire_bodies(draw):
    """Octets of composites whose fields are anything."""
    row = draw(st.sampled_from(COMPOSITES))
    head = draw(
        st.sampled_from(
            [
                bytes((0, 0x53, row.code)),
                b"\0\x80" + row.code.to_bytes(8, "big"),
                b"\0" + encode(Symbol(row.symbol)),
                b"\0\xb3" + len(row.symbol).to_bytes(4, "big") + row.symbol.encode(),
            ]
        )
    )
    items = draw(st.lists(wire_values | st.just(b"\x40"), max_size=len(row.fields) + 2))
    inside = len(items).to_bytes(4, "big") + b"".join(items)
    return head + b"\xd0" + len(inside).to_bytes(4, "big") + inside


@st.composite
def wire_frames(draw):
    """Frames around such octets, with header fields as they come."""
    body = draw(wire_bodies() | wire_values | st.binary(max_size=30))
    rest = draw(st.binary(max_size=8) | messages())
    doff = draw(st.sampled_from([2] * 8 + [0, 1, 3, 9, 255]))
    kind = draw(st.sampled_from([0] * 6 + [1, 1, 2, 255]))
    size = 8 + len(body) + len(rest)
    return size.to_bytes(4, "big") + bytes((doff, kind)) + b"\0\5" + body + rest


@st.composite
def mutated(draw):
    """A sound frame with some octets changed, its size still right."""
    raw = bytearray(draw(frames()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(4, len(raw) - 1))
        raw[at] = draw(st.integers(0, 255))
    return bytes(raw)


any_units = frames() | wire_frames() | mutated() | st.binary(max_size=40)
assert set(LEAVES) | {"list", "map", "array"} == set(TYPES)
