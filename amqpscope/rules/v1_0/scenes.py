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
    "delivery-id": "transfer",
    "settled": "transfer",
    "more": "transfer",
    "state": "transfer",
    "message-format": "transfer",
    "mechanism": "sasl-init",
    "initial-response": "sasl-init",
    "sasl-server-mechanisms": "sasl-mechanisms",
}

SCENES: Final = Scenes(
    FIELDS,
    START,
    Scene("amqps", "", "from the start of a connection to port 5671", "", port=5671),
    Scene(
        "tls", "", "after both TLS headers",
        """
client: header TLS 1.0.0
server: header TLS 1.0.0
""",
    ),
    Scene(
        "headers", "", "after both headers",
        """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
""",
    ),
    Scene(
        "opened", "headers", "after both headers and opens",
        """
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
        "sent", "sending",
        "after the client attached a sender on handle 0, got credit {link-credit=10} and sent"
        " delivery {delivery-id=0}",
        """
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
""",
    ),
    Scene(
        "resuming", "session",
        'after the client attached a sender again, with delivery b"7" unsettled where no list says'
        " otherwise, and got credit {link-credit=10}",
        """
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0 unsettled={b"7"=null}
server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        unsettled={b"7"=received(section-number=0 section-offset=0)}
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
""",
    ),
    Scene(
        "attaching_sender", "session",
        "after the client attached a sender on handle 0, which the server is to answer",
        """
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
""",
    ),
    Scene(
        "attaching_receiver", "session",
        "after the client attached a receiver on handle 0, which the server is to answer",
        """
client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
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
        "received", "receiving",
        "after the client attached a receiver on handle 0, granted credit {link-credit=10} and got"
        " delivery {delivery-id=0}",
        """
server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
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
        "posting", "transaction",
        'after the client declared transaction b"t" and posted delivery 1 under it on handle 1',
        """
client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0
        state=transactional-state(txn-id=b"t") | data(b"1")
""",
    ),
    Scene(
        "discharging", "transaction",
        'after the client declared transaction b"t" and asked to commit it',
        """
client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
        | amqp-value(discharge(txn-id=b"t" fail=false))
""",
    ),
    Scene(
        "granting", "transaction",
        'after the client declared transaction b"t" and granted credit {link-credit=1} on handle 2',
        """
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1 outgoing-window=100
        handle=2 delivery-count=0 link-credit=1
""",
    ),
    Scene(
        "acquiring", "transaction",
        'after the client declared transaction b"t" and granted credit {link-credit=1} under it'
        " to the sender of handle 2",
        """
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1 outgoing-window=100
        handle=2 delivery-count=0 link-credit=1 properties={:txn-id=b"t"}
""",
    ),
    Scene(
        "sasl_headers", "", "after both SASL headers",
        """
client: header SASL 1.0.0
server: header SASL 1.0.0
""",
    ),
    Scene(
        "sasl", "sasl_headers", "after both SASL headers and the server's mechanisms",
        """
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
""",
    ),
    Scene(
        "sasl_init", "sasl", "after the client chose a SASL mechanism",
        """
client: sasl-init mechanism=:ANONYMOUS
""",
    ),
    Scene(
        "sasl_done", "sasl_init", "after the client was let in by SASL",
        """
server: sasl-outcome code=ok
""",
    ),
    Scene(
        "sasl_refused", "sasl_init", "after the client was refused by SASL",
        """
server: sasl-outcome code=auth
""",
    ),
)  # fmt: skip
