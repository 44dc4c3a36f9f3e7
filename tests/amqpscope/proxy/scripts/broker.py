"""A small AMQP 1.0 broker with queues, on python-qpid-proton: broker.py HOST:PORT."""

import sys
from collections import defaultdict, deque

from proton import Endpoint
from proton.handlers import MessagingHandler
from proton.reactor import Container


class Broker(MessagingHandler):
    def __init__(self, address):
        super().__init__()
        self.address = address
        self.waiting = defaultdict(deque)
        self.receivers = defaultdict(list)

    def on_start(self, event):
        event.container.listen(self.address)
        print("ready", flush=True)

    def on_link_opening(self, event):
        link = event.link
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        if link.is_sender:
            self.receivers[link.remote_source.address].append(link)

    def on_sendable(self, event):
        self.dispatch(event.link.source.address)

    def on_message(self, event):
        address = event.link.target.address
        self.waiting[address].append(event.message)
        self.dispatch(address)

    def dispatch(self, address):
        for link in self.receivers[address]:
            # Where a flow takes back credit that was used already, proton's is negative.
            while self.waiting[address] and link.credit > 0 and link.state & Endpoint.REMOTE_ACTIVE:
                link.send(self.waiting[address].popleft())

    def on_link_error(self, event):
        event.link.close()  # and not the connection, as the base class would

    def on_link_closing(self, event):
        for links in self.receivers.values():
            if event.link in links:
                links.remove(event.link)

    def on_disconnected(self, event):
        for links in self.receivers.values():
            links[:] = [link for link in links if link.connection != event.connection]


if __name__ == "__main__":
    Container(Broker(sys.argv[1])).run()
