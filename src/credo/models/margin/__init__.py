"""Classifiers by margin: perceptrons, boosted stumps, regularized risk."""
