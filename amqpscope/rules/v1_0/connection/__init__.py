"""Connection (CON): open, close, empty frames and idle time-outs."""
