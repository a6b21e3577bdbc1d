"""Chains of hidden states: both passes, paths, expectation maximization, draws."""
