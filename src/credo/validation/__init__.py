"""Held-out rows, once: splits, folds, refitting without a fold, outcome coding, scores."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
