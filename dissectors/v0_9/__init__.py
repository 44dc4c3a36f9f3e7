"""The older family: AMQP 0-8, 0-9, 0-9-1 with its variants, and the draft before them."""
