"""AMQP 0-8, 0-9, 0-9-1 and the early draft, as both peers' frames show it.

One tracker follows a connection, whatever the dialect: the rows say which methods there are, which
carry a content, and what answers what. A channel number is one thing for both peers, so there is
one `Channel` for it, with what each of them has said on it.
"""
