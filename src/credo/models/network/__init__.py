"""Bayesian networks, Markov random fields and factor graphs, and their questions."""
