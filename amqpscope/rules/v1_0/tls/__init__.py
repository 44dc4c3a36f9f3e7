"""TLS (TLS): its header, and how the layers beneath AMQP were set up."""
