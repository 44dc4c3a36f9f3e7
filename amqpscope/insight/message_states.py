"""Where a message can be, on its way through a broker."""

from __future__ import annotations

from typing import Final

# Those that deserve a look come first.
# fmt: off
LOST:       Final = "lost?"       # the broker took it, and has delivered later ones instead
REFUSED:    Final = "refused"     # the broker did not take it
EXPIRED:    Final = "expired"     # its time to live was over before anybody got it
UNANSWERED: Final = "unanswered"  # published; the broker has not said whether it takes it
WAITING:    Final = "waiting"     # at the broker, for the first time or again
HELD:       Final = "held"        # with a consumer that has not settled it
DISCARDED:  Final = "rejected"    # its consumer does not want it, nor is anybody else to get it
UNKNOWN:    Final = "unknown"     # it was not followed any further, since there were too many
DONE:       Final = "settled"     # with a consumer that has accepted it
# fmt: on
STATES: Final = (LOST, REFUSED, EXPIRED, UNANSWERED, WAITING, HELD, DISCARDED, UNKNOWN, DONE)
KNOWN_AT_ONCE: Final = tuple(each for each in STATES if each not in (LOST, EXPIRED, UNKNOWN))
"""The states that the frames of a message show."""
UNSETTLED: Final = (UNANSWERED, WAITING, HELD)
"""States that something more may be known about later."""
