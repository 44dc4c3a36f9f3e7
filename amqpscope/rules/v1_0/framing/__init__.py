"""Framing (FRM): sizes, offsets, types, channels and bodies of frames."""
