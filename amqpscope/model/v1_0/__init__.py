"""Both peers of an AMQP 1.0 connection, as the frames show them."""
