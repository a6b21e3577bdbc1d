"""Nodes and weights for sums and integrals over the outcomes of a distribution."""

from functools import cache

import numpy as np

from credo.numerics.array import Array

__all__ = ["DEPTHS", "NEGLIGIBLE", "integers_between", "panels", "tail_levels"]

# Depth of a tail probability u is -log u; the steps widen where less probability is left.
DEPTHS = np.array(
    [np.log(2.0), 1.2, 2.0, 3.0, 4.5, 7.0, 11.0, 17.0, 25.0, 36.0, 50.0, 70.0, 100.0]
)

# Outcomes beyond this tail probability change no sum in double precision.
NEGLIGIBLE = 1e-20


def panels(edges: Array, order: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights between neighbors along the first axis.

    Parameters
    ----------
    edges
        Increasing along the first axis, shape (n_edges, ...); equal edges carry no weight.
    order
        Nodes per panel.

    Returns
    -------
    nodes, weights
        Each of shape ((n_edges - 1) * order, ...), increasing.
    """
    unit_nodes, unit_weights = _gauss_legendre(order)
    extra = (1,) * (edges.ndim - 1)
    half = 0.5 * np.diff(edges, axis=0)[:, None]
    nodes = edges[:-1, None] + half * (1.0 + unit_nodes.reshape(1, -1, *extra))
    weights = half * unit_weights.reshape(1, -1, *extra)
    shape = (max(len(edges) - 1, 0) * order, *edges.shape[1:])
    return nodes.reshape(shape), weights.reshape(shape)


@cache
def tail_levels(order: int = 8) -> tuple[Array, Array]:
    """Return nodes ``u`` and weights for integrals over probabilities ``u`` in (0, 1/2).

    Gauss-Legendre in ``-log u``, panel by panel, so that functions of a quantile that grow
    like a power of ``u`` towards the tail are integrated as well as smooth ones.
    """
    depth, weights = panels(DEPTHS, order)
    levels = np.exp(-depth)
    return levels, weights * levels


def integers_between(low: Array, high: Array) -> Array:
    """Return integers from ``low`` on, as many as the widest of the batch needs, axis first."""
    count = int(np.max(high - low, initial=0.0)) + 1
    return np.asarray(low + np.arange(count).reshape(-1, *[1] * np.ndim(low)), dtype=np.float64)


@cache
def _gauss_legendre(order: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return nodes, weights
