"""Framing (A09-FRM): headers, frames, methods and contents."""
