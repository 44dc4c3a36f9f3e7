"""Basic (A09-BAS): publishing, consuming, getting and acknowledging."""
