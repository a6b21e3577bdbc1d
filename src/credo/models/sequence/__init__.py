"""Models of sequences: Markov chains, and chains whose states are hidden."""
