"""Faults from a file: TOML with a table `[[fault]]` for each."""

from __future__ import annotations

import tomllib
from typing import Final

from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.parser import parse_table
from amqpscope.wording import reason_of

LARGEST: Final = 1 << 20
"""Octets of a file."""
FAULT: Final = "fault"


def read_faults(path: str) -> list[Fault]:
    """The faults of a file; ValueError says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            octets = file.read(LARGEST + 1)
        if len(octets) > LARGEST:
            raise ValueError(f"{path}: larger than {LARGEST:,} octets")
        tables = tomllib.loads(octets.decode("utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at octet {error.start}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise ValueError(f"{path}: {reason}") from error
    for key in tables:
        if key != FAULT:
            raise ValueError(f"{path}: {key}: expected [[{FAULT}]] and nothing else")
    found = tables.get(FAULT, [])
    if not isinstance(found, list) or not found or not all(isinstance(t, dict) for t in found):
        raise ValueError(f"{path}: expected a table [[{FAULT}]] for each fault")
    try:
        return [parse_table(table, f"[[{FAULT}]] {n}:") for n, table in enumerate(found, 1)]
    except FaultError as error:
        raise ValueError(f"{path}:\n{error}") from error
