"""Compiled loops over tables of discrete variables, and what calls them."""
