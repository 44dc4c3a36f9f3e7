"""What frames do to transactions, and what became of them, in words that all families share."""

from __future__ import annotations

from typing import Final, NamedTuple

# fmt: off
DECLARE:     Final = "declare"      # a client asks for a transaction
DECLARED:    Final = "declared"     # it has one
COMMIT:      Final = "commit"       # it wants what was done in the transaction to hold
ROLLBACK:    Final = "rollback"     # it wants that undone
COMMITTED:   Final = "committed"    # the server has done so
ROLLED_BACK: Final = "rolled back"  # the server has undone it, also where a commit was wanted
# fmt: on
STEPS: Final = (DECLARE, DECLARED, COMMIT, ROLLBACK, COMMITTED, ROLLED_BACK)


class TransactionCounts(NamedTuple):
    """What became of the transactions of a connection."""

    committed: int = 0
    rolled_back: int = 0
    """Also those whose link, channel or connection ended before they did."""
    in_doubt: int = 0
    """The client wanted to commit and has no answer."""
    open: int = 0

    def words(self) -> str:
        """Those that there are, with their numbers; empty: there was no transaction."""
        named = zip(self, ("committed", "rolled back", "in doubt", "open"), strict=True)
        return ", ".join(f"{count:,} {name}" for count, name in named if count)


NO_TRANSACTIONS: Final = TransactionCounts()
