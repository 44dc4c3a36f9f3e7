"""The configuration file: `amqpscope.toml`, or `[tool.amqpscope]` in pyproject.toml.

select = ["FLW", "DLV"]
ignore = ["MSG-024"]
fail-on = "warning"

[severity]
FLW-001 = "warning"

[per-capture-ignores]
"legacy-*.pcap" = ["MSG"]
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from amqpscope.check.selection import FAIL_ON, ConfigError, Selection, resolve, resolve_one
from amqpscope.findings import ERROR, SEVERITIES
from amqpscope.wording import reason_of

OWN: Final = "amqpscope.toml"
PROJECT: Final = "pyproject.toml"
KEYS: Final = ("select", "ignore", "severity", "per-capture-ignores", "strict", "fail-on")


def find_config(start: Path) -> Path | None:
    """The nearest file with settings of ours, from a folder upwards."""
    for folder in (start, *start.parents):
        own, project = folder / OWN, folder / PROJECT
        if own.is_file():
            return own
        # A project's file that does not mention us may be as broken as it likes.
        spoken_of = project.is_file() and b"amqpscope" in project.read_bytes()
        if spoken_of and settings(project) is not None:
            return project
    return None


def select_rules(
    folder: Path,
    config: str | os.PathLike[str] | None = None,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    strict: bool = False,
    fail_on: str | None = None,
) -> Selection:
    """What is asked for and, where that is silent, what the configuration file of a folder says."""
    if fail_on and fail_on not in FAIL_ON:
        raise ValueError(f"fail_on={fail_on!r}: expected one of {', '.join(FAIL_ON)}")
    path = Path(config) if config else find_config(folder)
    return (Selection() if path is None else read_config(path)).merged(
        select=resolve(tuple(select)),
        ignore=resolve(tuple(ignore)),
        strict=strict,
        fail_on=fail_on,
    )


def read_config(path: Path) -> Selection:
    """The choice that a file makes."""
    table = settings(path)
    if table is None:
        raise ConfigError(f"{path}: has no [tool.amqpscope]")
    try:
        return from_table(table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def settings(path: Path) -> dict[str, Any] | None:
    """Our table in a file; None if a project's file has none."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {reason_of(error)}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: no TOML: {error}") from error
    if path.name != PROJECT:
        return table
    tools = table.get("tool")
    found = tools.get("amqpscope") if isinstance(tools, dict) else None
    if found is None or isinstance(found, dict):
        return found
    raise ConfigError(f"{path}: tool.amqpscope = {found!r}: expected a table")


def from_table(table: dict[str, Any]) -> Selection:
    """The choice that a table of settings makes."""
    for key in table:
        if key not in KEYS:
            near = get_close_matches(key.lower().replace("_", "-"), KEYS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f", expected one of {', '.join(KEYS)}"
            raise ConfigError(f"unknown key {key!r}{hint}")
    strict = table.get("strict", False)
    if not isinstance(strict, bool):
        raise ConfigError(f"strict = {strict!r}: expected true or false")
    ignores = _table(table, "per-capture-ignores")
    return Selection(
        select=_rules(table, "select", "select"),
        ignore=_rules(table, "ignore", "ignore"),
        severity=_severities(_table(table, "severity")),
        per_capture={
            pattern: _rules(ignores, pattern, f"per-capture-ignores.{pattern!r}")
            for pattern in ignores
        },
        strict=strict,
        fail_on=_one_of(FAIL_ON, table.get("fail-on", ERROR), "fail-on"),
    )


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{key} = {found!r}: expected a table")
    return found


def _rules(table: dict[str, Any], key: str, label: str) -> tuple[str, ...]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise ConfigError(f"{label} = {found!r}: expected a list of rule ids, names or groups")
    try:
        return resolve(tuple(found))
    except ConfigError as error:
        raise ConfigError(f"{label}: {error}") from error


def _severities(table: dict[str, Any]) -> dict[str, str]:
    """Severity by rule or group."""
    chosen: dict[str, str] = {}
    for word, severity in table.items():
        try:
            meant = resolve_one(word)
        except ConfigError as error:
            raise ConfigError(f"severity: {error}") from error
        chosen[meant] = _one_of(SEVERITIES, severity, f"severity.{word}")
    return chosen


def _one_of(allowed: tuple[str, ...], value: object, label: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{label} = {value!r}: expected one of {', '.join(allowed)}")
    return value
