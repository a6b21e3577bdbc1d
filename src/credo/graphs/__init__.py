"""Variables, graphs and factors: separation, cliques, the algebra of tables and Gaussians."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    moved=dict.fromkeys(["Layout", "layered_layout", "stress_layout"], "credo.plots.layout"),
)
