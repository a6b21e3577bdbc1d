"""Bayesian machine learning: beliefs, predictions with honest uncertainty, decisions."""

from credo.exports import public_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = public_names(__name__)
