"""Transactions (A09-TX, A09-DTX)."""
