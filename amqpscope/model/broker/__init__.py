"""What becomes of messages at one broker, over all connections to it.

`Envelope` is what one message says of itself, `Leg` one passage of it between a client and the
broker, `Journey` all legs of one message, `Node` where messages wait, and `Broker` all of them.
`insight.journeys` fills these from Steps; the rules of `rules.broker` look at them.
"""
