"""Minima of smooth functions: descent, Newton, L-BFGS-B, and checks of their gradients."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
