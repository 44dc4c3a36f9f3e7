"""Delivery (DLV): transfers, delivery-ids and tags, and states as their sender gives them."""
