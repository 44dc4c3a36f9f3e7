"""Nodes that a broker makes, and what they are called (BRK)."""
