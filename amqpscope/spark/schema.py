"""The tables: their columns, types and meaning.

One row a column; the Arrow and Spark schemas are made from these. `ring`
names the directory (or manifest entry) of captures that belong together; numbers of frames,
packets and connections are those that `lint`, `stats` and `read` give for the ring as one
capture. `day` is added to every table for partitioning: the UTC day of `time`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: str
    """As Spark's SQL spells it."""
    what: str


def _columns(text: str) -> tuple[Column, ...]:
    """Columns from lines of `name  type  what it means`."""
    rows = (line.split(None, 2) for line in text.strip().splitlines())
    return tuple(Column(*row) for row in rows)


VERSION: Final = 3

# fmt: off
TABLES: Final = {
    "captures": _columns("""
        ring          string     directory or manifest entry
        path          string     the file
        ordinal       int        its place in the ring, from 0
        time          timestamp  of its first packet
        time_ns       bigint     the same in nanoseconds since 1970
        last_ns       bigint     of its last packet
        octets        bigint     size as stored
        first_packet  bigint     number of its first packet in the ring
        packets       bigint     how many it has
        error         string     why it was not read to its end
        notes         string     what else should be known
    """),
    "connections": _columns("""
        ring              string              directory or manifest entry
        connection        bigint              number in the ring, from 1
        time              timestamp           of the first frame
        time_ns           bigint              the same in nanoseconds
        last_ns           bigint              of the last frame
        client            string              address and port
        server            string              address and port
        client_address    string              the address alone
        client_port       int                 the port alone
        server_address    string              the address alone
        server_port       int                 the port alone
        protocol          string              its name, as --decode-as takes it
        client_container  string              container-id of the client's open
        server_container  string              container-id of the server's open
        client_product    string              product of the client's open
        server_product    string              product of the server's open
        client_version    string              version of that product
        server_version    string              version of that product
        hostname          string              hostname or virtual host that the client asks for
        user              string              name that it logs in with; null: not shown
        client_frames     bigint              frames the client sent
        server_frames     bigint              frames the server sent
        client_octets     bigint              their octets
        server_octets     bigint              their octets
        performatives     map<string,bigint>  frames by name
        gaps              bigint              places where octets are missing
        first_packet      bigint              packet of the first frame
        last_packet       bigint              packet of the last frame
        first_frame       bigint              number of the first frame in the ring
        provisional       boolean             true: the connection goes on; the row will be replaced
    """),
    "sessions": _columns("""
        ring             string     directory or manifest entry
        connection       bigint     number in the ring
        session_id       int        which one of the connection, from 0
        time             timestamp  of the connection's first frame
        peer             string     whose end: client or server
        channel          int        its channel
        transfers        bigint     sent by this end
        stalls           bigint     times its window was closed
        stalled_ns       bigint     nanoseconds in all
        longest_ns       bigint     the longest of them
        longest_frame    bigint     with which that began; null: none
        longest_packet   bigint     that of this frame
        provisional      boolean    true: the connection goes on; the row will be replaced
    """),
    "links": _columns("""
        ring             string              directory or manifest entry
        connection       bigint              number in the ring
        link_id          int                 which one of the connection, from 0
        session_id       int                 the sender's end of its session; null: none
        time             timestamp           of the connection's first frame
        name             string              of the link
        address          string              of the node
        sender           string              who sends: client or server
        channel          int                 of the end seen first
        transfers        bigint              frames
        deliveries       bigint              messages begun
        octets           bigint              of payload
        aborted          bigint              deliveries given up by the sender
        presettled       bigint              deliveries sent settled
        outcomes         map<string,bigint>  settled deliveries by outcome
        latency          map<int,bigint>     settle latencies: class n is about 1.04^n nanoseconds
        latency_count    bigint              how many
        latency_min_ns   bigint              the shortest
        latency_max_ns   bigint              the longest
        stalls           bigint              times it had no credit
        stalled_ns       bigint              nanoseconds in all
        longest_ns       bigint              the longest of them
        kind             string              link, exchange or queue
        redelivered      bigint              deliveries marked so, where they can be
        first_frame      bigint              of its first delivery; null: it has none
        first_packet     bigint              that of this frame
        longest_frame    bigint              with which the longest stall began; null: none
        longest_packet   bigint              that of this frame
        provisional      boolean             true: the connection goes on; the row will be replaced
    """),
    "deliveries": _columns("""
        ring            string     directory or manifest entry
        connection      bigint     number in the ring
        delivery_id     bigint     which one of the ring: the number of its first frame
        frame           bigint     of the first transfer
        packet          bigint     of the first transfer
        time            timestamp  of the first transfer
        time_ns         bigint     the same in nanoseconds
        link_id         int        the link, exchange or queue, as in links
        session_id      int        the sender's end of its session, as in sessions
        link            string     name of the link
        address         string     of the node
        sender          string     client or server
        wire_id         bigint     delivery-id or delivery-tag on the wire, which come again
        tag             binary     delivery-tag
        transfers       int        frames
        octets          bigint     of payload
        complete        boolean    its last transfer was seen
        aborted         boolean    given up by the sender
        presettled      boolean    sent settled
        redelivered     boolean    its sender says that it was delivered before
        outcome         string     how it was settled; null while it is not
        settled_packet  bigint     packet of the frame that settled it
        latency_ns      bigint     from first transfer to that frame
    """),
    "frames": _columns("""
        ring        string         directory or manifest entry
        connection  bigint         number in the ring
        frame       bigint         number in the ring
        packet      bigint         that completed it
        time        timestamp      of that packet
        time_ns     bigint         the same in nanoseconds
        sender      string         client or server
        protocol    string         its name, as --decode-as takes it
        kind        string         header, amqp, sasl, empty or malformed
        channel     int            null for a protocol header
        name        string         of the performative
        octets      bigint         on the wire
        link        string         name of the link
        address     string         of its node
        wire_id     bigint         delivery-id or delivery-tag on the wire
        findings    array<string>  ids of the rules that it breaks, but for those about brokers
    """),
    "findings": _columns("""
        ring         string                                   directory or manifest entry
        connection   bigint                                   number in the ring
        frame        bigint                                   number in the ring
        packet       bigint                                   number in the ring
        time         timestamp                                of the frame
        time_ns      bigint                                   the same in nanoseconds
        rule         string                                   id
        name         string                                   of the rule
        severity     string                                   error, warning or info
        certainty    string                                   sure or suspect
        peer         string                                   at fault: client or server
        product      string                                   of that peer, as its open says
        version      string                                   of that product
        message      string                                   what is wrong
        channel      int                                      of the frame
        session_id   int                                      of the link, as in sessions
        link_id      int                                      as in links; null: none, or several
        link         string                                   name of the link
        address      string                                   of its node
        delivery_id  bigint                                   as in deliveries; null: not one
        path         string                                   the field
        section      string                                   of the specification
        related      array<struct<frame:bigint,why:string,connection:bigint>>  other frames
        file         string                                   the capture that has the packet
        file_packet  bigint                                   its number there
    """),
    "statistics": _columns("""
        ring            string              directory or manifest entry
        connection      bigint              number in the ring
        time            timestamp           the minute
        link_id         int                 as in links; null: the row is of a session
        session_id      int                 as in sessions
        address         string              of the node
        sender          string              who sends: client or server
        transfers       bigint              frames in this minute
        deliveries      bigint              messages begun in it
        redelivered     bigint              those that their sender says were delivered before
        octets          bigint              of payload
        settled         bigint              deliveries settled in it
        outcomes        map<string,bigint>  these by outcome
        latency         map<int,bigint>     their latencies, as in links
        latency_min_ns  bigint              the shortest
        latency_max_ns  bigint              the longest
        stalls          bigint              times that the link ran out of credit in it
        stalled_ns      bigint              nanoseconds of this minute without credit
        window_stalls   bigint              times that the session's window closed in it
        window_stalled_ns  bigint           nanoseconds of this minute with a closed window
    """),
    "messages": _columns("""
        ring                 string     directory or manifest entry
        message              bigint     which one of the ring: the number of its first frame
        time                 timestamp  of that frame
        time_ns              bigint     the same in nanoseconds
        broker               string     its address and port
        node                 string     where it was published to, or else came from
        address              string     the same as links have it
        protocol             string     in which it was seen first
        id                   string     its message-id
        octets               bigint     its size
        state                string     settled, waiting, held, lost?, ... as in the TUI
        match                string     how its first delivery was recognised; null: none
        doubt                string     why nothing is concluded from it; null: something is
        published            bigint     how often, or others that are equal to it
        deliveries           bigint     how often it was handed to consumers
        redeliveries         bigint     those after the first from each node
        accepted             bigint     how often consumers accepted it
        outcome              string     what a consumer said last
        publish_connection   bigint     of its first publish; null: not in view
        publish_frame        bigint     of its first publish
        publish_ns           bigint     when that was complete
        publish_outcome      string     what the broker said of it
        confirm_ns           bigint     nanoseconds until it said so
        delivery_connection  bigint     of its first delivery; null: not in view
        delivery_frame       bigint     of its first delivery
        first_delivery_ns    bigint     when that was
        last_delivery_ns     bigint     when its last delivery was
        latency_ns           bigint     nanoseconds from publish to first delivery
        settle_ns            bigint     nanoseconds from its last delivery to the outcome
    """),
    "hops": _columns("""
        ring          string     directory or manifest entry
        message       bigint     as in messages
        hop           int        which one of the message, from 0: up to 64 each way
        time          timestamp  of its first frame
        time_ns       bigint     the same in nanoseconds
        kind          string     publish or delivery
        connection    bigint     number in the ring
        delivery_id   bigint     as in deliveries
        link_id       int        as in links
        link          string     name of the link
        address       string     of the node, as links have it
        node          string     the same for all names that the broker has for it
        channel       int        of the link or consumer
        frame         bigint     its first
        packet        bigint     of that frame
        last_frame    bigint     that completes it
        match         string     how a delivery was recognised; null: a publish
        attempt       int        the how manieth delivery from this node; null: a publish
        redelivered   boolean    the broker says that it was delivered before
        browsed       boolean    it was looked at, and not taken
        latency_ns    bigint     nanoseconds since it was published; null: not known
        outcome       string     what was said of it; null: nothing
        outcome_frame bigint     the frame that says so
        outcome_ns    bigint     when that was
        settle_ns     bigint     nanoseconds until then
        ended_frame   bigint     with which link or connection ended before the outcome
    """),
    "quarantine": _columns("""
        ring     string     directory or manifest entry
        path     string     the file
        time     timestamp  when it was last changed
        octets   bigint     size as stored
        reason   string     why it, or its rest, could not be read
        whole    boolean    nothing of it could be read
    """),
}
# fmt: on

