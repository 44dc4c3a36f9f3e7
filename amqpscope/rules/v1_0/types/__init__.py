"""Types (TYP): values against the rows of their types."""
