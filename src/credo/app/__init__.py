"""Command line and report: read files, call the rooms, write pages."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
