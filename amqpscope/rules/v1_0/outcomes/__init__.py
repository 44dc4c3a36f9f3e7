"""Delivery states and outcomes (OUT)."""
