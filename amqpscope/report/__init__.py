"""Sinks: Steps and Findings as text, JSON lines and other formats. None of them decodes frames."""
