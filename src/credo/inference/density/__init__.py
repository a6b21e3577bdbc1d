"""Engines for any differentiable log density: the Laplace approximation."""
