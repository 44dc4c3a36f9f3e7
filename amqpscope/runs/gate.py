"""What keeps a run through the proxy from counting as checked.

A run without findings says something only when all that passed was recorded and analysed, and when
something passed. What is short of that is said in a line each, for the command line (exit code 2),
for `proxied` (`NotChecked`) and for the pytest fixture.
"""

from __future__ import annotations

from amqpscope.check.result import CaptureResult
from amqpscope.proxy.relay import Status
from amqpscope.wording import plural


def emptiness(checked: CaptureResult, status: Status, *, answered: bool) -> str:
    """Why nothing was checked: nobody came, nobody answered, or it was not AMQP; else nothing."""
    if not status.accepted:
        return f"no client connected to {', '.join(status.listening)}"
    if status.refused == status.accepted:
        return f"the upstream {status.upstream} took no connection"
    if not checked.frames:
        return f"{checked.no_amqp} of {checked.path}"
    if not answered:
        return f"the upstream {status.upstream} never answered in AMQP"
    return ""


def shortfalls(
    checked: CaptureResult, status: Status | None, *, in_order: bool, lost_files: int = 0
) -> list[str]:
    """What was not recorded or not analysed, a line each."""
    short = []
    if not in_order:
        short.append(f"the relay has died; what it passed on up to then is in {checked.path}")
    if lost := lost_packets(status):
        short.append(lost)
    if lost_files:
        files = plural(lost_files, "file")
        short.append(f"{checked.path}: {files} of it removed before they were analysed")
    if checked.gaps and not short:
        places = plural(checked.gaps, "place")
        short.append(f"{checked.path}: octets are missing at {places}")
    if checked.error is not None:
        short.append(f"{checked.path}: {checked.error}")
    short.extend(f"{checked.path}: {note}" for note in checked.notes)
    short.extend(checked.only_headers)
    return short


def lost_packets(status: Status | None) -> str:
    """Why the recording is not whole; nothing when it is."""
    if status is None or status.problem is None:
        return ""
    lost = plural(status.lost, "packet")
    return f"the recording is not whole, {lost} lost: {status.problem}"
