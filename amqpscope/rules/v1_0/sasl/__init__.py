"""SASL (SAS): frames, exchange, fields and mechanisms."""
