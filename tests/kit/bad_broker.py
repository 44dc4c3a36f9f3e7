"""A broker on python-qpid-proton that does one thing wrong: bad_broker.py HOST:PORT FAULT."""

import sys
from collections import defaultdict, deque

from proton import Delivery, Endpoint, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container


def alter(message):
    message.subject = "altered"


def drop_annotations(message):
    message.annotations = None


def lower_priority(message):
    message.priority = 1


def grow_ttl(message):
    message.ttl = 3600


CHANGES = {
    "alter": alter,
    "drop-annotations": drop_annotations,
    "priority": lower_priority,
    "ttl": grow_ttl,
}


class BadBroker(MessagingHandler):
    """Queues in memory; `fault` names what goes wrong."""

    def __init__(self, address, fault):
        super().__init__(auto_accept=False, auto_settle=False)
        self.address = address
        self.fault = fault
        self.waiting = defaultdict(deque)
        self.receivers = defaultdict(list)
        self.sent = {}
        self.accepted = []

    def on_start(self, event):
        event.container.listen(self.address)
        print("ready", flush=True)

    def on_link_opening(self, event):
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        if link.is_sender:
            link.source.capabilities.put_symbol("queue")
            self.receivers[link.remote_source.address].append(link)
            for address, message in self.accepted:
                self.waiting[address].append(message)

    def on_sendable(self, event):
        self.dispatch(event.link.source.address)

    def on_message(self, event):
        message, address = event.message, event.link.target.address
        refused = self.fault == "refuse"
        event.delivery.update(Delivery.REJECTED if refused else Delivery.ACCEPTED)
        event.delivery.settle()
        if self.fault in CHANGES:
            CHANGES[self.fault](message)
        self.waiting[address].append(message)
        if self.fault == "reorder" and len(self.waiting[address]) < 3:
            return
        if self.fault == "reorder":
            self.waiting[address].reverse()
        self.dispatch(address)

    def dispatch(self, address):
        for link in self.receivers[address]:
            while self.waiting[address] and link.credit and link.state & Endpoint.REMOTE_ACTIVE:
                message = self.waiting[address].popleft()
                self.send(link, message)
                if self.fault == "duplicate":
                    self.send(link, message)

    def send(self, link, message):
        copy = Message()
        copy.decode(message.encode())
        self.sent[link.send(copy).tag] = link.source.address, message

    def on_accepted(self, event):
        event.delivery.settle()
        if self.fault == "again" and not self.accepted:
            self.accepted.append(self.sent[event.delivery.tag])

    def on_released(self, event):
        """Also what proton calls for `modified`."""
        event.delivery.settle()
        address, message = self.sent[event.delivery.tag]
        if self.fault != "count":
            message.delivery_count += 1
        self.waiting[address].append(message)
        self.dispatch(address)

    def on_link_closing(self, event):
        for links in self.receivers.values():
            if event.link in links:
                links.remove(event.link)


if __name__ == "__main__":
    Container(BadBroker(*sys.argv[1:])).run()
