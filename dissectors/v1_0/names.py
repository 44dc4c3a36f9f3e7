"""Names and meanings beyond the type tables: what vendors and extensions put into open places.

The specification leaves descriptors, annotations, properties, capabilities, addresses and error
conditions open; brokers fill them with words of their own. Here each has a name or a line of
explanation, by the text or number that is on the wire. `descriptor_name` has a name for anything;
the other lookups return an empty string for what is unknown.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dissectors.v1_0.tables import COMPOSITES, RESTRICTED
from dissectors.v1_0.values import Value


class Extension(NamedTuple):
    """A described type that some extension of the protocol defines."""

    symbol: str
    code: int | None
    """The numeric spelling, where there is one; a type with two of them has two rows."""
    note: str


# fmt: off
DOMAINS: Final = {
    # The upper half of a numeric descriptor is the definer's IANA enterprise number.
    0x0000: "amqp",
    0x0137: "microsoft",
    0x468C: "apache",
}

_APACHE: Final = 0x468C << 32
_MS:     Final = 0x0137 << 32
_MS_LOW: Final = 0x0137 << 28
"""Most of Microsoft's numbers lack a zero: the enterprise number is four bits too low."""

EXTENSIONS: Final = tuple(Extension(*row) for row in (
    # symbol                                          code         meaning
    # Filters
    ("apache.org:legacy-amqp-direct-binding:string",  _APACHE | 0, "key, direct exchange"),
    ("apache.org:legacy-amqp-topic-binding:string",   _APACHE | 1, "pattern, topic exchange"),
    ("apache.org:legacy-amqp-headers-binding:map",    _APACHE | 2, "headers to compare"),
    ("apache.org:no-local-filter:list",               _APACHE | 3, "nothing sent by oneself"),
    ("apache.org:selector-filter:string",             _APACHE | 4, "JMS selector"),
    ("apache.org:xquery-filter:string",               _APACHE | 5, "XQuery over the message"),
    ("amqp:sql-filter",                               0x120,       "SQL over the message"),
    ("amqp:properties-filter",                        0x173,       "properties to equal"),
    ("amqp:application-properties-filter",            0x174,       "properties to equal"),
    ("com.microsoft:session-filter",                  _MS_LOW | 12, "this session, or a free one"),
    ("com.microsoft:session-filter",                  _MS | 12,    "this session, or a free one"),
    ("com.microsoft:client-side-filter",              None,        "applied by the receiver"),
    ("com.microsoft:message-receipts-filter",         None,        "message receipts"),
    ("com.microsoft:sql-filter:list",                 _MS_LOW | 6, "subscription by SQL"),
    ("com.microsoft:true-filter:list",                _MS_LOW | 7, "subscription to everything"),
    ("com.microsoft:false-filter:list",               _MS_LOW | 8, "subscription to nothing"),
    ("com.microsoft:correlation-filter:list",         _MS_LOW | 9, "subscription by properties"),
    ("rabbitmq:stream-offset-spec",                   None,        "where in the stream to begin"),
    ("rabbitmq:stream-filter",                        None,        "stream filter values"),
    ("rabbitmq:stream-match-unfiltered",              None,        "also what has no filter value"),
    # Values
    ("com.microsoft:rule-description:list",           _MS | 4,     "filter, action, name"),
    ("com.microsoft:empty-rule-action:list",          _MS | 5,     "changes nothing"),
    ("com.microsoft:sql-rule-action:list",            _MS | 6,     "changes the message by SQL"),
    ("com.microsoft:datetime-offset",                 None,        "UTC time in ticks of 100 ns"),
    ("com.microsoft:timespan",                        None,        "duration in ticks of 100 ns"),
    ("com.microsoft:uri",                             None,        "URI"),
))

