"""What rules have reported of a connection, a session or a link and do not report again.

Only rules write here. The model reads two facts of it: after a wrong count of a peer was reported,
what follows from that count is not looked at for speed's sake (see `fast_paths`).
"""

from __future__ import annotations

from amqpscope.model.mark import Mark


class Reported:
    """Rules that report something once, and have."""

    def __init__(self) -> None:
        self.rules: set[str] = set()
        """Their ids; where they report several things, with the name of one."""


class EndReported:
    """What was reported of one peer's end of a connection."""

    def __init__(self) -> None:
        self.header_mismatch = False
        """This peer went on after headers that differ."""
        self.sent_after_close = False
        """This peer sent something after its close."""
        self.idle = 0
        """This peer was silent too long: 1 as a note, 2 as a warning."""
        self.close_overdue = False
        """This peer owes a close."""


class LinkReported(Reported):
    """What was reported of one peer's end of a link."""

    def __init__(self) -> None:
        super().__init__()
        self.attach_overdue = False
        """The partner owes an answer to the attach."""
        self.detach_overdue = False
        """The partner owes an answer to the detach."""
        self.overrun_limit = -1
        """The end of the credit past which this sender has sent."""
        self.wrong_count = False
        """A delivery-count of this receiver is wrong."""
        self.drain: Mark | None = None
        """The flow of this receiver whose wish to drain is not met."""


class SessionReported(Reported):
    """What was reported of one peer's end of a session."""

    def __init__(self) -> None:
        super().__init__()
        self.begin_overdue = False
        """The partner owes an answer to the begin."""
        self.end_overdue = False
        """The partner owes an answer to the end."""
        self.overrun_limit = -1
        """The end of the partner's window past which this peer has sent."""
        self.overspent = False
        """This peer has sent more than its own outgoing-window."""
        self.wrong_incoming_id = False
        """A next-incoming-id of this peer is wrong."""
        self.stall_limit = -1
        """The end of the window that holds this peer for long."""
