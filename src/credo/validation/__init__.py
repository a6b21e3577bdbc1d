"""Held-out rows: splits, folds, refitting without a fold, outcome coding and row scores."""
