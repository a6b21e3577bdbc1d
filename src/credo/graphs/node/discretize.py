"""Real variables cut into bins, so that tables stand in for densities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.normal import Normal
from credo.distributions.univariate import Univariate
from credo.graphs.node.conditional import Conditional, Values
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.distribution_node import BoundDistribution
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.node.parent_state import setting_codes
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["Bins", "discretized"]

LARGEST_GRID = 2**24


@dataclass(frozen=True, eq=False)
class Bins:
    """Intervals that a real variable is cut into; the outer two reach to infinity.

    Attributes
    ----------
    name
        Name of the variable.
    edges
        Ascending and finite, one more than bins. Values beyond them count in the outer bins.

    Examples
    --------
    >>> bins = Bins("height", [150, 160, 170, 180])
    >>> [str(state) for state in bins.variable.labels]
    ['[-inf, 160.0)', '[160.0, 170.0)', '[170.0, inf)']
    >>> bins.position([149.0, 160.0, 200.0])
    array([0, 1, 2])
    """

    name: str
    edges: Array

    def __init__(self, name: str, edges: ArrayLike) -> None:
        cuts = as_float(edges)
        if cuts.ndim != 1 or len(cuts) < 2 or not np.all(np.isfinite(cuts)):
            raise ValueError(
                f"edges of {name} must be a list of at least two finite numbers; found shape "
                f"{cuts.shape}. The outer bins reach to infinity by themselves."
            )
        if np.any(np.diff(cuts) <= 0):
            raise ValueError(
                f"edges of {name} must ascend; found {cuts[:-1][np.diff(cuts) <= 0][0]} before "
                "a smaller or equal one. Sort them and drop repeats."
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "edges", cuts)

    @classmethod
    def equal_width(cls, name: str, low: float, high: float, n: int) -> Self:
        """Return ``n`` bins of one width between ``low`` and ``high``."""
        return cls(name, np.linspace(low, high, n + 1))

    @classmethod
    def equal_share(cls, name: str, values: ArrayLike, n: int) -> Self:
        """Return ``n`` bins, fewer if values repeat, that hold equally many of ``values``."""
        column = as_float(values)
        return cls(name, np.unique(np.nanquantile(column, np.linspace(0.0, 1.0, n + 1))))

    @property
    def variable(self) -> Variable:
        """The discrete variable, whose states are intervals closed on the left."""
        ends = [-np.inf, *self.edges[1:-1].tolist(), np.inf]
        intervals = [pd.Interval(a, b, closed="left") for a, b in pairwise(ends)]
        return Variable(self.name, tuple(intervals))

    @property
    def midpoints(self) -> Array:
        """Middle of each bin between its finite edges."""
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2)

    def position(self, values: ArrayLike) -> NDArray[np.intp]:
        """Return the position of the bin of each value."""
        return np.searchsorted(self.edges[1:-1], as_float(values), side="right")

    def state(self, value: float) -> pd.Interval[float]:
        """Return the bin of a value, as the state to give to a network."""
        label: pd.Interval[float] = self.variable.labels[int(self.position(value))]
        return label

    def points(self, n: int) -> tuple[Array, Array]:
        """Return ``n`` Gauss-Legendre points of each bin, (n_bins, n), and weights (n,)."""
        nodes, weights = np.polynomial.legendre.leggauss(n)
        half = np.diff(self.edges)[:, None] / 2
        return np.asarray(self.midpoints[:, None] + half * nodes), np.asarray(weights / 2)


def discretized(
    conditional: Conditional, bins: Sequence[Bins], n_points: int = 4
) -> ConditionalTable:
    """Return the table of a conditional distribution whose real variables are cut into bins.

    ``P(bin of child | bins of parents)`` is the mass of the child's bin, averaged over the
    bins of the real parents by Gauss-Legendre quadrature, as if their density were flat inside
    a bin. The answers of a network of such tables come closer to those of the real variables
    as bins get narrower, with tables that grow as the product of the numbers of bins.

    Parameters
    ----------
    conditional
        Of a discrete child of any kind, or of a real child that is Gaussian or a distribution
        with a cdf.
    bins
        One for each real variable among child and parents; others are ignored.
    n_points
        Points of the quadrature inside each bin of each real parent.

    Examples
    --------
    >>> from credo.graphs.node.linear_gaussian import LinearGaussian
    >>> node = LinearGaussian(scale=1.0).bind(Variable("x"), [])
    >>> discretized(node, [Bins("x", [-2, -1, 0, 1, 2])]).probability.round(4)
    array([0.1587, 0.3413, 0.3413, 0.1587])
    """
    cut = {each.name: each for each in bins}
    _require_bins((conditional.child, *conditional.parents), cut)
    parents = [_discrete(parent, cut) for parent in conditional.parents]
    child = _discrete(conditional.child, cut)
    axes = [_axis(parent, cut, n_points) for parent in conditional.parents]
    _require_small(conditional, [values.size for values, _ in axes])
    shares = _shares(conditional, _grid(conditional, axes), cut)
    sides = [side for values, _ in axes for side in values.shape]
    table = shares.reshape(*sides, child.n_states)
    for i, (_, weights) in enumerate(axes):
        # Axes before i are states by now; i is the states of this parent, i + 1 its points.
        table = np.tensordot(table, weights, axes=([i + 1], [0]))
    return ConditionalTable(child, parents, table)


def _discrete(variable: Variable, cut: Mapping[str, Bins]) -> Variable:
    return variable if variable.is_discrete else cut[variable.name].variable


def _axis(parent: Variable, cut: Mapping[str, Bins], n_points: int) -> tuple[Array, Array]:
    """Return the values of a parent, shape (states, points within), and weights of points."""
    if parent.is_discrete:
        return np.arange(parent.n_states, dtype=float)[:, None], np.ones(1)
    return cut[parent.name].points(n_points)


def _grid(conditional: Conditional, axes: Sequence[tuple[Array, Array]]) -> Values:
    """Return columns of all combinations of values of the parents."""
    columns = np.meshgrid(*(values.ravel() for values, _ in axes), indexing="ij")
    return {
        parent.name: column.ravel().astype(np.intp if parent.is_discrete else np.float64)
        for parent, column in zip(conditional.parents, columns, strict=True)
    }


def _shares(conditional: Conditional, values: Values, cut: Mapping[str, Bins]) -> Array:
    """Return the probability of each state or bin of the child, shape (rows, states)."""
    child = conditional.child
    n_rows = len(next(iter(values.values()), [0]))
    if child.is_discrete:
        states = [np.full(n_rows, k, dtype=np.intp) for k in range(child.n_states)]
        logs = [conditional.log_prob({**values, child.name: column}) for column in states]
        return np.exp(np.stack(logs, axis=-1))
    inner = cut[child.name].edges[1:-1]
    below = [np.zeros(n_rows), *(_below(conditional, values, edge) for edge in inner)]
    columns = [np.broadcast_to(column, n_rows) for column in (*below, np.ones(n_rows))]
    return np.diff(np.stack(columns, axis=-1), axis=-1)


def _below(conditional: Conditional, values: Values, edge: float) -> Array:
    """Return the probability that the child is less than an edge."""
    if isinstance(conditional, GaussianNode):
        scale = conditional.scale[setting_codes(values, conditional.parents)]
        return Normal(conditional.mean(values), scale).cdf(edge)
    made = conditional.given(values) if isinstance(conditional, BoundDistribution) else None
    if isinstance(made, Univariate):
        # A count that is the edge itself belongs to the bin above.
        return made.cdf(np.nextafter(edge, -np.inf))
    raise TypeError(
        f"{conditional.child.name} must be Gaussian or a distribution with a cdf to be cut "
        f"into bins; found {type(conditional).__name__}. Use LinearGaussian or a "
        "DistributionNode of a univariate distribution."
    )


def _require_bins(variables: Sequence[Variable], cut: Mapping[str, Bins]) -> None:
    missing = [v.name for v in variables if not v.is_discrete and v.name not in cut]
    if missing:
        raise ValueError(
            f"bins must be given for every real variable; found none for {quote(missing)}. Add "
            f"Bins.equal_width({quote(missing[0])}, low, high, n)."
        )


def _require_small(conditional: Conditional, sizes: Sequence[int]) -> None:
    n_points = float(np.prod([1.0, *sizes]))
    if n_points > LARGEST_GRID:
        raise MemoryError(
            f"grid of the parents of {conditional.child.name} must have at most {LARGEST_GRID} "
            f"points; found {n_points:.0f}. Use fewer bins or points."
        )
