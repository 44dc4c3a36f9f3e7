"""Connection (A09-CON): handshake, login, tuning, heartbeat and close."""
