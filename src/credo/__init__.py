"""Bayesian machine learning: beliefs, predictions with honest uncertainty, decisions."""

from credo.exports import exports

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = exports(__name__, __file__)
