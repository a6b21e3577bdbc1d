"""Data sets and networks that travel with credo."""
