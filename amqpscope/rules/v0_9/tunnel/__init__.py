"""Tunnel, test and cluster classes (A09-TUN)."""
