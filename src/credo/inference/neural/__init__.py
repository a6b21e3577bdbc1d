"""Neural networks: outcomes, priors, weights with learned precisions, Gaussian beliefs."""
