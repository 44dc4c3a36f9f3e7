"""Every module with rules, imported so that `RULES` is complete."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from amqpscope.rules import RULES, Rule

GROUPS: Final = (
    # module, the prefixes of its rules
    ("types", "TYP"),
    ("contents", "TYP"),
    ("encoding", "ENC TYP"),
    ("framing", "FRM"),
    ("version", "VER"),
    ("version_start", "VER"),
    ("connection", "CON"),
    ("closing", "CON"),
    ("idle", "CON"),
    ("session", "SES"),
    ("session_answer", "SES"),
    ("link", "LNK"),
    ("link_attach", "LNK"),
    ("link_names", "LNK"),
    ("link_refusal", "LNK"),
    ("link_detach", "LNK"),
    ("flow", "FLW"),
    ("flow_incoming", "FLW"),
    ("counts", "FLW"),
    ("credit", "FLW"),
    ("stalls", "FLW"),
    ("delivery", "DLV"),
    ("delivery_names", "DLV"),
    ("delivery_states", "DLV"),
    ("disposition", "DSP"),
    ("disposition_states", "DSP"),
    ("resume", "RES"),
    ("resume_transfers", "RES"),
    ("errors", "ERR"),
    ("reactions", "ERR"),
    ("accusations", "ERR"),
    ("message", "MSG"),
    ("message_fields", "MSG"),
    ("message_content", "MSG"),
    ("message_way", "MSG"),
    ("outcomes", "OUT"),
    ("outcomes_received", "OUT"),
    ("outcomes_offered", "OUT"),
    ("outcomes_resume", "OUT"),
    ("termini", "SRC"),
    ("termini_answer", "SRC"),
    ("termini_use", "SRC"),
    ("transactions", "TXN"),
    ("transactions_link", "TXN"),
    ("transactions_answers", "TXN"),
    ("transactions_declared", "TXN"),
    ("transactions_work", "TXN"),
    ("transactions_states", "TXN"),
    ("transactions_fate", "TXN"),
    ("redelivery", "OUT TXN"),
    ("sasl", "SAS"),
    ("sasl_exchange", "SAS"),
    ("sasl_fields", "SAS"),
    ("sasl_mechanisms", "SAS"),
    ("tls", "TLS"),
    ("tls_setup", "TLS"),
    # the older protocols
    ("older.framing", "A09-FRM"),
    ("older.methods", "A09-FRM"),
    ("older.content", "A09-FRM"),
    ("older.content_header", "A09-FRM"),
    ("older.requests", "A09-FRM"),
    ("older.sharing", "A09-CHN"),
    ("older.channel", "A09-CHN"),
    ("older.channel_close", "A09-CHN"),
    ("older.channel_flow", "A09-CHN"),
    ("older.access", "A09-CHN"),
    ("older.replies", "A09-CHN A09-EXC A09-QUE"),
    ("older.tables", "A09-TBL"),
    ("older.handshake", "A09-CON"),
    ("older.tuning", "A09-CON"),
    ("older.heartbeat", "A09-CON"),
    ("older.closing", "A09-CON"),
    ("older.extensions", "A09-CON"),
)


@cache
def load() -> dict[str, Rule]:
    """All rules by id."""
    for module, _ in GROUPS:
        import_module(f"amqpscope.rules.{module}")
    return RULES
