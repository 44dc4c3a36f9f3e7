"""From input to output: what the commands do."""
