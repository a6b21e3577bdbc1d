"""Scores, splits, calibration and comparison of answers; the laws every part must obey."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
