"""Exact inference in networks whose variables are all linear-Gaussian, by sparse algebra."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.node.conditional import Conditional
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.structure.directed import DirectedGraph
from credo.inference.engine.findings import Findings, check_known
from credo.inference.hybrid.real_posterior import HybridPosterior, RealPosterior
from credo.numerics.array import Array
from credo.numerics.linear.linear_algebra import NotPositiveDefinite, symmetrize
from credo.numerics.linear.sparse_cholesky import SparseCholesky

__all__ = ["GaussianNetwork", "is_linear_gaussian"]

FACTORS_KEPT = 32
# Order, factor and selected inverse together take about this for large networks.
SECONDS_PER_ENTRY = 1e-6


def is_linear_gaussian(conditionals: Iterable[Conditional]) -> bool:
    """Return whether all variables are real and linear-Gaussian without discrete parents."""
    return all(isinstance(c, GaussianNode) and not c.discrete_parents for c in conditionals)


@dataclass(frozen=True, eq=False)
class _Factored:
    """What all rows that know the same variables share.

    Attributes
    ----------
    hidden, known
        Names of the relevant variables.
    known_columns, hidden_columns
        Standardized residuals as a function of the variables, one row per node.
    center
        Prior means of hidden and known variables, (n_variables, 1).
    factor
        Cholesky factor of the precision of the hidden variables.
    log_constant
        Log density of the known variables at their conditional mode.
    """

    hidden: list[str]
    known: list[str]
    known_columns: sparse.csc_array
    hidden_columns: sparse.csc_array
    center: Array
    factor: SparseCholesky
    log_constant: float


@dataclass(frozen=True, eq=False)
class _Conditioned:
    """Hidden variables given the findings: means by row, and the factor of their precision."""

    hidden: list[str]
    mean: Array
    factor: SparseCholesky
    log_prob: Array

    def place(self, names: Sequence[str]) -> NDArray[np.intp]:
        position = {name: i for i, name in enumerate(self.hidden)}
        return np.array([position[name] for name in names], dtype=np.intp)


class GaussianNetwork:
    """A network of linear-Gaussian nodes: one joint normal with a sparse precision.

    With standardized residuals ``A x - t``, where ``A = D^-1/2 (I - B)`` has one row per node,
    the precision is ``A' A``. Conditioning deletes rows and columns of it, so all rows of
    findings about the same variables share one factor.

    Parameters
    ----------
    nodes
        `GaussianNode` without discrete parents, one per variable; a parent without one is set
        from outside, and must be given.

    Examples
    --------
    >>> from credo.graphs import LinearGaussian, Variable
    >>> from credo.inference.engine.findings import Findings
    >>> x, y = Variable("x"), Variable("y")
    >>> root = LinearGaussian(1.0, {}, 1.0).bind(x, ())
    >>> network = GaussianNetwork([root, LinearGaussian(0.0, {"x": 2.0}, 1.0).bind(y, [x])])
    >>> found = network.marginals(Findings.of(values={"y": [2.0, 7.0]}), ["x"])["x"]
    >>> found.total_mean(), found.total_variance()
    (array([1., 3.]), array([0.2, 0.2]))
    """

    def __init__(self, nodes: Sequence[Conditional]) -> None:
        found = [node for node in nodes if isinstance(node, GaussianNode)]
        if not is_linear_gaussian(nodes):
            raise ValueError(
                "nodes must all be linear-Gaussian without discrete parents; found others. "
                "Use HybridInference for tables and conditional linear Gaussians."
            )
        self.nodes = {node.child.name: node for node in found}
        self.graph = DirectedGraph(
            {name: [p.name for p in node.parents] for name, node in self.nodes.items()}
        )
        self._factors: OrderedDict[tuple[frozenset[str], frozenset[str]], _Factored] = (
            OrderedDict()
        )

    def cost(
        self, given: Collection[str], targets: Collection[str]
    ) -> tuple[int, int, int, float, bool]:
        """Return width, entries, bytes and rough seconds of one row, and whether it fits."""
        factor = self._factored(frozenset(given), targets).factor
        width = int(np.diff(factor.first).max(initial=1)) - 1
        n = factor.n_entries
        return width, n, 16 * n, SECONDS_PER_ENTRY * n, True

    def n_shared(self, findings: Findings[str]) -> int:
        """Return zero: rows with different gaps have different factors."""
        return 0

    def log_prob(self, findings: Findings[str]) -> Array:
        """Return the log density of the findings, shape (n_rows,)."""
        return self._conditioned(findings, ()).log_prob

    def marginals(
        self, findings: Findings[str], targets: Sequence[str]
    ) -> dict[str, RealPosterior]:
        """Return the posterior of each target: a single normal for each row."""
        return self.posterior(findings, targets)[0]

    def posterior(
        self, findings: Findings[str], targets: Sequence[str]
    ) -> tuple[dict[str, RealPosterior], Array]:
        """Return `marginals` and `log_prob` of the same findings, in one pass."""
        found = self._conditioned(findings, targets)
        variance = dict(zip(found.hidden, found.factor.inverse_diagonal(), strict=True))
        mean = {**findings.values, **dict(zip(found.hidden, found.mean, strict=True))}
        one = np.ones((findings.n_rows, 1))
        by_name = {
            name: RealPosterior(one, mean[name][:, None], one * variance.get(name, 0.0))
            for name in targets
        }
        return by_name, found.log_prob

    def joint(self, findings: Findings[str], targets: Sequence[str]) -> HybridPosterior:
        """Return the joint posterior of several variables: one normal per row."""
        found = self._conditioned(findings, targets)
        place = found.place(targets)
        unit = np.zeros((len(found.hidden), len(targets)))
        unit[place, np.arange(len(targets))] = 1.0
        covariance = found.factor.solve(unit)[place]
        shape = (findings.n_rows, *covariance.shape)
        return HybridPosterior(
            (),
            tuple(targets),
            np.ones(findings.n_rows),
            found.mean[place].T,
            np.broadcast_to(symmetrize(covariance), shape),
        )

    def sample(self, findings: Findings[str], n: int, rng: Generator) -> dict[str, Array]:
        """Return ``n`` draws of all variables for each row, each of shape (n_rows, n)."""
        found = self._conditioned(findings, list(self.nodes))
        noise = rng.standard_normal((len(found.hidden), findings.n_rows * n))
        draws = np.repeat(found.mean, n, axis=1) + found.factor.color(noise)
        columns = {name: np.repeat(v, n) for name, v in findings.values.items()}
        columns |= dict(zip(found.hidden, draws, strict=True))
        return {name: columns[name].reshape(findings.n_rows, n) for name in self.nodes}

    def _conditioned(self, findings: Findings[str], targets: Iterable[str]) -> _Conditioned:
        check_known(findings, False)
        part = self._factored(frozenset(findings.values), targets)
        n = len(part.hidden)
        shape = (len(part.known), findings.n_rows)
        values = np.array([findings.values[name] for name in part.known]).reshape(shape)
        target = -(part.known_columns @ (values - part.center[n:]))
        mean, residual = _least_squares(part.hidden_columns, target, part.factor)
        with np.errstate(over="ignore"):
            distance = np.sum(residual**2, axis=0)
        log_prob = part.log_constant - 0.5 * distance
        return _Conditioned(part.hidden, part.center[:n] + mean, part.factor, log_prob)

    def _factored(self, given: frozenset[str], targets: Iterable[str]) -> _Factored:
        """Return the factor of what is hidden, kept for those asked about lately."""
        wanted = given.union(targets)
        inside = wanted.union(self.graph.ancestors(wanted))
        key = (given, inside)
        if key not in self._factors:
            self._factors[key] = self._factorization(given, inside)
        self._factors.move_to_end(key)
        while len(self._factors) > FACTORS_KEPT:
            self._factors.popitem(last=False)
        return self._factors[key]

    @cached_property
    def _names(self) -> list[str]:
        """All variables, parents before children; those without a node last."""
        return sorted(self.graph.order(), key=lambda name: name not in self.nodes)

    @cached_property
    def _whole(self) -> tuple[sparse.csc_array, Array, Array]:
        """Standardized residuals of all nodes, their scales, and the prior means."""
        nodes = [self.nodes[name] for name in self._names if name in self.nodes]
        return *_standardized(nodes, self._names), _prior_mean(nodes, self._names)

    def _factorization(self, given: frozenset[str], inside: frozenset[str]) -> _Factored:
        whole, all_scales, center = self._whole
        names = self._names
        rows = [i for i, name in enumerate(names) if name in inside and name in self.nodes]
        known = [i for i, name in enumerate(names) if name in inside and name in given]
        free = [i for i, name in enumerate(names) if name in inside and name not in given]
        matrix, scale = whole[rows], all_scales[rows]
        columns = matrix[:, free]
        try:
            factor = SparseCholesky.of(sparse.csc_array(columns.T @ columns))
        except NotPositiveDefinite as error:
            least = names[rows[int(np.argmin(scale))]]
            raise NotPositiveDefinite(
                "scales must not be so different that squares of them lose all digits; found "
                f"{scale.min():.3g} at {least} and up to {scale.max():.3g}. Use "
                "HybridInference, which does not square them, or raise the smallest scales."
            ) from error
        log_unit = np.log(scale).sum() + 0.5 * factor.log_det()
        return _Factored(
            [names[i] for i in free],
            [names[i] for i in known],
            matrix[:, known],
            columns,
            center[[*free, *known], None],
            factor,
            -log_unit - (len(rows) - len(free)) * LOG_ROOT_TWO_PI,
        )


def _standardized(
    nodes: Sequence[GaussianNode], names: Sequence[str]
) -> tuple[sparse.csc_array, Array]:
    """Return the rows of standardized residuals as a function of the variables, and scales."""
    place = {name: i for i, name in enumerate(names)}
    rows, columns, entries = [], [], []
    for i, node in enumerate(nodes):
        slopes = zip(node.real_parents, node.coefficients.tolist(), strict=True)
        terms = {i: 1.0} | {place[parent.name]: -slope for parent, slope in slopes}
        rows += [i] * len(terms)
        columns += list(terms)
        entries += [entry / float(node.scale) for entry in terms.values()]
    shape = (len(nodes), len(names))
    matrix = sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))
    return matrix, np.array([float(node.scale) for node in nodes])


def _prior_mean(nodes: Sequence[GaussianNode], names: Sequence[str]) -> Array:
    """Return the mean of each variable, parents before children; zero of those set."""
    mean = dict.fromkeys(names, 0.0)
    for node in nodes:
        slopes = zip(node.real_parents, node.coefficients.tolist(), strict=True)
        start = float(node.intercept)
        mean[node.child.name] = start + sum(mean[p.name] * slope for p, slope in slopes)
    return np.array(list(mean.values()))


def _least_squares(
    matrix: sparse.csc_array, target: Array, factor: SparseCholesky
) -> tuple[Array, Array]:
    """Return the minimizer of ``|matrix z - target|``, and what is left."""
    solution = factor.solve(matrix.T @ target)
    # One correction returns the digits that squaring the matrix has cost.
    solution += factor.solve(matrix.T @ (target - matrix @ solution))
    return solution, target - matrix @ solution
