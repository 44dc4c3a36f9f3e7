"""Live traffic: a relay between client and broker that records what passes.

The relay only passes on and records; whoever wants to know what was said follows the recording.
"""
