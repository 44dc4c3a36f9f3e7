"""How the screen looks: columns, colours and profiles, chosen by the user and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from amqpscope.tui import colours, columns, profiles
from amqpscope.tui.profiles import Profile, ProfileError
from amqpscope.tui.widgets.prompt import COLOURS, COLUMNS

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope

PROFILE: Final = "profile"
QUESTIONS: Final = (COLUMNS, COLOURS, PROFILE)


class Looks:
    """Asks for columns, colours and profiles, and keeps what was chosen."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def ask(self, kind: str) -> None:
        """Ask for one of these."""
        profile, prompt = self.scope.profile, self.scope.prompt
        if kind == COLUMNS:
            text, hint = columns.columns_text(profile.columns), columns.EXPECTED
        elif kind == COLOURS:
            text, hint = colours.rules_text(profile.colours), colours.EXPECTED
        else:
            known = ", ".join(profiles.names()) or "none yet"
            text, hint = (
                profile.name,
                f"one of: {known}; a new name saves the present look under it",
            )
        prompt.ask(kind, f"{kind}:", text, hint)

    def take_answer(self, kind: str, text: str) -> None:
        """Look as the user wants it, and keep that."""
        if kind == PROFILE:
            self.switch(text)
            return
        profile = self.scope.profile
        if kind == COLUMNS:
            profile.columns = columns.parse_columns(text)
        else:
            profile.colours = colours.parse_rules(text)
        if self.change():
            self.scope.announce(f"{kind} saved in profile {profile.name}")

    def switch(self, name: str) -> None:
        """Take another profile, or make one of the present look."""
        scope = self.scope
        if not name:
            return
        try:
            profiles.check_name(name)
            if name in profiles.names():
                scope.profile = profiles.load_profile(name)
                self.apply()
                scope.announce(f"profile {name}")
            else:
                scope.profile = replace(scope.profile, name=name)
                profiles.save_profile(scope.profile)
                scope.announce(f"saved as profile {name}")
        except ProfileError as error:
            scope.announce(str(error), bad=True)

    def change(self) -> bool:
        """Apply what was changed in the profile, and keep it; whether that could be done."""
        self.apply()
        try:
            profiles.save_profile(self.scope.profile)
        except ProfileError as error:
            self.scope.announce(str(error), bad=True)
            return False
        return True

    def apply(self) -> None:
        """Look as the profile says."""
        scope = self.scope
        profile: Profile = scope.profile
        if profile.theme:
            scope.theme = f"amqpscope-{profile.theme}"
        scope.frames.apply(profile)
