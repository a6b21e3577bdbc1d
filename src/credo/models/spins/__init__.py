"""The Ising model as an object: spins, couplings, noise."""
