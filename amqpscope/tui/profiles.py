"""Profiles: how the screen looks, kept in the user's configuration directory, a file each.

`$XDG_CONFIG_HOME/amqpscope/profiles/NAME.toml`, by default below `~/.config`.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from amqpscope.tui.colours import ColourRule, parse_rules, rules_text
from amqpscope.tui.columns import USUAL, Column, columns_text, parse_columns
from amqpscope.wording import reason_of

DEFAULT: Final = "default"
HEADING: Final = "# How the screen of amqpscope looks; P, v, V and t change it there.\n"
TIMES: Final = ("relative", "delta", "utc", "local")
"""Since the first frame, since the one above, and the time of day."""
LIST_SHARE: Final = (60, 10, 90)
"""Percent of the height that the frame list has: usually, at least, at most."""
FIELDS_SHARE: Final = (0, 20, 80)
"""Percent of the width that the fields have beside the octets; 0: what the octets leave."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class ProfileError(ValueError):
    """A profile cannot be read or written; the text says why."""


@dataclass
class Profile:
    """How the screen looks."""

    name: str = DEFAULT
    columns: tuple[Column, ...] = USUAL
    colours: tuple[ColourRule, ...] = ()
    times: str = TIMES[0]
    list_share: int = LIST_SHARE[0]
    fields_share: int = FIELDS_SHARE[0]
    theme: str = ""
    """`light`, `dark`, or empty."""

    def text(self) -> str:
        """As TOML."""
        rows = {
            "columns": columns_text(self.columns),
            "colours": rules_text(self.colours),
            "times": self.times,
            "list_share": self.list_share,
            "fields_share": self.fields_share,
            "theme": self.theme,
        }
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in rows.items()
        ]
        return "".join([HEADING, *lines])


def directory() -> Path:
    """Where profiles are kept."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base.startswith("/") else Path("~/.config").expanduser()
    return root / "amqpscope" / "profiles"


def names() -> list[str]:
    """The profiles that there are."""
    try:
        return sorted(path.stem for path in directory().glob("*.toml"))
    except OSError:
        return []


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a file."""
    if not _NAME.fullmatch(name):
        raise ProfileError(f"{name!r} is not the name of a profile: letters, digits, - _ .")


def load_profile(name: str, *, must_exist: bool = False) -> Profile:
    """A profile by its name; the usual look where there is no such file. Raises `ProfileError`."""
    check_name(name)
    path = directory() / f"{name}.toml"
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if must_exist and name != DEFAULT:
            known = ", ".join(names()) or "none"
            raise ProfileError(f"there is no profile {name!r} (there is: {known})") from None
        return Profile(name)
    except OSError as error:
        raise ProfileError(f"{path}: {reason_of(error)}") from None
    except ValueError as error:
        raise ProfileError(f"{path}: {error}") from None
    return read_profile(name, values, path)


def read_profile(name: str, values: dict[str, Any], path: Path) -> Profile:
    """A profile as its file has it."""
    made = Profile(name)
    try:
        made.columns = parse_columns(text_of(values, "columns"))
        made.colours = parse_rules(text_of(values, "colours"))
    except ValueError as error:
        raise ProfileError(f"{path}: {getattr(error, 'message', error)}") from None
    times = text_of(values, "times")
    made.times = times if times in TIMES else TIMES[0]
    made.list_share = share_of(values, "list_share", LIST_SHARE)
    made.fields_share = share_of(values, "fields_share", FIELDS_SHARE)
    made.theme = text_of(values, "theme")
    return made


def text_of(values: dict[str, Any], name: str) -> str:
    """A text among the values; empty where there is none."""
    value = values.get(name, "")
    return value if isinstance(value, str) else ""


def share_of(values: dict[str, Any], name: str, limits: tuple[int, int, int]) -> int:
    """A share among the values, within its limits."""
    usual, least, most = limits
    value = values.get(name, usual)
    return value if isinstance(value, int) and least <= value <= most else usual


def save_profile(profile: Profile) -> None:
    """Write a profile. Raises `ProfileError`."""
    check_name(profile.name)
    path = directory() / f"{profile.name}.toml"
    partial = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(profile.text(), "utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise ProfileError(f"{path}: cannot be written: {reason_of(error)}") from None
