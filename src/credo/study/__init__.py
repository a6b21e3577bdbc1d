"""The workflow of a table: candidates, judgement, result and remarks."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
