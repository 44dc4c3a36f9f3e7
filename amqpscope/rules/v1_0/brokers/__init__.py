"""What a broker owes its clients, as far as one connection shows it (BRK)."""
