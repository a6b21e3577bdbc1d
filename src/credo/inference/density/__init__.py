"""Engines for any log density: Laplace, rejection, importance, Metropolis, variational."""
