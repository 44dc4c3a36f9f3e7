"""Exchange (A09-EXC): declaring, deleting and binding exchanges."""
