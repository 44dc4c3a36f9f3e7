"""AMQP 0-8, 0-9 and 0-9-1 with their variants, and the draft before them."""
