"""Sessions that a live client begins in another order than the recorded one."""

import pytest

from amqpscope.protocols.replay_acts import Choices
from dissectors.notation import parse
from dissectors.v1_0.framing import decode_unit, measure
from kit.rehearsal import recorded_talk

TWO = """
> header AMQP 1.0.0
< header AMQP 1.0.0
> open container-id="c"
< open container-id="s"
> begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
< begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
> begin[1] next-outgoing-id=0 incoming-window=9 outgoing-window=9
< begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=9 outgoing-window=9
> attach[0] name="a" handle=0 role=receiver source=source(address="a") target=target()
< attach[0] name="a" handle=0 role=sender source=source(address="a") initial-delivery-count=0
> flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0 link-credit=1
< transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("of a")
> attach[1] name="b" handle=0 role=receiver source=source(address="b") target=target()
< attach[1] name="b" handle=0 role=sender source=source(address="b") initial-delivery-count=0
> flow[1] incoming-window=9 next-outgoing-id=0 outgoing-window=9 handle=0 link-credit=1
< transfer[1] handle=0 delivery-id=0 delivery-tag=b"0" settled=true | amqp-value("of b")
> close
< close
"""


def live_client(name, channel, *, begin=True):
    """What a client says to get a message from a node, on a session of its own."""
    lines = [line[2:] for line in TWO.splitlines() if line.startswith("> ")]
    said = [lines[2]] if begin else []
    said += [each.replace('"a"', f'"{name}"') for each in (lines[4], lines[5])]
    return b"".join(parse(each.replace("[0]", f"[{channel}]")) for each in said)


def messages(octets):
    """What was sent to which session of the client: its channel, and the end of the payload."""
    at, channels = 0, {}
    while at < len(octets):
        size = measure(octets, at, len(octets))
        unit = decode_unit(octets[at : at + size])
        at += size
        if unit.name == "begin":
            assert unit.channel not in channels
            channels[unit.channel] = unit.body.remote_channel
        elif unit.name == "transfer":
            yield channels[unit.channel], octets[at - 1 : at]


@pytest.mark.parametrize("at_once", [False, True])
def test_the_first_link_of_a_session_tells_which_one_it_is(at_once, tmp_path):
    part = recorded_talk(tmp_path / "talk.pcapng", TWO).part(1, Choices())
    opening = parse("header AMQP 1.0.0") + parse('open container-id="c"')
    began = parse(TWO.strip().splitlines()[4][2:])
    said = [opening, live_client("b", 0), live_client("a", 1)]
    if at_once:
        second = began[:6] + b"\0\1" + began[8:]
        said = [opening + began + second, live_client("b", 0, begin=False)]
        said.append(live_client("a", 1, begin=False))
    for octets in said:
        part.receive(octets, 0.0)
        part.proceed(0.0)
    part.loosen()
    part.proceed(1.0)
    assert part.divergences == []
    assert sorted(messages(bytes(part.out))) == [(0, b"b"), (1, b"a")]
