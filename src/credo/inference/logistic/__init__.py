"""Logistic and softmax regression: modes, variational Gaussians, evidence, folds."""
