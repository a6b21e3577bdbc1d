"""Models of random functions: Gaussian process regression and classification."""
