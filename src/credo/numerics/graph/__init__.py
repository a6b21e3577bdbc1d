"""Algorithms on graphs of numbers: orders of elimination, lattices, maximum flow."""
