"""Broker behaviour (BRK): what becomes of messages between those who publish and those who consume.

Each rule looks at one message with all that happened to it, over all connections in view.
"""
