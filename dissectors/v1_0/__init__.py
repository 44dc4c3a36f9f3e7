"""AMQP 1.0: types, transport, messaging, transactions and security (parts 1 to 5)."""
