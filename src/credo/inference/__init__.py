"""Engines that turn a problem into a posterior."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
