"""Bodies of messages as what they are: what encoded them undone, and lines for people.

    read_body(part).lines

Whatever the octets are, this is quick and takes little memory: only so much of a body is undone
and read, and what is not as its content-type says is shown as text or octets, with the reason.
"""

from amqpscope.insight.bodies.body import Body, OpenedBody, open_body, read_body, suffix_of

__all__ = ["Body", "OpenedBody", "open_body", "read_body", "suffix_of"]
