"""Sources and targets (SRC)."""
