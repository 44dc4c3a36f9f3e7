"""Words that every part of amqpscope writes alike."""

from __future__ import annotations


def reason_of(error: OSError) -> str:
    """Why the system refused something, in lower case and without the file's name."""
    return (error.strerror or str(error)).lower()


def plural(number: int, noun: str) -> str:
    """`1 packet`, `2 packets`, `2 deliveries`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{number:,} {noun}s"


def no_amqp(packets: int) -> str:
    """What is reported of a capture in which no AMQP was found."""
    return f"no AMQP in {plural(packets, 'packet')}"
