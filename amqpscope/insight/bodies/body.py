"""One body: opened (what encoded it undone), recognised, and read into lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from amqpscope.insight.bodies.encodings import GZIP, undo_encodings
from amqpscope.insight.bodies.images import image_format, image_words
from amqpscope.insight.bodies.kinds import IMAGE, JSON, OCTETS, TEXT, XML, Kind, named_kind
from amqpscope.insight.bodies.readers import READERS, NotThis, decode_text
from amqpscope.protocols.voice import BodyPart
from amqpscope.protocols.words import size
from dissectors.masking import masked_octets

SHOWN: Final = 256 * 1024
"""Octets of a body that are read for lines."""
LINES: Final = 2000


class OpenedBody(NamedTuple):
    """The octets of a body as its sender had them."""

    octets: bytes
    undone: tuple[str, ...]
    """The encodings that were undone."""
    problem: str
    """Why one was not undone, or not to its end."""
    cut: bool
    """There are more octets."""
    masked: bool
    """Secrets in them are covered."""


class Body(NamedTuple):
    """A body for people."""

    kind: str
    """What it was taken for: `JSON`, `text`, `PNG image, 12 x 12 pixels`."""
    note: str
    """What else is to be known: what was undone, what is not as it should be; or nothing."""
    lines: list[str]

    @property
    def title(self) -> str:
        """Kind and note."""
        return f"{self.kind}{self.note}"


def open_body(part: BodyPart, *, show_secrets: bool = False, most: int = SHOWN) -> OpenedBody:
    """Undo what encoded a body, up to so many octets, and cover its secrets."""
    plain = undo_encodings(part.octets, part.content_encoding, most)
    if not plain.undone and plain.octets.startswith(GZIP):
        plain = undo_encodings(part.octets, "gzip", most)
    octets = plain.octets if show_secrets else masked_octets(plain.octets)
    return OpenedBody(octets, plain.undone, plain.problem, plain.cut, octets != plain.octets)


def read_body(part: BodyPart, *, show_secrets: bool = False) -> Body:
    """A body in lines."""
    opened = open_body(part, show_secrets=show_secrets)
    kind, words, lines, problem = read_octets(opened, part)
    notes = [f"{name} decompressed" for name in opened.undone]
    notes += [opened.problem] if opened.problem else []
    notes += [problem] if problem else []
    if opened.cut:
        notes.append(f"the first {len(opened.octets):,} octets")
    found = [*islice(lines, LINES)]
    more = sum(1 for _ in lines)
    if more:
        found.append(f"... {more:,} more lines")
    if kind is OCTETS or kind is IMAGE:
        words += f", {size(len(opened.octets))}"
    return Body(words, "".join(f", {note}" for note in notes), found)


def read_octets(opened: OpenedBody, part: BodyPart) -> tuple[Kind, str, Iterator[str], str]:
    """What octets are, in words and in lines, and why they are not what they are said to be."""
    data, problem = opened.octets, ""
    kind = kind_of(data, part)
    while kind is not OCTETS:
        try:
            lines = READERS[kind](data, part.content_type, opened.cut)
        except NotThis as error:
            problem = problem or f"not {kind.name}: {error}"
            kind = TEXT if kind in (JSON, XML) else OCTETS
            continue
        found = image_format(data) if kind is IMAGE else None
        words = kind.name if found is None else image_words(data, found)
        return kind, words, lines, problem
    return OCTETS, OCTETS.name, READERS[OCTETS](data, "", opened.cut), problem


def suffix_of(opened: OpenedBody, part: BodyPart) -> str:
    """How the name of a file with an opened body ends."""
    found = image_format(opened.octets)
    return kind_of(opened.octets, part).suffix if found is None else found.suffix


def kind_of(data: bytes, part: BodyPart) -> Kind:
    """What a body is: as its content-type says, else as its octets look."""
    if part.value:
        return JSON
    named = named_kind(part.content_type)
    return looks_like(data) if named is None else named


def looks_like(data: bytes) -> Kind:
    """What octets look like; only what can hardly be anything else."""
    if image_format(data) is not None:
        return IMAGE
    if decode_text(data, "", cut=True) is None:
        return OCTETS
    start = data.lstrip()[:1]
    return JSON if start in (b"{", b"[") else XML if start == b"<" else TEXT
