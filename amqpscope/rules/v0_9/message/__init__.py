"""Message class of 0-9 (A09-MSG)."""
