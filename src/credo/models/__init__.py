"""Estimators and networks: state a problem, choose an engine, answer questions."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