CONDITIONS: Final = {
    # 2.8.15 amqp-error
    "amqp:internal-error":                  "something failed inside the peer",
    "amqp:not-found":                       "there is no such node or other entity",
    "amqp:unauthorized-access":             "the client has no permission for this",
    "amqp:decode-error":                    "octets arrived that could not be decoded",
    "amqp:resource-limit-exceeded":         "a resource limit was reached, or a peer was silent",
    "amqp:not-allowed":                     "the frame was used in a way that its meaning forbids",
    "amqp:invalid-field":                   "a field had a value that is not allowed",
    "amqp:not-implemented":                 "the peer does not implement this",
    "amqp:resource-locked":                 "another client holds the entity",
    "amqp:precondition-failed":             "a condition that must hold first was not met",
    "amqp:resource-deleted":                "the entity was deleted while in use",
    "amqp:illegal-state":                   "the frame is not permitted in the present state",
    "amqp:frame-size-too-small":            "a performative does not fit the frame size agreed on",
    # 2.8.16 connection-error
    "amqp:connection:forced":               "an operator closed the connection",
    "amqp:connection:framing-error":        "the octets did not form a valid frame",
    "amqp:connection:redirect":             "connect to the host named in info instead",
    # 2.8.17 session-error
    "amqp:session:window-violation":        "more transfers came than the incoming window allowed",
    "amqp:session:errant-link":             "frames went on for a link detached with an error",
    "amqp:session:handle-in-use":           "an attach took a handle that already has a link",
    "amqp:session:unattached-handle":       "a frame named a handle that has no link",
    # 2.8.18 link-error
    "amqp:link:detach-forced":              "an operator detached the link",
    "amqp:link:transfer-limit-exceeded":    "more messages came than there was credit for",
    "amqp:link:message-size-exceeded":      "a message was larger than max-message-size",
    "amqp:link:redirect":                   "the address is served by the host named in info",
    "amqp:link:stolen":                     "the link was attached again from elsewhere",
    # 4.5.8 transaction-error
    "amqp:transaction:unknown-id":          "there is no transaction with this id",
    "amqp:transaction:rollback":            "the transaction was rolled back",
    "amqp:transaction:timeout":             "the transaction lasted too long and was rolled back",
    # Azure Service Bus and Event Hubs
    "com.microsoft:timeout":                "the service did not finish in time",
    "com.microsoft:dead-letter":            "the message goes to the dead-letter queue",
    "com.microsoft:address-already-in-use": "the address is taken",
    "com.microsoft:auth-failed":            "the token was refused",
    "com.microsoft:message-lock-lost":      "the lock ran out before the message was settled",
    "com.microsoft:session-lock-lost":      "the lock on the session ran out",
    "com.microsoft:store-lock-lost":        "the lock was lost in the store",
    "com.microsoft:session-cannot-be-locked": "another receiver holds the session",
    "com.microsoft:no-matching-subscription": "no subscription of the topic takes the message",
    "com.microsoft:server-busy":            "the service throttles; wait before the next try",
    "com.microsoft:argument-error":         "an argument of the request is wrong",
    "com.microsoft:argument-out-of-range":  "an argument of the request is out of range",
    "com.microsoft:partition-not-owned":    "another node owns the partition now",
    "com.microsoft:entity-disabled":        "the entity is switched off",
    "com.microsoft:publisher-revoked":      "the publisher's right to send was taken back",
    "com.microsoft:operation-cancelled":    "the service gave the operation up, as at a restart",
    "com.microsoft:entity-already-exists":  "there is an entity of this name already",
    "com.microsoft:relay-not-found":        "nobody listens at this relay",
    "com.microsoft:message-not-found":      "there is no message with this sequence number",
    "com.microsoft:container-close":        "the service closed the container; connect again",
    # ActiveMQ
    "failed":                               "the broker failed without saying more",
}

