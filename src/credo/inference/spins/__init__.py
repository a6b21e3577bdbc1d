"""Ising models: Gibbs sampling, mean field, annealed importance sampling, transfer matrices."""
