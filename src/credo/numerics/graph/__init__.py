"""Algorithms on graphs of numbers: maximum flow."""
