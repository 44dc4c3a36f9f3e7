"""Recorded conversations played again: the client's side to a live server, or the server's side."""
