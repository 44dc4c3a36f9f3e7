"""What do these octets say? Pure decoding and encoding of the AMQP family; no I/O, no state."""
