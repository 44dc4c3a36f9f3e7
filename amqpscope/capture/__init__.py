"""Captures in and out: the only place that reads or writes capture files."""
