"""What peers see behind a fault is legal: frames that fit, windows that stay, channels in turn."""

from dataclasses import replace

from amqpscope.check.result import CaptureResult
from amqpscope.findings import Finding
from dissectors.notation import parse, write
from kit.proxy.played import CLIENT, FLOW, SERVER, Played, transfer
from kit.proxy.wire import OPENING, SENDING


def test_a_frame_that_new_numbers_make_too_long_is_sent_as_two():
    limited = SENDING.replace('open container-id="s"', 'open container-id="s" max-frame-size=512')
    it = Played("transfer => duplicate times=1", limited)
    it.say(CLIENT, transfer(254, 10))
    longest = transfer(255, 512 - len(parse(transfer(255, 300))) + 300)
    assert len(parse(longest)) == 512  # and 256, which it becomes, takes three octets more
    (got, _) = it.say(CLIENT, longest)
    assert len(got) == 2
    assert max(map(len, got)) <= 512
    assert "more=true" in write(got[0], 0, "")
    (got, _) = it.say(CLIENT, FLOW.format(0).replace("outgoing-id=0", "outgoing-id=2"))
    # The copy and the second half are transfers that the client does not know of.
    assert "next-outgoing-id=4" in write(got[0], 0, "")


def test_windows_that_were_named_are_not_taken_back():
    it = Played("transfer => duplicate times=1")
    _, told = it.say(CLIENT, transfer(0, 1))
    assert "next-incoming-id=0 incoming-window=99" in write(told[-1], 0, "")
    _, told = it.say(SERVER, FLOW.format(1))  # it has counted one of the two
    assert "next-incoming-id=0 incoming-window=100" in write(told[-1], 0, "")
    _, told = it.say(SERVER, FLOW.format(2))
    assert "next-incoming-id=1 incoming-window=100" in write(told[-1], 0, "")


def test_a_channel_is_not_used_again_before_both_peers_have_ended_its_session():
    begin = "begin next-outgoing-id=0 incoming-window=9 outgoing-window=9"
    it = Played("begin && from == server => end times=1", OPENING)
    got, _ = it.say(CLIENT, "end", begin, 'attach name="l" handle=0 role=sender')
    assert got == []
    got, _ = it.say(SERVER, "end")
    assert [write(frame, 0, "").partition("[")[0] for frame in got] == ["begin", "attach"]


def test_the_last_transfer_of_a_delivery_is_dropped_by_aborting_it():
    it = Played("transfer && !more => drop times=1")
    it.say(CLIENT, transfer(0, 1, more=True))
    got, _ = it.say(CLIENT, 'transfer handle=3 | data(b"y")', transfer(1, 1))
    assert "aborted=true" in write(got[0], 0, "")
    assert "delivery-id=1" in write(got[1], 0, "")


def test_an_outcome_that_a_link_does_not_have_is_not_given():
    few = SENDING.replace("source=source()", "source=source(outcomes=[:amqp:accepted:list])")
    it = Played("transfer => release", few)
    got, told = it.say(CLIENT, transfer(0, 1))
    assert len(got) == 1
    assert told == []
    assert "has no outcome released" in it.outside.reports[-1]


def test_what_rests_on_a_fault_is_not_counted_where_it_is_too_much_to_keep():
    result = CaptureResult("a.pcapng")
    words = ("FLW-016", "name", "2.6.7", "MUST", "error", "sure", "client", "what", "")
    found = Finding(*words, 1, 1, 1, 0, None, "")
    for each in (found, replace(found, fault="fault-1"), replace(found, fault="fault-1")):
        result.keep(each, 2)
    assert [each.fault for each in result.findings] == ["", "fault-1"]
    assert result.more == {}
