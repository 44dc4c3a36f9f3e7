"""What the report asks of the tables, in SQL for DuckDB, which needs little memory for much.

An example is the gravest of some findings, and of these the first.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Final

import duckdb

from amqpscope.findings import SEVERITIES
from amqpscope.spark.schema import TABLES

if TYPE_CHECKING:
    from amqpscope.spark.tables import Snapshot

MEMORY: Final = "2GB"
"""What is more goes to files of the temporary directory."""
UNKNOWN: Final = "(unknown)"

NEWEST: Final = """
    CREATE TEMP VIEW newest AS SELECT DISTINCT ring, path FROM inputs WHERE first_run >= {begun}"""
FOUND: Final = f"""
    CREATE TEMP VIEW found AS SELECT findings.*,
        {{ring: findings.ring, connection: connection, frame: frame, packet: packet, rule: rule,
          message: message}} AS place,
        row(list_position({list(SEVERITIES)}, severity), findings.ring, frame, rule, message)
            AS gravity,
        newest.path IS NOT NULL AS fresh
    FROM findings LEFT JOIN newest ON findings.ring = newest.ring AND findings.file = newest.path"""
STALLED: Final = """
    CREATE TEMP VIEW stalled AS
    SELECT ring, connection, CAST(sum(stalled_ns) AS BIGINT) AS stalled,
        arg_min({frame: longest_frame, packet: longest_packet},
                row(-longest_ns, coalesce(longest_frame, 0))) AS longest
    FROM (SELECT ring, connection, stalled_ns, longest_ns, longest_frame, longest_packet
          FROM sessions
          UNION ALL
          SELECT ring, connection, stalled_ns, longest_ns, longest_frame, longest_packet
          FROM links)
    GROUP BY ring, connection"""

COUNTS: Final = f"""count(*) AS count,
    {", ".join(f"count(*) FILTER (severity = '{each}') AS {each}" for each in SEVERITIES)},
    arg_min(place, gravity) AS example"""

TOTALS: Final = """
    SELECT captures, CAST(octets AS BIGINT) AS octets, CAST(packets AS BIGINT) AS packets,
        connections, CAST(frames AS BIGINT) AS frames
    FROM (SELECT count(*) AS captures, coalesce(sum(octets), 0) AS octets,
              coalesce(sum(packets), 0) AS packets FROM captures),
         (SELECT count(*) AS connections,
              coalesce(sum(client_frames + server_frames), 0) AS frames FROM connections)"""
RULES: Final = f"""
    SELECT rule, any_value(name) AS name, severity, peer, count(*) AS count,
        count(*) FILTER (fresh) AS new, arg_min(place, gravity) AS example,
        arg_min(place, gravity) FILTER (fresh) AS new_example
    FROM found GROUP BY rule, severity, peer
    ORDER BY list_position({list(SEVERITIES)}, severity), count DESC, rule, peer"""
PRODUCTS: Final = f"""
    SELECT coalesce(nullif(product, ''), '{UNKNOWN}') AS product, peer, {COUNTS}
    FROM found GROUP BY ALL ORDER BY count DESC, product, peer"""
DAYS: Final = f"""
    SELECT CAST(day AS VARCHAR) AS day, {COUNTS} FROM found GROUP BY ALL ORDER BY day"""
WORST: Final = f"""
    SELECT worst.*, coalesce(stalled, 0) AS stalled
    FROM (SELECT ring, connection, {COUNTS} FROM found GROUP BY ring, connection
          ORDER BY {", ".join(f"{each} DESC" for each in SEVERITIES)}, ring, connection
          LIMIT ?) AS worst
    LEFT JOIN stalled USING (ring, connection)
    ORDER BY {", ".join(f"{each} DESC" for each in SEVERITIES)}, ring, connection"""
STALLS: Final = """
    SELECT ring, connection, stalled, longest.frame AS frame, longest.packet AS packet
    FROM stalled WHERE stalled > 0 ORDER BY stalled DESC, ring, connection LIMIT ?"""
LATENCY: Final = """
    SELECT (SELECT map_from_entries(list({k: place, v: times})) FROM (
                SELECT each.key AS place, CAST(sum(each.value) AS BIGINT) AS times
                FROM (SELECT unnest(map_entries(latency)) AS each FROM links)
                GROUP BY place)) AS latency,
        CAST(sum(latency_count) AS BIGINT) AS latency_count,
        min(latency_min_ns) FILTER (latency_count > 0) AS latency_min_ns,
        max(latency_max_ns) FILTER (latency_count > 0) AS latency_max_ns
    FROM links"""
SUMS: Final = """
    SELECT address, sender, map_from_entries(list({{k: word, v: times}})) AS {column} FROM (
        SELECT address, sender, each.key AS word, CAST(sum(each.value) AS BIGINT) AS times
        FROM (SELECT coalesce(address, '') AS address, sender,
                  unnest(map_entries({column})) AS each FROM links)
        GROUP BY ALL ORDER BY times DESC, word)
    GROUP BY address, sender"""
ADDRESSES: Final = f"""
    WITH busy AS (
        SELECT coalesce(address, '') AS address, sender, CAST(sum(deliveries) AS BIGINT)
            AS deliveries, CAST(sum(transfers) AS BIGINT) AS transfers,
            CAST(sum(octets) AS BIGINT) AS octets, CAST(sum(stalled_ns) AS BIGINT) AS stalled,
            CAST(sum(latency_count) AS BIGINT) AS latency_count,
            min(latency_min_ns) FILTER (latency_count > 0) AS latency_min_ns,
            max(latency_max_ns) FILTER (latency_count > 0) AS latency_max_ns,
            arg_min({{ring: ring, connection: connection, frame: first_frame,
                      packet: first_packet, link: name}},
                    row(-deliveries, ring, connection, coalesce(name, ''))) AS example
        FROM links GROUP BY ALL HAVING sum(deliveries) > 0
        ORDER BY deliveries DESC, address, sender LIMIT ?),
    ended AS ({SUMS.format(column="outcomes")}),
    settled AS ({SUMS.format(column="latency")})
    SELECT busy.*, outcomes, latency FROM busy
    LEFT JOIN ended USING (address, sender) LEFT JOIN settled USING (address, sender)
    ORDER BY deliveries DESC, address, sender"""
SLOWEST_LINK: Final = """
    SELECT latency_max_ns, ring, connection FROM links WHERE latency_count > 0
    ORDER BY latency_max_ns DESC, ring, connection LIMIT 1"""
SLOWEST: Final = """
    SELECT ring, connection, frame, packet, link FROM deliveries
    WHERE latency_ns = ? AND ring = ? AND connection = ? ORDER BY frame LIMIT 1"""
QUARANTINE: Final = "SELECT path, reason, whole FROM quarantine ORDER BY ring, path"
FILES: Final = """
    SELECT ring, first_packet, ordinal, path FROM captures WHERE ring IN (SELECT ring FROM wanted)
    ORDER BY first_packet, ordinal, path"""
PEERS: Final = """
    SELECT ring, connection, client, server, client_product, server_product, gaps, first_packet,
        first_frame
    FROM connections JOIN wanted USING (ring, connection)"""


class Asked:
    """The tables as DuckDB has them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.rings = snapshot.state.rings
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")
        self.database.execute(f"SET memory_limit = '{MEMORY}'")
        self.database.execute("SET temp_directory = ?", [tempfile.gettempdir()])
        for table in TABLES:
            self.database.register(table, snapshot.dataset(table))
        self.database.register("inputs", self.rings.rows)
        for view in (NEWEST.format(begun=snapshot.state.begun), FOUND, STALLED):
            self.database.execute(view)

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *error: object) -> None:
        self.database.close()

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """What a query gives, with values for its question marks."""
        found = self.database.execute(query, values)
        names = [each[0] for each in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
