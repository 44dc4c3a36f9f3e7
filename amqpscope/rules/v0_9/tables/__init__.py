"""Field tables (A09-TBL)."""
