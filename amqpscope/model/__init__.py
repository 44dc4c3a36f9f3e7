"""Both peers of a connection as their frames show them.

For each peer only what that peer itself has put on the wire is kept, never a merged view of the
two: frames cross in flight, and what one side announced is exact while what the other side knew
of it is not. What a peer may have known (K+) and provably knew (K-) when it sent a frame are two
offsets into its partner's stream: see `knowledge`.

What the capture does not show (it began later, octets are missing) is None, `assumed` or `lost`.
The README beside this file says more, and explains the words that are used here.
"""
