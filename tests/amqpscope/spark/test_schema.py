"""The tables keep their columns: who reads them relies on that."""

import pytest

from amqpscope.spark.schema import TABLES, arrow_schema, ddl

COLUMNS = {
    "captures": "ring path ordinal time time_ns last_ns octets first_packet packets error notes",
    "connections": "ring connection time time_ns last_ns client server client_address client_port"
    " server_address server_port protocol client_container server_container"
    " client_product server_product client_version server_version hostname user"
    " client_frames server_frames client_octets server_octets performatives gaps"
    " first_packet last_packet first_frame provisional",
    "sessions": "ring connection session_id time peer channel transfers stalls stalled_ns"
    " longest_ns longest_frame longest_packet provisional",
    "links": "ring connection link_id session_id time name address sender channel transfers"
    " deliveries octets aborted presettled outcomes latency latency_count"
    " latency_min_ns latency_max_ns stalls stalled_ns longest_ns kind redelivered"
    " first_frame first_packet longest_frame longest_packet provisional",
    "deliveries": "ring connection delivery_id frame packet time time_ns link_id session_id link"
    " address sender wire_id tag transfers octets complete aborted presettled"
    " redelivered outcome settled_packet latency_ns",
    "frames": "ring connection frame packet time time_ns sender protocol kind channel name"
    " octets link address wire_id findings",
    "findings": "ring connection frame packet time time_ns rule name severity certainty peer"
    " product version message channel session_id link_id link address delivery_id path"
    " section related file file_packet",
    "statistics": "ring connection time link_id session_id address sender transfers deliveries"
    " redelivered octets settled outcomes latency latency_min_ns latency_max_ns stalls"
    " stalled_ns window_stalls window_stalled_ns",
    "messages": "ring message time time_ns broker node address protocol id octets state match"
    " doubt published deliveries redeliveries accepted outcome publish_connection"
    " publish_frame publish_ns publish_outcome confirm_ns delivery_connection"
    " delivery_frame first_delivery_ns last_delivery_ns latency_ns settle_ns",
    "hops": "ring message hop time time_ns kind connection delivery_id link_id link address"
    " node channel frame packet last_frame match attempt redelivered browsed"
    " latency_ns outcome outcome_frame outcome_ns settle_ns ended_frame",
    "quarantine": "ring path time octets reason whole",
}


@pytest.mark.parametrize("table", TABLES)
def test_columns_stay(table):
    assert [column.name for column in TABLES[table]] == COLUMNS[table].split()


@pytest.mark.parametrize("table", TABLES)
def test_arrow_has_the_same_columns_and_each_has_a_word_said_of_it(table):
    assert arrow_schema(table).names == [column.name for column in TABLES[table]]
    assert all(column.what for column in TABLES[table])
    assert ddl(table).endswith("`day` date")
