"""Estimators and networks: state a problem, choose an engine, answer questions."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
