"""Messages that go through a broker, for tests of what shows them: lost, redelivered, refused."""

from __future__ import annotations

PUBLISH = """
@{time}s A.client: transfer[0] handle=0 delivery-id={n} delivery-tag=b"{n}"
         | {head} properties(message-id="m{n}") data(b"x{n}")
"""
ACCEPT = "A.server: disposition[0] role=receiver first={n} settled=true state={state}()\n"
DELIVER = """
@{time}s B.server: transfer[0] handle=0 delivery-id={at} delivery-tag=b"{at}"
         | {head} properties(message-id="m{n}") data(b"x{n}")
"""
SETTLE = "@{time}s B.client: disposition[0] role=receiver first={at} settled=true state={state}()\n"


def publish(n, time=0.0, state="accepted", head=""):
    """A client publishes message n, and the broker answers; with no state it does not."""
    answer = ACCEPT.format(n=n, state=state) if state else ""
    return PUBLISH.format(n=n, time=time, head=head) + answer


def deliver(n, at, time=1.0, state="accepted", head="", after=0.5):
    """The broker delivers message n as its delivery `at`, and the consumer settles it."""
    answer = SETTLE.format(at=at, time=time + after, state=state) if state else ""
    return DELIVER.format(n=n, at=at, time=time, head=head) + answer


LOST_ONE = "".join(publish(n) for n in range(4)) + "".join(
    deliver(n, at, 1.0 + at) for at, n in enumerate((0, 2, 3))
)
"""The broker delivers three of four messages: m1 is missing."""
AGAIN = (
    publish(0)
    + deliver(0, 0, 1.0, "released")
    + deliver(0, 1, 3.0, "released", "header(delivery-count=1)")
    + deliver(0, 2, 5.0, "accepted", "header(delivery-count=2)")
)
"""A message is accepted at the third attempt."""
