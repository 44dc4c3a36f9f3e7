"""What `--ring` makes of the captures on the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click

from amqpscope.cli.output import complain
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amqpscope.capture.ring import Readable, Ring


class GivenCaptures(NamedTuple):
    """What is to be read."""

    captures: Sequence[Readable]
    failed: bool = False
    """A directory has none, which was reported."""


def choose(captures: tuple[str, ...], *, ring: bool, as_given: bool) -> GivenCaptures:
    """The captures as they were given or, with --ring, rings of them."""
    if as_given and not ring:
        raise click.UsageError("--as-given is about the files of a --ring")
    return rings_of(captures, as_given=as_given) if ring else GivenCaptures(captures)


def choose_one(captures: tuple[str, ...], *, ring: bool, as_given: bool) -> Readable | None:
    """The capture of a command that takes one alone; None when a directory has none."""
    if len(captures) > 1 and not ring:
        raise click.UsageError(f"Got unexpected extra argument ({' '.join(captures[1:])})")
    found = choose(captures, ring=ring, as_given=as_given).captures
    if len(found) > 1:
        names = ", ".join(str(each) for each in found)
        raise click.UsageError(f"these are several rings, expected one: {names}")
    return found[0] if found else None


def rings_of(captures: tuple[str, ...], *, as_given: bool) -> GivenCaptures:
    """Each directory as a ring of its own, and all files together as one."""
    from amqpscope.capture.ring import in_order, ring_of

    files = tuple(path for path in captures if not os.path.isdir(path))
    for path in files:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise click.UsageError(f"{path}: a ring consists of files, and this is none")
    found: dict[str, Ring | None] = {}
    for path in captures:
        if path not in files:
            found[path] = ring_in_directory(path)
        elif files[0] not in found:
            found[files[0]] = ring_of(files if as_given else in_order(files))
    rings = [ring for ring in found.values() if ring is not None]
    return GivenCaptures(rings, len(rings) < len(found))


def ring_in_directory(path: str) -> Ring | None:
    """The captures in a directory; None, and a word, when there are none."""
    from amqpscope.capture.ring import ring_in

    try:
        ring = ring_in(path)
    except OSError as error:
        complain(f"{path}: {reason_of(error)}")
        return None
    if ring is None:
        complain(f"{path}: no captures in this directory itself")
    return ring
