"""Variables, graphs and factors: separation, cliques, the algebra of tables and Gaussians."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    __file__,
    moved=dict.fromkeys(["Layout", "layered_layout", "stress_layout"], "credo.plots.layout"),
)
