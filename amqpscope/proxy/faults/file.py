"""Faults from a file: TOML with a table `[[fault]]` for each."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.parser import parse_table
from amqpscope.wording import reason_of

LARGEST: Final = 1 << 20
"""Octets of a file."""
MOST: Final = 1000
"""Faults of a file, and of a proxy at a time: each is a question to each frame."""
FAULT: Final = "fault"
_STRING: Final = re.compile(
    r'"""[\s\S]*?"""|' r"'''[\s\S]*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*"
)
"""A string or a comment, in which dots mean nothing."""
_DEEP_KEY: Final = re.compile(r'(?:\.[ \t]*(?:[\w-]+|"")[ \t]*){64}')
"""What makes `tomllib` take minutes: keys of very many parts. No key of ours has two."""


def read_faults(path: str) -> list[Fault]:
    """The faults of a file; ValueError says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            octets = file.read(LARGEST + 1)
        if len(octets) > LARGEST:
            raise tomllib.TOMLDecodeError(f"larger than {LARGEST:,} octets")
        text = octets.decode("utf-8-sig")
        if _DEEP_KEY.search(_STRING.sub('""', text)):
            raise tomllib.TOMLDecodeError("a key has more than 64 parts")
        tables = tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"{path}: {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at octet {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{path}: nested too deep") from error
    except ValueError as error:
        raise ValueError(f"{path}: a number or a date is out of range") from error
    for key in tables:
        if key != FAULT:
            wrong = FaultError(key, 0, len(key), f"expected [[{FAULT}]] and nothing else")
            raise ValueError(f"{path}:\n{wrong}")
    found = tables.get(FAULT, [])
    if not isinstance(found, list) or not found or not all(isinstance(t, dict) for t in found):
        raise ValueError(f"{path}: expected a table [[{FAULT}]] for each fault")
    if len(found) > MOST:
        raise ValueError(f"{path}: {len(found):,} faults; a proxy has at most {MOST:,} at a time")
    try:
        return [parse_table(table, f"[[{FAULT}]] {n}:") for n, table in enumerate(found, 1)]
    except FaultError as error:
        raise ValueError(f"{path}:\n{error}") from error
