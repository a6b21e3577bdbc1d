"""Approximate inference in discrete networks: belief propagation, mean field, draws, cuts."""
