"""Writes `bodies.py` from the rows: `python -m dissectors.v1_0.generate`.

The classes could be made at run time, but then neither a type checker nor a compiler would know
their fields, and reading a field is what the model and the rules do all day.
"""

from __future__ import annotations

from pathlib import Path

from dissectors.v1_0.rows import Composite, Field
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, primitive

HEAD = '''"""One class per composite type.

Written by `python -m dissectors.v1_0.generate` from the rows; do not edit. The spec's names are
the attributes (`-` becomes `_`).
"""
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import ClassVar, Final, final

from dissectors.native import mypyc_attr
from dissectors.v1_0.body import NO_WRONG
from dissectors.v1_0.body import Body as Body
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE
from dissectors.v1_0.values import Map, Symbol, Timestamp, Value
'''

TAIL = '''

def body_of(code: int, values: list[Value]) -> Body:
    """The body of a row with just these fields; the rows that come most, first."""
{usual}
    return BODY_OF[code](values=values)


def restore(name: str, values: list[Value], wrong: dict[int, Value]) -> Body:
    """Make a body again from its parts (as pickle does)."""
    body = body_of(COMPOSITE[name].code, list(values))
    if wrong:
        body.wrong = wrong
    return body


BODIES: Final[dict[str, type[Body]]] = {{
{named}
}}
BODY_OF: Final[dict[int, type[Value]]] = {{
    row.code: BODIES[name] for name, row in COMPOSITE.items()
}}
'''

USUAL = ("transfer", "disposition", "flow", "properties", "header")
"""The bodies of nearly all traffic."""

PYTHON = {
    "boolean": "bool",
    "string": "str",
    "binary": "bytes",
    "symbol": "Symbol",
    "map": "Map",
    "timestamp": "Timestamp",
}

CLASS = '''

@final
@mypyc_attr({marks})
class {title}(Body):
    """The composite type `{name}`."""

    row: ClassVar[Composite] = COMPOSITE["{name}"]

    def __init__(self{arguments}, *, values: list[Value] | None = None) -> None:
        self.values = [{names}] if values is None else values
        self.wrong = NO_WRONG

    def __reduce__(self) -> tuple[Value, ...]:
        return restore, (self.row.name, self.values, self.wrong)
'''

PROPERTY = """
    @property
    def {name}(self) -> {type}:
        return self.values[{place}]
"""


def python_type(field: Field) -> str:
    """How a field is seen from Python when it is there."""
    base = primitive(field.type)
    if base == "*" or field.multiple:
        return "Value"
    if base in COMPOSITE:
        return f"{title(base)} | None"
    return f"{PYTHON.get(base, 'int')} | None"


def title(name: str) -> str:
    """The class name of a composite type."""
    return name.title().replace("-", "")


def class_source(row: Composite) -> str:
    """The source of one class."""
    names = [field.name.replace("-", "_") for field in row.fields]
    made = CLASS.format(
        marks="free_list_len=1, acyclic=True" if row.name in USUAL else "acyclic=True",
        title=title(row.name),
        name=row.name,
        arguments="".join(f", {name}: Value = None" for name in names),
        names=", ".join(names),
    )
    for place, field in enumerate(row.fields):
        made += PROPERTY.format(name=names[place], type=python_type(field), place=place)
    return made


def text() -> str:
    """The whole file."""
    usual = [
        f"    if code == 0x{COMPOSITE[name].code:02x}:\n        return {title(name)}(values=values)"
        for name in USUAL
    ]
    named = [f'    "{row.name}": {title(row.name)},' for row in COMPOSITES]
    tail = TAIL.format(usual="\n".join(usual), named="\n".join(named))
    return HEAD + "".join(map(class_source, COMPOSITES)) + tail


if __name__ == "__main__":
    Path(__file__).with_name("bodies.py").write_text(text())
