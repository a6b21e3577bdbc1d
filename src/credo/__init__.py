"""Bayesian machine learning: beliefs, predictions with honest uncertainty, decisions."""