REFERRING: Final = {
    "connections": ("first_frame",),
    "sessions": ("longest_frame",),
    "links": ("first_frame", "longest_frame"),
    "findings": ("delivery_id",),
}
"""Columns with numbers of frames that may be of another slice than their row."""
NUMBERED: Final = ("deliveries", "frames", "findings")
"""Tables with a column `frame`."""


def ddl(table: str) -> str:
    """A table's columns as Spark's SQL spells them, with the day."""
    columns = ", ".join(f"`{c.name}` {c.type}" for c in TABLES[table])
    return f"{columns}, `day` date"


@cache
def arrow_schema(table: str) -> pa.Schema:
    """A table's columns for Arrow, without the day."""
    import pyarrow as pa

    return pa.schema([(c.name, _arrow_type(c.type)) for c in TABLES[table]])


@cache
def table_schema(table: str) -> pa.Schema:
    """A table's columns for Arrow, with the day."""
    import pyarrow as pa

    return arrow_schema(table).append(pa.field("day", pa.date32()))


def _arrow_type(name: str) -> pa.DataType:
    import pyarrow as pa

    simple = {
        "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_(),
        "binary": pa.binary(), "timestamp": pa.timestamp("us", "UTC"),
        "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
        "map<int,bigint>": pa.map_(pa.int32(), pa.int64()),
        "array<string>": pa.list_(pa.string()),
        "array<struct<frame:bigint,why:string,connection:bigint>>":
            pa.list_(pa.struct([
                ("frame", pa.int64()), ("why", pa.string()), ("connection", pa.int64()),
            ])),
    }  # fmt: skip
    return simple[name]
