"""What a check is asked for, and what it results in."""
