"""Disposition (DSP): which deliveries are named, and what is said of them."""
