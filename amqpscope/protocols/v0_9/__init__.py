"""AMQP 0-8, 0-9 and 0-9-1, and the early drafts."""
