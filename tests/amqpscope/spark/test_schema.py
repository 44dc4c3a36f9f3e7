"""The tables keep their columns: who reads them relies on that."""

import pytest

from amqpscope.spark.schema import TABLES, arrow_schema, ddl

COLUMNS = {
    "captures": "ring path ordinal time time_ns last_ns octets first_packet packets error notes",
    "connections": "ring connection time time_ns last_ns client server protocol client_container"
    " server_container client_product server_product client_frames server_frames client_octets"
    " server_octets performatives gaps first_packet last_packet first_frame",
    "sessions": "ring connection ordinal time peer channel transfers stalls stalled_ns longest_ns"
    " longest_frame longest_packet",
    "links": "ring connection ordinal time name address sender channel transfers deliveries octets"
    " aborted presettled outcomes latency latency_count latency_min_ns latency_max_ns stalls"
    " stalled_ns longest_ns kind redelivered first_frame first_packet longest_frame longest_packet",
    "deliveries": "ring connection frame packet time time_ns link address sender delivery_id tag"
    " transfers octets complete aborted presettled outcome settled_packet latency_ns",
    "frames": "ring connection frame packet time time_ns sender protocol kind channel name octets"
    " link address delivery_id findings",
    "findings": "ring connection frame packet time time_ns rule name severity certainty peer"
    " product message channel link path section related file file_packet",
    "statistics": "ring connection time address sender transfers deliveries octets settled"
    " outcomes latency latency_min_ns latency_max_ns",
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
