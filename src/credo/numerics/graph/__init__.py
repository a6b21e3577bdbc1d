"""Algorithms on graphs of numbers: lattices, maximum flow."""
