"""Stream class (A09-STR)."""
