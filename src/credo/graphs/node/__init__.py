"""Nodes of Bayesian networks: tables, noisy gates, linear Gaussians, thresholds."""
