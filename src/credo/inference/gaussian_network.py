"""Exact inference in networks whose variables are all linear-Gaussian, by sparse algebra."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.conditional import Conditional
from credo.graphs.directed import DirectedGraph
from credo.graphs.gaussian_node import GaussianNode
from credo.inference.hybrid_findings import HybridFindings
from credo.inference.real_posterior import HybridPosterior, RealPosterior
from credo.numerics.array import Array
from credo.numerics.linear_algebra import NotPositiveDefinite, symmetrize
from credo.numerics.sparse_cholesky import SparseCholesky

__all__ = ["GaussianNetwork", "is_linear_gaussian"]

Given = Mapping[str, ArrayLike]
# Order, factor and selected inverse together take about this for large networks.
SECONDS_PER_ENTRY = 1e-6


def is_linear_gaussian(conditionals: Iterable[Conditional]) -> bool:
    """Return whether all variables are real and linear-Gaussian without discrete parents."""
    return all(isinstance(c, GaussianNode) and not c.discrete_parents for c in conditionals)


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
        One `GaussianNode` per variable, without discrete parents.

    Examples
    --------
    >>> from credo.graphs import LinearGaussian, Variable
    >>> x, y = Variable("x"), Variable("y")
    >>> root = LinearGaussian(1.0, {}, 1.0).bind(x, ())
    >>> network = GaussianNetwork([root, LinearGaussian(0.0, {"x": 2.0}, 1.0).bind(y, [x])])
    >>> found = network.marginals({}, {"y": [2.0, 7.0]}, ["x"])["x"]
    >>> found.total_mean(), found.total_variance()
    (array([1., 3.]), array([0.2, 0.2]))
    """

    def __init__(self, nodes: Sequence[Conditional]) -> None:
        found = [node for node in nodes if isinstance(node, GaussianNode)]
        if not is_linear_gaussian(nodes):
            raise ValueError(
                "nodes must all be linear-Gaussian without discrete parents; found others. "
                "Use HybridProblem for tables and conditional linear Gaussians."
            )
        self.nodes = {node.child.name: node for node in found}
        self.graph = DirectedGraph(
            {name: [p.name for p in node.parents] for name, node in self.nodes.items()}
        )

    def cost(
        self, given: Collection[str], targets: Collection[str]
    ) -> tuple[int, int, int, float, bool]:
        """Return width, entries, bytes and rough seconds of one row, and whether it fits."""
        findings = HybridFindings.of({}, {name: [0.0] for name in given})
        factor = self._conditioned(findings, targets).factor
        width = int(np.diff(factor.first).max(initial=1)) - 1
        n = factor.n_entries
        return width, n, 16 * n, SECONDS_PER_ENTRY * n, True

    def log_prob(self, given_codes: Given, given_values: Given) -> Array:
        """Return the log density of the findings, shape (n_rows,)."""
        return self._conditioned(HybridFindings.of(given_codes, given_values), ()).log_prob

    def marginals(
        self, given_codes: Given, given_values: Given, targets: Sequence[str]
    ) -> dict[str, RealPosterior]:
        """Return the posterior of each target: a single normal for each row."""
        return self.posterior(given_codes, given_values, targets)[0]

    def posterior(
        self, given_codes: Given, given_values: Given, targets: Sequence[str]
    ) -> tuple[dict[str, RealPosterior], Array]:
        """Return `marginals` and `log_prob` of the same findings, in one pass."""
        findings = HybridFindings.of(given_codes, given_values)
        found = self._conditioned(findings, targets)
        variance = dict(zip(found.hidden, found.factor.inverse_diagonal(), strict=True))
        mean = findings.values | dict(zip(found.hidden, found.mean, strict=True))
        one = np.ones((findings.n_rows, 1))
        by_name = {
            name: RealPosterior(one, mean[name][:, None], one * variance.get(name, 0.0))
            for name in targets
        }
        return by_name, found.log_prob

    def joint(
        self, given_codes: Given, given_values: Given, targets: Sequence[str]
    ) -> HybridPosterior:
        """Return the joint posterior of several variables: one normal per row."""
        findings = HybridFindings.of(given_codes, given_values)
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

    def sample(
        self, given_codes: Given, given_values: Given, n: int, rng: Generator
    ) -> dict[str, Array]:
        """Return ``n`` draws of all variables for each row, each of shape (n_rows, n)."""
        findings = HybridFindings.of(given_codes, given_values)
        found = self._conditioned(findings, list(self.nodes))
        noise = rng.standard_normal((len(found.hidden), findings.n_rows * n))
        draws = np.repeat(found.mean, n, axis=1) + found.factor.color(noise)
        columns = {name: np.repeat(v, n) for name, v in findings.values.items()}
        columns |= dict(zip(found.hidden, draws, strict=True))
        return {name: columns[name].reshape(findings.n_rows, n) for name in self.nodes}

    def _conditioned(self, findings: HybridFindings, targets: Iterable[str]) -> _Conditioned:
        wanted = list(dict.fromkeys([*findings.values, *targets]))
        inside = {*wanted, *self.graph.ancestors(wanted)}
        nodes = [self.nodes[name] for name in self.graph.order() if name in inside]
        names = [node.child.name for node in nodes]
        matrix, scale = _standardized(nodes)
        center = _prior_mean(nodes)
        known = [i for i, name in enumerate(names) if name in findings.values]
        free = [i for i, name in enumerate(names) if name not in findings.values]
        shift = np.array([findings.values[names[i]] - center[i] for i in known])
        target = -(matrix[:, known] @ shift.reshape(len(known), findings.n_rows))
        try:
            mean, residual, factor = _least_squares(matrix[:, free], target)
        except NotPositiveDefinite as error:
            least = nodes[int(np.argmin(scale))].child.name
            raise NotPositiveDefinite(
                "scales must not be so different that squares of them lose all digits; found "
                f"{scale.min():.3g} at {least} and up to {scale.max():.3g}. Use HybridProblem, "
                "which does not square them, or raise the smallest scales."
            ) from error
        with np.errstate(over="ignore"):
            distance = np.sum(residual**2, axis=0)
        constant = np.log(scale).sum() + 0.5 * factor.log_det() + len(known) * LOG_ROOT_TWO_PI
        return _Conditioned(
            [names[i] for i in free],
            center[free, None] + mean,
            factor,
            -constant - 0.5 * distance,
        )


