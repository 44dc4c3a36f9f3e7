"""Encoding (ENC): octets that are no value, or not the value that they claim to be."""
