"""Tables and model files, in and out; typed columns; embedded data sets."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
