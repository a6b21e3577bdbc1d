"""Models that are linear in a basis: Bayesian linear, logistic and least-squares ones."""
