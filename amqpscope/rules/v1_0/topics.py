"""What several rules report in common, and report once between them (see `Reporter.once`)."""

from __future__ import annotations

from typing import Final

SENT_AFTER_CLOSE: Final = "a unit after the peer's own close"
LEFT_SASL: Final = "the SASL layer was left after a failure, or without an outcome"
BEGIN_UNANSWERED: Final = "a begin without an answer"
ATTACH_UNANSWERED: Final = "an attach without an answer"
USED_TWICE: Final = "a link that is attached twice, and both attachments are used"
HALF_CLOSED: Final = "a link that one peer has closed and the other has only detached"
UNMET_DRAIN: Final = "a drain without an answer, or with one that does not do"
CONTROL_LINK: Final = "a control link that is not what its use asks for"
REACTION: Final = "the partner's reaction to a fault was judged"
