"""Directed and undirected graphs: separation, cliques, equivalence, orders of elimination."""
