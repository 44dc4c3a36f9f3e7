"""Transactions (TXN): control links, declare, discharge and transactional work."""
