"""Networks with real variables: conditional linear Gaussians, likelihood weighting."""
