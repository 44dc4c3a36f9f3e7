"""Frame logs of AMQP 1.0 libraries, one module each."""
