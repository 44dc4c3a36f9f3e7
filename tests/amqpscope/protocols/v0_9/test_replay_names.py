"""Names that are others in each run, and what brokers add to headers."""

from amqpscope.protocols.v0_9.replay_names import renamed_value, without_additions
from dissectors.v0_9.values import Table


def test_a_name_is_renamed_in_arguments_too():
    asked = Table([("x-dead-letter-routing-key", "amq.gen-1"), ("x-max-length", 5)], b"SI")
    now = renamed_value(asked, {"amq.gen-1": "amq.gen-2"})
    assert now == Table([("x-dead-letter-routing-key", "amq.gen-2"), ("x-max-length", 5)], b"SI")


def test_what_a_broker_adds_is_left_out_of_headers():
    death = ("x-death", [Table([("time", 5)], b"T")])
    headers = Table([("k", 1), death, ("x-first-death-queue", "q")], b"IAS")
    kept = without_additions(headers)
    assert kept == Table([("k", 1)], b"I")
