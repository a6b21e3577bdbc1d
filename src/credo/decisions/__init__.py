"""Losses, and the action that minimizes expected loss under a predictive distribution."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
