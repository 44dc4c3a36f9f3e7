"""Version negotiation (VER): protocol headers and what peers agree on by them."""
