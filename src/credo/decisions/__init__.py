"""Losses, and the action that minimizes expected loss under a predictive distribution."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