def _standardized(nodes: Sequence[GaussianNode]) -> tuple[sparse.csc_array, Array]:
    """Return the rows of standardized residuals as a function of the variables, and scales."""
    place = {node.child.name: i for i, node in enumerate(nodes)}
    rows, columns, entries = [], [], []
    for i, node in enumerate(nodes):
        slopes = zip(node.real_parents, node.coefficients.tolist(), strict=True)
        terms = {i: 1.0} | {place[parent.name]: -slope for parent, slope in slopes}
        rows += [i] * len(terms)
        columns += list(terms)
        entries += [entry / float(node.scale) for entry in terms.values()]
    shape = (len(nodes), len(nodes))
    matrix = sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))
    return matrix, np.array([float(node.scale) for node in nodes])


def _prior_mean(nodes: Sequence[GaussianNode]) -> Array:
    """Return the mean of each variable, parents before children."""
    mean: dict[str, float] = {}
    for node in nodes:
        slopes = zip(node.real_parents, node.coefficients.tolist(), strict=True)
        start = float(node.intercept)
        mean[node.child.name] = start + sum(mean[p.name] * slope for p, slope in slopes)
    return np.array(list(mean.values()))


def _least_squares(
    matrix: sparse.csc_array, target: Array
) -> tuple[Array, Array, SparseCholesky]:
    """Return the minimizer of ``|matrix z - target|``, what is left, and the factor."""
    factor = SparseCholesky.of(sparse.csc_array(matrix.T @ matrix))
    solution = factor.solve(matrix.T @ target)
    # One correction returns the digits that squaring the matrix has cost.
    solution += factor.solve(matrix.T @ (target - matrix @ solution))
    return solution, target - matrix @ solution, factor
