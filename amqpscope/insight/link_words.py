"""What a list says of the link, queue or exchange of a frame."""

from __future__ import annotations

from functools import lru_cache

from amqpscope.analysis import Step
from amqpscope.insight.diff.generated import is_generated


def link_words(step: Step) -> str:
    """The name of a frame's link; its address where a library made the name up."""
    voice, event = step.talk.voice, step.event
    name = voice.place(event)
    return voice.address(event) or name if is_made_up(name) else name


@lru_cache(1024)
def is_made_up(name: str) -> bool:
    """Whether a library made a name up; the same names are asked about with every frame."""
    return is_generated(name)
