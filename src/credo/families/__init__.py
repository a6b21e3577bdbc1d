"""Conjugate families: additive statistics and the beliefs they update."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
