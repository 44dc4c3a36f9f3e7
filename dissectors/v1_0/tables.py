"""Composite and restricted types of parts 2 to 5, one row each.

The section number of the specification is above each block. Fields are in wire order.
"""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.encodings import TYPE_NUMBER
from dissectors.v1_0.rows import Composite, Field, Restricted

# fmt: off
_CAPABILITIES = (
    Field("offered-capabilities", "symbol", multiple=True),
    Field("desired-capabilities", "symbol", multiple=True),
    Field("properties",           "fields"),
)
_TERMINUS = (
    Field("address",                 "*",                      requires="address"),
    Field("durable",                 "terminus-durability",    default=0),
    Field("expiry-policy",           "terminus-expiry-policy", default="session-end"),
    Field("timeout",                 "seconds",                default=0),
    Field("dynamic",                 "boolean",                default=False),
    Field("dynamic-node-properties", "node-properties"),
)

COMPOSITES: Final = (
    # 2.7 performatives
    Composite("open", 0x10, ("frame",), (
        Field("container-id",         "string",            mandatory=True),
        Field("hostname",             "string"),
        Field("max-frame-size",       "uint",              default=4294967295),
        Field("channel-max",          "ushort",            default=65535),
        Field("idle-time-out",        "milliseconds"),
        Field("outgoing-locales",     "ietf-language-tag", multiple=True),
        Field("incoming-locales",     "ietf-language-tag", multiple=True),
        *_CAPABILITIES,
    )),
    Composite("begin", 0x11, ("frame",), (
        Field("remote-channel",       "ushort"),
        Field("next-outgoing-id",     "transfer-number",   mandatory=True),
        Field("incoming-window",      "uint",              mandatory=True),
        Field("outgoing-window",      "uint",              mandatory=True),
        Field("handle-max",           "handle",            default=4294967295),
        *_CAPABILITIES,
    )),
    Composite("attach", 0x12, ("frame",), (
        Field("name",                   "string",               mandatory=True),
        Field("handle",                 "handle",               mandatory=True),
        Field("role",                   "role",                 mandatory=True),
        Field("snd-settle-mode",        "sender-settle-mode",   default=2),
        Field("rcv-settle-mode",        "receiver-settle-mode", default=0),
        Field("source",                 "*",                    requires="source"),
        Field("target",                 "*",                    requires="target"),
        Field("unsettled",              "map"),
        Field("incomplete-unsettled",   "boolean",              default=False),
        Field("initial-delivery-count", "sequence-no"),
        Field("max-message-size",       "ulong"),
        *_CAPABILITIES,
    )),
    Composite("flow", 0x13, ("frame",), (
        Field("next-incoming-id",     "transfer-number"),
        Field("incoming-window",      "uint",              mandatory=True),
        Field("next-outgoing-id",     "transfer-number",   mandatory=True),
        Field("outgoing-window",      "uint",              mandatory=True),
        Field("handle",               "handle"),
        Field("delivery-count",       "sequence-no"),
        Field("link-credit",          "uint"),
        Field("available",            "uint"),
        Field("drain",                "boolean",           default=False),
        Field("echo",                 "boolean",           default=False),
        Field("properties",           "fields"),
    )),
    Composite("transfer", 0x14, ("frame",), (
        Field("handle",               "handle",            mandatory=True),
        Field("delivery-id",          "delivery-number"),
        Field("delivery-tag",         "delivery-tag"),
        Field("message-format",       "message-format"),
        Field("settled",              "boolean"),
        Field("more",                 "boolean",           default=False),
        Field("rcv-settle-mode",      "receiver-settle-mode"),
        Field("state",                "*",                 requires="delivery-state"),
        Field("resume",               "boolean",           default=False),
        Field("aborted",              "boolean",           default=False),
        Field("batchable",            "boolean",           default=False),
    )),
    Composite("disposition", 0x15, ("frame",), (
        Field("role",                 "role",              mandatory=True),
        Field("first",                "delivery-number",   mandatory=True),
        Field("last",                 "delivery-number"),
        Field("settled",              "boolean",           default=False),
        Field("state",                "*",                 requires="delivery-state"),
        Field("batchable",            "boolean",           default=False),
    )),
    Composite("detach", 0x16, ("frame",), (
        Field("handle",               "handle",            mandatory=True),
        Field("closed",               "boolean",           default=False),
        Field("error",                "error"),
    )),
    Composite("end",   0x17, ("frame",), (Field("error", "error"),)),
    Composite("close", 0x18, ("frame",), (Field("error", "error"),)),

    # 2.8.14
    Composite("error", 0x1D, (), (
        Field("condition",            "symbol", requires="error-condition", mandatory=True),
        Field("description",          "string"),
        Field("info",                 "fields"),
    )),

    # 3.4 delivery states
    Composite("received", 0x23, ("delivery-state",), (
        Field("section-number",       "uint",              mandatory=True),
        Field("section-offset",       "ulong",             mandatory=True),
    )),
    Composite("accepted", 0x24, ("delivery-state", "outcome"), ()),
    Composite("rejected", 0x25, ("delivery-state", "outcome"), (Field("error", "error"),)),
    Composite("released", 0x26, ("delivery-state", "outcome"), ()),
    Composite("modified", 0x27, ("delivery-state", "outcome"), (
        Field("delivery-failed",      "boolean"),
        Field("undeliverable-here",   "boolean"),
        Field("message-annotations",  "fields"),
    )),

    # 3.5 sources, targets, lifetime policies
    Composite("source", 0x28, ("source",), (
        *_TERMINUS,
        Field("distribution-mode",    "symbol",            requires="distribution-mode"),
        Field("filter",               "filter-set"),
        Field("default-outcome",      "*",                 requires="outcome"),
        Field("outcomes",             "symbol",            multiple=True),
        Field("capabilities",         "symbol",            multiple=True),
    )),
    Composite("target", 0x29, ("target",), (
        *_TERMINUS,
        Field("capabilities",         "symbol",            multiple=True),
    )),
    Composite("delete-on-close",                0x2B, ("lifetime-policy",), ()),
    Composite("delete-on-no-links",             0x2C, ("lifetime-policy",), ()),
    Composite("delete-on-no-messages",          0x2D, ("lifetime-policy",), ()),
    Composite("delete-on-no-links-or-messages", 0x2E, ("lifetime-policy",), ()),

    # 4.5 transactions
    Composite("coordinator", 0x30, ("target",), (
        Field("capabilities",         "symbol", requires="txn-capability", multiple=True),
    )),
    Composite("declare",   0x31, (), (Field("global-id", "*", requires="global-tx-id"),)),
    Composite("discharge", 0x32, (), (
        Field("txn-id",               "*",                 requires="txn-id", mandatory=True),
        Field("fail",                 "boolean"),
    )),
    Composite("declared",  0x33, ("delivery-state", "outcome"), (
        Field("txn-id",               "*",                 requires="txn-id", mandatory=True),
    )),
    Composite("transactional-state", 0x34, ("delivery-state",), (
        Field("txn-id",               "*",                 requires="txn-id", mandatory=True),
        Field("outcome",              "*",                 requires="outcome"),
    )),

    # 5.3.3 SASL
    Composite("sasl-mechanisms", 0x40, ("sasl-frame",), (
        Field("sasl-server-mechanisms", "symbol",          mandatory=True, multiple=True),
    )),
    Composite("sasl-init", 0x41, ("sasl-frame",), (
        Field("mechanism",            "symbol",            mandatory=True),
        Field("initial-response",     "binary"),
        Field("hostname",             "string"),
    )),
    Composite("sasl-challenge", 0x42, ("sasl-frame",), (
        Field("challenge",            "binary",            mandatory=True),
    )),
    Composite("sasl-response",  0x43, ("sasl-frame",), (
        Field("response",             "binary",            mandatory=True),
    )),
    Composite("sasl-outcome",   0x44, ("sasl-frame",), (
        Field("code",                 "sasl-code",         mandatory=True),
        Field("additional-data",      "binary"),
    )),

    # 3.2 message sections that are composites
    Composite("header", 0x70, ("section",), (
        Field("durable",              "boolean",           default=False),
        Field("priority",             "ubyte",             default=4),
        Field("ttl",                  "milliseconds"),
        Field("first-acquirer",       "boolean",           default=False),
        Field("delivery-count",       "uint",              default=0),
    )),
    Composite("properties", 0x73, ("section",), (
        Field("message-id",           "*",                 requires="message-id"),
        Field("user-id",              "binary"),
        Field("to",                   "*",                 requires="address"),
        Field("subject",              "string"),
        Field("reply-to",             "*",                 requires="address"),
        Field("correlation-id",       "*",                 requires="message-id"),
        Field("content-type",         "symbol"),
        Field("content-encoding",     "symbol"),
        Field("absolute-expiry-time", "timestamp"),
        Field("creation-time",        "timestamp"),
        Field("group-id",             "string"),
        Field("group-sequence",       "sequence-no"),
        Field("reply-to-group-id",    "string"),
    )),
)

