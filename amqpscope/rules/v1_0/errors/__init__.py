"""Errors (ERR): what detach, end and close say, and the reactions to them."""
