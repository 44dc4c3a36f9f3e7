"""A dialect's rows as the reader needs them: by number, each list of types a string of octets."""

from __future__ import annotations

from typing import Final

from dissectors.v0_9.rows import TYPES, ClassRow, Constant, Field, MethodRow

NUMBER: Final = {name: number for number, name in enumerate(TYPES)}


def numbers(fields: tuple[Field, ...]) -> bytes:
    """The wire types of fields, one octet each."""
    return bytes([NUMBER[field.type] for field in fields])


class Plan:
    """A method as the codec needs it."""

    def __init__(self, row: MethodRow) -> None:
        # Attributes of a row are looked up by name; those of this class are not.
        self.row = row
        self.name = row.name
        self.class_name = row.class_name
        self.class_id = row.class_id
        self.method = row.method
        self.code = row.code
        self.replies = row.replies
        self.content = row.content
        self.certain = row.certain
        self.types = numbers(row.fields)
        self.names = [field.name for field in row.fields]
        self.place = {name: place for place, name in enumerate(self.names)}
        """The position of each field."""
        self.other: Plan | None = None
        """Another dialect's fields under the same numbers: read so where these do not fit."""


class ContentPlan:
    """The content properties of a class."""

    def __init__(self, row: ClassRow) -> None:
        self.row = row
        self.name = row.name
        self.types = numbers(row.properties)
        self.names = [field.name for field in row.properties]
        self.place = {name: place for place, name in enumerate(self.names)}


class Dialect:
    """One version of the protocol as one family of products implements it."""

    def __init__(self, name: str, protocol: str, classes: tuple[ClassRow, ...]) -> None:
        self.name = name
        """`0-9-1-rabbit`."""
        self.protocol = protocol
        """What users call it: `amqp-0-9-1`."""
        self.classes = classes
        self.heads: tuple[int, ...] = (7,)
        """How long a frame's header may be, the likeliest first."""
        self.frame_types: dict[int, str] = {}
        self.letters = ""
        """The letters of field tables that this dialect defines."""
        self.kinds = b""
        """What each octet means as a letter, defined or not (`encodings`)."""
        self.other_kinds = b""
        """Another reading of the letters, where the first does not fit; or nothing."""
        self.constants: tuple[Constant, ...] = ()
        self.methods: dict[int, Plan] = {}
        self.by_name: dict[str, Plan] = {}
        self.contents: dict[int, ContentPlan] = {}
        self.class_names: dict[int, str] = {}
        for row in classes:
            self.class_names[row.id] = row.name
            if row.properties or any(method.content for method in row.methods):
                self.contents[row.id] = ContentPlan(row)
            for method in row.methods:
                self.add(Plan(method))

    def add(self, plan: Plan) -> None:
        """Take a method, unless its number or name has one already."""
        self.methods.setdefault(plan.code, plan)
        self.by_name.setdefault(plan.name, plan)
        self.class_names.setdefault(plan.row.class_id, plan.row.class_name)

    def constant(self, value: int) -> Constant | None:
        """What a reply code is called."""
        for row in self.constants:
            if row.value == value:
                return row
        return None