RESTRICTED: Final = (
    # 2.8
    Restricted("role",                 "boolean",     (("sender", False), ("receiver", True))),
    Restricted("sender-settle-mode",   "ubyte",
               (("unsettled", 0), ("settled", 1), ("mixed", 2))),
    Restricted("receiver-settle-mode", "ubyte",       (("first", 0), ("second", 1))),
    Restricted("handle",               "uint"),
    Restricted("seconds",              "uint"),
    Restricted("milliseconds",         "uint"),
    Restricted("delivery-tag",         "binary"),
    Restricted("delivery-number",      "sequence-no"),
    Restricted("transfer-number",      "sequence-no"),
    Restricted("sequence-no",          "uint"),
    Restricted("message-format",       "uint"),
    Restricted("ietf-language-tag",    "symbol"),
    Restricted("fields",               "map"),
    # 3.2
    Restricted("annotations",          "map"),
    Restricted("message-id-ulong",     "ulong",       provides=("message-id",)),
    Restricted("message-id-uuid",      "uuid",        provides=("message-id",)),
    Restricted("message-id-binary",    "binary",      provides=("message-id",)),
    Restricted("message-id-string",    "string",      provides=("message-id",)),
    Restricted("address-string",       "string",      provides=("address",)),
    Restricted("delivery-annotations",   "annotations", provides=("section",), code=0x71),
    Restricted("message-annotations",    "annotations", provides=("section",), code=0x72),
    Restricted("application-properties", "map",         provides=("section",), code=0x74),
    Restricted("data",                   "binary",      provides=("section",), code=0x75),
    Restricted("amqp-sequence",          "list",        provides=("section",), code=0x76),
    Restricted("amqp-value",             "*",           provides=("section",), code=0x77),
    Restricted("footer",                 "annotations", provides=("section",), code=0x78),
    # 3.5
    Restricted("terminus-durability",    "uint",
               (("none", 0), ("configuration", 1), ("unsettled-state", 2))),
    Restricted("terminus-expiry-policy", "symbol",
               (("link-detach", "link-detach"), ("session-end", "session-end"),
                ("connection-close", "connection-close"), ("never", "never"))),
    Restricted("std-dist-mode",          "symbol",
               (("move", "move"), ("copy", "copy")), provides=("distribution-mode",)),
    Restricted("filter-set",             "map"),
    Restricted("node-properties",        "fields"),
    # 4.5
    Restricted("transaction-id",         "binary",    provides=("txn-id",)),
    Restricted("txn-capability",         "symbol",
               (("local-transactions",       "amqp:local-transactions"),
                ("distributed-transactions", "amqp:distributed-transactions"),
                ("promotable-transactions",  "amqp:promotable-transactions"),
                ("multi-txns-per-ssn",       "amqp:multi-txns-per-ssn"),
                ("multi-ssns-per-txn",       "amqp:multi-ssns-per-txn")),
               provides=("txn-capability",)),
    # 5.3.3.6
    Restricted("sasl-code",              "ubyte",
               (("ok", 0), ("auth", 1), ("sys", 2), ("sys-perm", 3), ("sys-temp", 4))),
)
# fmt: on

COMPOSITE: Final = {row.name: row for row in COMPOSITES}
RESTRICTED_TYPE: Final = {row.name: row for row in RESTRICTED}

SECTIONS: Final = {
    row.code: row.name
    for row in (*COMPOSITES, *RESTRICTED)
    if row.code is not None and "section" in row.provides
}
"""The message sections by descriptor."""

SECTION_SYMBOLS: Final = {
    row.symbol: row.code
    for row in (*COMPOSITES, *RESTRICTED)
    if row.code is not None and "section" in row.provides
}


def primitive(name: str) -> str:
    """The primitive type behind a field's type; `*` and composites stay as they are."""
    while name in RESTRICTED_TYPE:
        name = RESTRICTED_TYPE[name].source
    return name


def choice(name: str, value: object) -> str:
    """The spec's name for one of a restricted type's values, or nothing."""
    row = RESTRICTED_TYPE.get(name)
    if row is None:
        return ""
    return next((label for label, known in row.choices if known == value), "")


def field_numbers(row: Composite) -> bytes:
    """The primitive type's number of each field; 0 where any value is allowed."""
    return bytes(TYPE_NUMBER.get(primitive(field.type), 0) for field in row.fields)