ANNOTATIONS: Final = {
    # JMS mapping
    "x-opt-jms-msg-type":            "JMS type: 0 message 1 object 2 map 3 bytes 4 stream 5 text",
    "x-opt-jms-dest":                "JMS destination: 0 queue 1 topic 2 temp. queue 3 temp. topic",
    "x-opt-jms-reply-to":            "JMS reply-to: 0 queue 1 topic 2 temp. queue 3 temp. topic",
    "x-opt-delivery-time":           "not to be delivered before this time (ms)",
    "x-opt-delivery-delay":          "not to be delivered before this delay has passed (ms)",
    # Azure
    "x-opt-enqueued-time":           "when the service took the message in",
    "x-opt-sequence-number":         "the message's number in the entity",
    "x-opt-enqueue-sequence-number": "the message's number in the entity where it first came in",
    "x-opt-offset":                  "the event's offset in its partition",
    "x-opt-partition-key":           "key that chooses the partition",
    "x-opt-partition-id":            "partition",
    "x-opt-via-partition-key":       "key that chooses the partition of the transfer queue",
    "x-opt-locked-until":            "when the lock on the message ends",
    "x-opt-scheduled-enqueue-time":  "when the message shall become available",
    "x-opt-deadletter-source":       "the queue that the message was dead-lettered from",
    "x-opt-message-state":           "active, deferred or scheduled",
    "x-opt-lock-token":              "names the lock, to settle the message by",
    # RabbitMQ
    "x-exchange":                    "the exchange that the message was published to",
    "x-routing-key":                 "the routing key that it was published with",
    "x-cc":                          "further routing keys",
    "x-stream-filter-value":         "value that stream filters compare",
    "x-stream-offset":               "offset in the stream",
    "x-opt-deaths":                  "where and why the message was dead-lettered before",
    "x-opt-rabbitmq-received-time":  "when the broker received the message",
    "x-opt-reply-to-topic":          "topic for the reply",
    # Artemis
    "x-opt-ORIG-ADDRESS":            "the address that the message was first sent to",
    "x-opt-ORIG-QUEUE":              "the queue that the message was in before",
    "x-opt-routing-type":            "0 multicast, 1 anycast",
    "x-opt-ingress-time":            "when the broker received the message",
    "x-opt-amq-mr-ev-type":          "broker mirror: kind of event",
    "x-opt-amq-mr-ack-reason":       "broker mirror: why it was acknowledged",
    "x-opt-amq-mr-adr":              "broker mirror: address",
    "x-opt-amq-mr-qu":               "broker mirror: queue",
    "x-opt-amq-mr-id":               "broker mirror: message id at the source",
    "x-opt-amq-mr-dst":              "broker mirror: destination",
    "x-opt-amq-mr-trg-q":            "broker mirror: target queues",
    "x-opt-amq-bkr-id":              "broker mirror: id of the source broker",
    # Qpid Dispatch router
    "x-opt-qd.ingress":              "the router where the message came in",
    "x-opt-qd.trace":                "the routers that it passed",
    "x-opt-qd.to":                   "address that overrides `to`",
    "x-opt-qd.phase":                "phase of a waypoint address",
    "x-opt-qd.class":                "router class",
    "x-opt-qd.stream":               "a streaming message",
    "x-opt-qd.address":              "dynamic address",
    # Footer of RabbitMQ's Erlang client
    "x-opt-crc-32":                  "CRC-32 of the bare message",
    "x-opt-adler-32":                "Adler-32 of the bare message",
}

PROPERTIES: Final = {
    # open
    "product":                         "the peer's name",
    "version":                         "the peer's version",
    "platform":                        "what the peer runs on",
    "queue-prefix":                    "prefix that makes an address a queue",
    "topic-prefix":                    "prefix that makes an address a topic",
    "failover-server-list":            "brokers to try when this one is gone",
    "network-host":                    "host to connect to",
    "hostname":                        "value for open.hostname there",
    "port":                            "port to connect to",
    "scheme":                          "transport to connect with",
    "address":                         "address to attach to there",
    "qd.conn-id":                      "router's connection id",
    "qd.inter-router-cost":            "cost of this path between routers",
    "amqp:connection-establishment-failed": "this open is refused: a close follows",
    "invalid-field":                   "the field that was refused",
    "container-id":                    "the container id that was refused",
    # attach
    "com.microsoft:timeout":           "how long the service may take (ms)",
    "com.microsoft:epoch":             "the receiver with the highest epoch displaces the others",
    "com.microsoft:tracking-id":       "id for the service's support",
    "com.microsoft:entity-type":       "kind of entity",
    "com.microsoft:batch-flush-interval": "how long the service may collect a batch (ms)",
    "com.microsoft:locked-until-utc":  "when the lock on the session ends (.NET ticks)",
    "com.microsoft:api-version":       "version of the service's interface",
    "com.microsoft:client-version":    "version of the client library",
    "com.microsoft:server-timeout":    "how long the service may take (ms)",
    "paired":                          "this link and its namesake the other way are a pair",
    "priority":                        "receivers of higher priority are served first",
    # application properties of requests and replies
    "operation":                       "what the request asks for",
    "status-code":                     "result of the request, as in HTTP",
    "status-description":              "result of the request in words",
    "statusCode":                      "result of the request, as in HTTP",
    "statusDescription":               "result of the request in words",
    "DeadLetterReason":                "why the message was dead-lettered",
    "DeadLetterErrorDescription":      "why the message was dead-lettered, in words",
}

