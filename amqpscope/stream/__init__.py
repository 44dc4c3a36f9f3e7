"""TCP streams: segments put in order and cut into frames. Octets without meaning."""
