"""What the user looks for: the filter that leaves some frames, and the search that finds some."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqpscope.tui.app import Scope
    from amqpscope.tui.store import Scan


class FrameSearch:
    """At most one filter and one search at a time, each a process that goes through all frames."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.filtering: Scan | None = None
        self.searching: Scan | None = None
        self.seek = 0
        """A way in which to go to the next match as soon as one is known."""

    def close(self) -> None:
        """Look for nothing any more."""
        for scan in (self.filtering, self.searching):
            if scan is not None:
                scan.close()

    def update(self) -> bool:
        """Take what was found since, and show it; whether there was anything."""
        frames = self.scope.frames
        changed = False
        if self.filtering is not None and self.filtering.update():
            changed = True
            if not self.scope.paused:
                frames.show_matches(self.filtering)
        if self.searching is not None and self.searching.update():
            changed = True
            frames.frames.found = self.searching.matches
            frames.frames.forget()
        return changed

    def filter(self, text: str) -> None:
        """Show only the frames that a filter lets pass; all of them with an empty one."""
        if self.filtering is not None:
            self.filtering.close()
            self.filtering = None
        if text:
            self.filtering = self.scope.store.scan("filter", text)
        else:
            frames = self.scope.frames.frames
            frames.show(None, self.scope.last)
            self.scope.select(frames.number)

    def search(self, text: str) -> None:
        """Look for a text, and go to the first place behind the cursor."""
        if self.searching is not None:
            self.searching.close()
            self.searching = None
            self.scope.frames.frames.found = None
            self.scope.frames.frames.forget()
        if text:
            self.searching = self.scope.store.scan("search", text)
            self.seek = 1

    def go_on(self) -> None:
        """Go where it was wished to go before that was known."""
        if self.seek:
            self.go_next(self.seek)

    def go_next(self, way: int) -> None:
        """Go to the next match, without a search to the next finding; or when it is known."""
        self.seek = 0
        scope, scan = self.scope, self.searching
        if scan is not None:
            number = scan.after(scope.frame) if way > 0 else scan.before(scope.frame)
            if not number and way > 0 and scan.seen < scope.store.count:
                self.seek = way
                return
        else:
            found = scope.store.findings
            number = found.after(scope.frame) if way > 0 else found.before(scope.frame)
        if number:
            scope.visit(number)
        else:
            what = "match" if scan is not None else "error or warning"
            scope.announce(f"no {what} {'after' if way > 0 else 'before'} frame {scope.frame}")
