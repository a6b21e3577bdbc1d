"""Calibration and comparison of answers, and scores; the laws every part must obey."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
