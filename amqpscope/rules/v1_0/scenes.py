"""The scenes of AMQP 1.0: what has happened before an example of a rule begins."""

from __future__ import annotations

from typing import Final

from amqpscope.rules.scenes import START, Scene, Scenes

FIELDS: Final = {
    # of which units a parameter is a field, where it names none
    "max-frame-size": "open",
    "channel-max": "open",
    "idle-time-out": "open",
    "hostname": "open",
    "handle-max": "begin",
    "next-outgoing-id": "begin",
    "incoming-window": "begin",
    "outgoing-window": "begin",
    "snd-settle-mode": "attach",
    "rcv-settle-mode": "attach",
    "source": "attach",
    "target": "attach",
    "unsettled": "attach",
    "incomplete-unsettled": "attach",
    "initial-delivery-count": "attach",
    "max-message-size": "attach",
    "link-credit": "flow",
    "delivery-count": "flow",
    "sasl-server-mechanisms": "sasl-mechanisms",
}

SCENES: Final = Scenes(
    FIELDS,
    START,
    Scene("amqps", "", "from the start of a connection to port 5671", "", port=5671),
    Scene(
        "opened", "", "after both headers and opens",
        """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c" max-frame-size=65536 channel-max=100
server: open container-id="s" max-frame-size=65536 channel-max=100
""",
    ),
    Scene(
        "session", "opened", "after a session was begun on channel 0 of both peers",
        """
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
""",
    ),
    Scene(
        "sending", "session",
        "after the client attached a sender on handle 0 and got credit {link-credit=10}",
        """
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
""",
    ),
    Scene(
        "receiving", "session",
        "after the client attached a receiver on handle 0 and granted credit {link-credit=10}",
        """
client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
        initial-delivery-count=0
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
""",
    ),
    Scene(
        "control", "session",
        "after the client attached a link to a transaction coordinator on handle 0 and got"
        " credit {link-credit=10}",
        """
client: attach[0] name="ctrl" handle=0 role=sender source=source()
        target=coordinator(capabilities=[:amqp:local-transactions]) initial-delivery-count=0
server: attach[0] name="ctrl" handle=0 role=receiver source=source()
        target=coordinator(capabilities=[:amqp:local-transactions])
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
""",
    ),
    Scene(
        "transaction", "control",
        'after the client declared transaction b"t" on handle 0 and attached a sender on handle 1'
        " and a receiver on handle 2",
        """
client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=1 delivery-count=0 link-credit=10
client: attach[0] name="r" handle=2 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=2 role=sender source=source(address="q") target=target()
        initial-delivery-count=0
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
        | amqp-value(declare())
server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
""",
    ),
    Scene(
        "sasl", "", "after both SASL headers and the server's mechanisms",
        """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
""",
    ),
)  # fmt: skip