CAPABILITIES: Final = {
    "ANONYMOUS-RELAY":               "no target address: each message says where it goes",
    "DELAYED_DELIVERY":              "messages can be delivered later",
    "SHARED-SUBS":                   "several receivers can share a subscription",
    "sole-connection-for-container": "one connection for each container id",
    "LINK_PAIR_V1_0":                "links can be paired for request and reply",
    "AMQP_FILTEX_SQL_V1_0":          "SQL filter expressions",
    "AMQP_FILTEX_PROP_V1_0":         "property filter expressions",
    "APACHE.ORG:SELECTOR":           "JMS selectors",
    "AMQ_CORE_MESSAGE_TUNNELING":    "Artemis core messages inside AMQP",
    "amq.mirror":                    "Artemis broker mirror",
    "amq.no.forward":                "Artemis: do not forward from here",
    "qd.router":                     "router's control link",
    "qd.router-data":                "router's message link",
    # also with a number: `qd.waypoint.7`
    "qd.waypoint":                   "router address that passes a broker",
    "qd.fallback":                   "router's fallback address",
    "qd.streaming-links":            "router links for streaming messages",
    "queue":                         "the node is a queue",
    "topic":                         "the node is a topic",
    "temporary-queue":               "the node is a queue that lives as long as its connection",
    "temporary-topic":               "the node is a topic that lives as long as its connection",
    "shared":                        "the subscription can be shared",
    "global":                        "the subscription is shared across connections",
}

OPERATIONS: Final = {
    "put-token":                                 "hand in a token for an audience",
    "com.microsoft:renew-lock":                  "prolong the lock on messages",
    "com.microsoft:renew-session-lock":          "prolong the lock on a session",
    "com.microsoft:peek-message":                "look at messages without locking them",
    "com.microsoft:schedule-message":            "send messages that become available later",
    "com.microsoft:cancel-scheduled-message":    "take scheduled messages back",
    "com.microsoft:receive-by-sequence-number":  "receive deferred messages",
    "com.microsoft:update-disposition":          "settle messages by their lock tokens",
    "com.microsoft:get-session-state":           "read a session's state",
    "com.microsoft:set-session-state":           "write a session's state",
}

MECHANISMS: Final = {
    "ANONYMOUS":          "no identity; the response may carry a trace of the client",
    "PLAIN":              "user name and password in clear text",
    "EXTERNAL":           "identity from the layer below, as a TLS certificate",
    "CRAM-MD5":           "password proven by an MD5 digest",
    "DIGEST-MD5":         "password proven by an MD5 digest, obsolete",
    "SCRAM-SHA-1":        "password proven both ways, SHA-1",
    "SCRAM-SHA-1-PLUS":   "password proven both ways, SHA-1, bound to the TLS channel",
    "SCRAM-SHA-256":      "password proven both ways, SHA-256",
    "SCRAM-SHA-256-PLUS": "password proven both ways, SHA-256, bound to the TLS channel",
    "SCRAM-SHA-512":      "password proven both ways, SHA-512",
    "SCRAM-SHA-512-PLUS": "password proven both ways, SHA-512, bound to the TLS channel",
    "XOAUTH2":            "OAuth 2 token",
    "OAUTHBEARER":        "OAuth 2 bearer token",
    "GSSAPI":             "Kerberos",
    "MSSBCBS":            "no secret here: the client goes on to put a token at $cbs",
    "AMQPCBS":            "claims-based security in SASL itself",
}

MESSAGE_FORMATS: Final = {
    # The last octet is the version.
    0x00000000: "AMQP message",
    0x80013700: "Azure batch: each data section is a whole message",
    0x468C0100: "Artemis core message",
    0x468C0200: "Artemis large core message",
    0x468C0300: "Artemis core message, compressed",
    0x468C0400: "Artemis large core message, compressed",
    0x468C0500: "Artemis AMQP message, compressed",
    0x468C0600: "Artemis large AMQP message, compressed",
}
# fmt: on

_CODES: Final = {
    **{row.code: row.symbol for row in (*COMPOSITES, *RESTRICTED) if row.code is not None},
    **{row.code: row.symbol for row in EXTENSIONS if row.code is not None},
}
_NOTES: Final = {row.symbol: row.note for row in EXTENSIONS}


def descriptor_name(descriptor: Value) -> str:
    """What to call a descriptor: its symbol if one is known, else domain and id."""
    if isinstance(descriptor, str):
        return str(descriptor)
    if not isinstance(descriptor, int) or isinstance(descriptor, bool) or descriptor < 0:
        return repr(descriptor)
    known = _CODES.get(int(descriptor))
    if known is not None:
        return known
    domain, number = descriptor >> 32, descriptor & 0xFFFFFFFF
    if descriptor >> 28 == 0x0137:
        domain, number = 0x0137, descriptor & 0x0FFFFFFF
    name = DOMAINS.get(domain)
    return f"0x{descriptor:016x}" if name is None else f"{name}:0x{number:x}"


def descriptor_note(descriptor: Value) -> str:
    """What a described value of an extension is for."""
    return _NOTES.get(descriptor_name(descriptor), "")


def annotation_note(key: str) -> str:
    """What an annotation of the message, the delivery or the footer means."""
    return ANNOTATIONS.get(key, "")
