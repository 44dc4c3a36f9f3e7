"""One class per composite type, made from the rows.

A body is a tuple of its fields as they were on the wire, absent ones None, with the spec's names
as attributes (`-` becomes `_`). A value of another type than its field declares is kept in
`wrong`, by position; the field itself then holds None, or the number if it was a number of
another width, so that whoever reads a field gets the declared Python type or None.
List elements past the last field of the row stay at the end of the tuple.

`bodies.pyi` says the same to type checkers; `python -m dissectors.v1_0.stubs` writes it.
"""

from __future__ import annotations

from collections import namedtuple
from types import MappingProxyType

from dissectors.v1_0.types import COMPOSITES
from dissectors.v1_0.values import same


class Body(tuple):
    """What all composite values share."""

    type = "composite"
    wrong = MappingProxyType({})

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and same(tuple(self), tuple(other))
            and same(list(self.wrong.items()), list(other.wrong.items()))
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self).__name__, len(self)))

    def __repr__(self):
        named = zip(self.row.fields, self, strict=False)
        said = (f"{field.name.replace('-', '_')}={v!r}" for field, v in named if v is not None)
        return f"{type(self).__name__}({', '.join(said)})"

    def __reduce__(self):
        return restore, (self.row.name, tuple(self), dict(self.wrong))

    def wire(self, position):
        """The value at a position as it was on the wire, of whatever type."""
        return self.wrong.get(position, self[position])


def restore(name, values, wrong):
    """Make a body again from its parts (as pickle does)."""
    body = tuple.__new__(BODIES[name], values)
    if wrong:
        body.wrong = wrong
    return body


def _class(row):
    names = [field.name.replace("-", "_") for field in row.fields]
    template = namedtuple("template", names, defaults=[None] * len(names))
    members = {name: getattr(template, name) for name in names}
    members |= {"row": row, "__new__": template.__new__, "__module__": __name__}
    members["__doc__"] = f"The composite type `{row.name}`."
    return type(row.name.title().replace("-", ""), (Body,), members)


BODIES = {row.name: _class(row) for row in COMPOSITES}
globals().update((made.__name__, made) for made in BODIES.values())
