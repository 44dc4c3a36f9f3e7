"""Channel (A09-CHN): opening, closing, flow and replies."""
