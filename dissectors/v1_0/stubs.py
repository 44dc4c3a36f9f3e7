"""Writes `bodies.pyi` from the rows, so that type checkers know every field."""

from __future__ import annotations

from pathlib import Path

from dissectors.rows import Composite, Field
from dissectors.v1_0.types import COMPOSITE, COMPOSITES, primitive

HEAD = '''"""Written by `python -m dissectors.v1_0.stubs` from the rows; do not edit."""

from collections.abc import Mapping
from typing import ClassVar

from dissectors.rows import Composite
from dissectors.v1_0.values import Map, Symbol, Timestamp, Value

class Body(tuple[Value, ...]):
    type: ClassVar[str]
    row: ClassVar[Composite]
    wrong: Mapping[int, Value]
    def wire(self, position: int) -> Value: ...

def restore(name: str, values: tuple[Value, ...], wrong: dict[int, Value]) -> Body: ...

BODIES: dict[str, type[Body]]
'''

PYTHON = {
    "boolean": "bool",
    "string": "str",
    "binary": "bytes",
    "symbol": "Symbol",
    "map": "Map",
    "timestamp": "Timestamp",
}


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


def stub(row: Composite) -> str:
    """One class."""
    fields = [(field.name.replace("-", "_"), python_type(field)) for field in row.fields]
    lines = [f"\nclass {title(row.name)}(Body):"]
    lines += [f"    {name}: {kind}" for name, kind in fields]
    arguments = "".join(f", {name}: Value = None" for name, _ in fields)
    lines.append(f"    def __new__(cls{arguments}) -> {title(row.name)}: ...")
    return "\n".join(lines) + "\n"


def text() -> str:
    """The whole file."""
    return HEAD + "".join(map(stub, COMPOSITES))


if __name__ == "__main__":
    Path(__file__).with_name("bodies.pyi").write_text(text())
