"""A fault layer of which both peers are notation, without sockets and without time."""

from amqpscope.proxy.faults import FaultSet, parse_fault
from amqpscope.proxy.faults.layer import FaultLayer
from dissectors.notation import parse
from kit.proxy.wire import SENDING, Outside

CLIENT, SERVER = 0, 1
FLOW = "flow next-incoming-id={} incoming-window=100 next-outgoing-id=0 outgoing-window=100"


class Played:
    """A layer that is fed with notation, and what comes out of it, by its receiver."""

    def __init__(self, rule, script=SENDING):
        self.outside = Outside()
        self.layer = FaultLayer(FaultSet([parse_fault(rule)]), self.outside)
        for line in filter(None, map(str.strip, script.splitlines())):
            peer, _, text = line.partition(": ")
            self.say(SERVER if peer == "server" else CLIENT, text)

    def say(self, side, *lines):
        """The frames that each peer gets when a peer sends some."""
        for sent in self.outside.sent:
            sent.clear()
        self.layer.feed(side, b"".join(map(parse, lines)))
        return self.cut(SERVER), self.cut(CLIENT)

    def cut(self, to):
        octets, frames = bytes(self.outside.sent[1 - to]), []
        while octets:
            size = 8 if octets[:4] == b"AMQP" else int.from_bytes(octets[:4], "big")
            frames.append(octets[:size])
            octets = octets[size:]
        return frames


def transfer(number, size, more=False):
    said = " more=true" if more else ""
    named = f'delivery-id={number} delivery-tag=b"{number}"'
    return f'transfer handle=3 {named}{said} | data(b"{"x" * size}")'
