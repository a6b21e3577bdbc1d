"""Gaussian processes: evidence with gradients, exact and beyond, and learned settings."""
