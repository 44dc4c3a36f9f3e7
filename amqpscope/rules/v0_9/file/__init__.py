"""File class (A09-FIL)."""
