"""Rows in clusters whose parameters are integrated out: Gibbs sampling of partitions.

The posterior of a partition is ``p(partition) * product over clusters of p(rows of it)``, where
the last factor is the evidence of a conjugate family. The law of partitions says how readily a
row joins a cluster of n rows, ``n + gamma``, or opens one beside t others:

* a Dirichlet process: ``gamma = 0``, and the concentration;
* K components of weights ``Dirichlet(gamma, ..., gamma)``: ``gamma (K - t)``;
* an unknown number of such components [miller2018]_: ``gamma V(t + 1) / V(t)``, where
  ``V(t) = sum over K >= t of p(K) K! / (K - t)! Gamma(gamma K) / Gamma(gamma K + n)``.

Rows move one by one [neal2000]_; clusters split and merge as wholes [dahl2003]_, which single
moves hardly ever do. Gaps of normal vectors are drawn between sweeps.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import optimize, special

from credo import families, inference
from credo.distributions.class_conditional import ClassConditional
from credo.families.belief import Belief
from credo.families.bernoulli import BetaBernoulli
from credo.families.categorical import DirichletCategorical
from credo.families.exponential import GammaExponential
from credo.families.multivariate_normal import NormalInverseWishart, TiedNormalInverseWishart
from credo.families.normal import NormalInverseGamma
from credo.families.normal_component import row_parts
from credo.families.normal_known_variance import NormalKnownVariance
from credo.families.poisson import GammaPoisson
from credo.inference.engine.draws import effective_draws, r_hat
from credo.inference.engine.engine import Account, Drawn, Inference, Step
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "BlockedGibbs",
    "CollapsedGibbs",
    "PartitionDraws",
    "PartitionLaw",
    "PartitionProblem",
    "PartitionState",
    "PartitionStep",
    "aligned",
    "consensus_partition",
    "drawn_belief",
    "drawn_rows",
    "kept_draws",
]

Labels = NDArray[np.int64]

MOST_CLUSTERS = 1000
"""Clusters at one time, of many rows."""

USUAL_COST = 6e8
"""Moves of rows, times the square of columns, that draws may cost."""

MOST_KEPT = 60
"""Draws that are kept for predictions."""

MOST_DRAWN_ROWS = 4_000_000
"""Rows of all draws together that are summarized for predictions."""


@dataclass(frozen=True, eq=False)
class PartitionLaw:
    """How rows form clusters before their values are seen.

    Attributes
    ----------
    gamma
        What is added to the number of rows of a cluster that another joins.
    log_new
        Log weight with which a row opens a cluster beside t others, shape (m,); there are never
        more than m clusters.
    log_number
        Log prior probability of 1, 2, ... components, of which some may be empty; None where
        there are as many as clusters, or a fixed number.
    """

    gamma: Annotated[float, Form(low=0.0)]
    log_new: Annotated[Array, Form("m", -np.inf)]
    log_number: Annotated[Array | None, Form("k", -np.inf)] = None

    @classmethod
    def process(cls, concentration: float, n_rows: int) -> PartitionLaw:
        """Return the law of a Dirichlet process."""
        n = min(n_rows, MOST_CLUSTERS)
        return cls(0.0, np.full(n, float(np.log(concentration))))

    @classmethod
    def finite(cls, n_components: int, gamma: float, n_rows: int) -> PartitionLaw:
        """Return the law of a fixed number of components, some of which may be empty."""
        left = n_components - np.arange(min(n_components, n_rows))
        return cls(float(gamma), np.log(gamma * left))

    @classmethod
    def unknown(cls, log_number: Array, gamma: float, n_rows: int) -> PartitionLaw:
        """Return the law of a number of components with prior probabilities.

        Parameters
        ----------
        log_number
            Log probability of 1, 2, ... components.
        """
        n = min(n_rows, MOST_CLUSTERS, len(log_number))
        table = np.array([cls._log_v(log_number, gamma, n_rows, t) for t in range(1, n + 1)])
        return cls(float(gamma), np.log(gamma) + np.diff(table, prepend=0.0), log_number)

    @staticmethod
    def _log_v(log_number: Array, gamma: float, n_rows: int, t: int) -> float:
        k = np.arange(t, len(log_number) + 1)
        ways = special.gammaln(k + 1.0) - special.gammaln(k - t + 1.0)
        size = special.gammaln(gamma * k) - special.gammaln(gamma * k + n_rows)
        return float(log_sum_exp(log_number[t - 1 :] + ways + size))

    def log_prob(self, labels: NDArray[Any]) -> float:
        """Return the log probability of a partition, up to what is the same for all."""
        counts = np.unique(labels, return_counts=True)[1]
        rising = special.gammaln(counts + self.gamma) - special.gammaln(1.0 + self.gamma)
        return float(self.log_new[: len(counts)].sum() + rising.sum())

    def number_given(self, n_clusters: int, n_rows: int) -> Array:
        """Return the probability of 1, 2, ... components, given how many have rows."""
        if self.log_number is None:
            return np.asarray(np.arange(1, len(self.log_new) + 1) == n_clusters, dtype=float)
        k = np.arange(1, len(self.log_number) + 1)
        logs = np.full(len(k), -np.inf)
        is_in = k >= n_clusters
        at = k[is_in]
        ways = special.gammaln(at + 1.0) - special.gammaln(at - n_clusters + 1.0)
        size = special.gammaln(self.gamma * at) - special.gammaln(self.gamma * at + n_rows)
        logs[is_in] = self.log_number[is_in] + ways + size
        return np.asarray(np.exp(logs - log_sum_exp(logs)))


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """Rows of a conjugate family in clusters, and the law of their partition.

    Attributes
    ----------
    x
        Rows (n, d); NaN is missing.
    rows
        Belief about the rows of any one cluster: a conjugate family, or a `Product` of some
        with at most one normal vector.
    law
        Law of the partition.
    concentration
        Shape and rate of a gamma prior about the concentration of a Dirichlet process, which is
        then learned; None if it is known.
    start
        A cluster for each row to start from, shape (n,); one for all if None.
    """

    x: Array
    rows: Belief
    law: PartitionLaw
    concentration: tuple[float, float] | None = None
    start: Labels | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.x)

    @cached_property
    def model(self) -> _Model:
        """The family as numbers for compiled loops."""
        return _Model.of(self.rows, self.x.shape[1], self.n_rows)

    @cached_property
    def alone(self) -> tuple[Array, Array]:
        """Rows as loops take them, and the log density of each alone."""
        return self.rows_alone(self.x)

    def rows_alone(self, x: Array) -> tuple[Array, Array]:
        """Return rows (n, d) as loops take them, and the log density of each alone."""
        rows, base = self.model.rows(x), np.empty(len(x))
        self.model.loops.log_predictives(rows, self.model.empty, self.model.arguments, base)
        return rows, base

    @cached_property
    def _gaps(self) -> tuple[list[int], NDArray[np.bool_]]:
        """Columns of the normal vector, and where its values are missing."""
        columns = [
            list(own)
            for part, own in row_parts(self.rows, self.x.shape[1])
            if isinstance(part, NormalInverseWishart)
        ]
        first = columns[0] if columns else []
        return first, np.isnan(self.x[:, first])

    @property
    def has_hidden(self) -> bool:
        """Whether values of a normal vector are missing, which are drawn."""
        return bool(self._gaps[1].any())

    def filled(self, x: Array, label: Labels, rng: Generator) -> Array:
        """Return rows with the gaps of their vector drawn, given the cluster of each."""
        columns, is_open = self._gaps
        part: Any = next(
            one
            for one, _ in row_parts(self.rows, x.shape[1])
            if isinstance(one, NormalInverseWishart)
        )
        k = int(label.max()) + 1
        vectors = x[:, columns]
        statistics = part.statistics_by_group(vectors, label, k)
        normals = part.update(statistics).sample(rng)
        rows = np.flatnonzero(is_open.any(axis=1))
        joint = ClassConditional(np.zeros(k), normals)
        scores = rng.standard_normal((len(rows), 1, len(columns)))
        drawn = joint.completed(
            np.where(is_open, np.nan, vectors)[rows], label[rows][:, None], scores
        )[:, 0]
        answer = x.copy()
        answer[rows[:, None], columns] = drawn
        return answer

    def begun(self) -> Array:
        """Return rows whose vectors are complete: gaps at the mean of their column."""
        columns, is_open = self._gaps
        if not self.has_hidden:
            return self.x
        answer = self.x.copy()
        mean = np.nanmean(answer[:, columns], axis=0)
        answer[:, columns] = np.where(is_open, mean, answer[:, columns])
        return answer

    def beliefs(self, label: NDArray[Any], x: Array | None = None) -> Any:
        """Return the posterior belief about the rows of each cluster, batch (t,)."""
        rows: Any = self.rows
        k = int(label.max()) + 1
        values = self.x if x is None else x
        return rows.update(rows.statistics_by_group(values, label, k))


@dataclass(frozen=True, eq=False)
class _Model:
    """A conjugate family as compiled loops know it."""

    order: list[int]
    empty: Array
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, rows: Belief, n_columns: int, n_rows: int) -> _Model:
        vector: NormalInverseWishart | None = None
        order: list[int] = []
        plain: list[tuple[Any, int, int]] = []
        for part, columns in row_parts(rows, n_columns):
            if isinstance(part, NormalInverseWishart):
                if vector is not None:
                    raise TypeError(
                        "rows of clusters must have at most one normal vector; found two. "
                        "Join their columns into one."
                    )
                vector, order = part, list(columns)
            else:
                plain += [(part, place, column) for place, column in enumerate(columns)]
        numbers, head, d = _vector_numbers(vector, n_rows)
        kinds, firsts, hypers = [], [], []
        for part, place, column in plain:
            kind, settings, own = _column_numbers(part, place)
            kinds.append(kind)
            hypers.append(settings)
            firsts.append(len(numbers))
            numbers = np.concatenate([numbers, own])
            order.append(column)
        hyper = np.array(hypers).reshape(-1, 4)
        count = np.arange(n_rows + 2)
        half = hyper[:, 2:3] + 0.5 * count
        is_normal = np.array(kinds, dtype=np.int64)[:, None] == 0
        half = np.where(is_normal, half, 1.0)
        table = special.gammaln(half + 0.5) - special.gammaln(half)
        arguments = (
            d, *head,
            np.array(kinds, dtype=np.int64), np.array(firsts, dtype=np.int64), hyper, table,
        )  # fmt: skip
        return cls(order, numbers, arguments)

    def rows(self, x: Array) -> Array:
        """Return columns in the order of the loops."""
        return np.ascontiguousarray(x[:, self.order])

    @cached_property
    def loops(self) -> Any:
        return _loops()


def _vector_numbers(
    vector: NormalInverseWishart | None, n_rows: int
) -> tuple[Array, tuple[float, float, Array], int]:
    """Return the numbers of an empty cluster, and what loops know of a normal vector."""
    if vector is None:
        return np.zeros(1), (1.0, 1.0, np.zeros(1)), 0
    d = vector.location.shape[-1]
    lower = np.linalg.cholesky(vector.scale_matrix.reshape(d, d))
    strength, df = float(vector.strength), float(vector.df)
    k, nu = strength + np.arange(n_rows + 2), df + np.arange(n_rows + 2)
    table = special.gammaln(0.5 * (nu + 1.0)) - special.gammaln(0.5 * (nu + 1.0 - d))
    table += 0.5 * d * (np.log(k) - np.log1p(k) - np.log(np.pi))
    log_diagonal = np.log(np.diag(lower)).sum()
    numbers = np.hstack([0.0, vector.location.ravel(), lower.ravel(), log_diagonal])
    return numbers, (strength, df, table), d


def _column_numbers(part: Any, place: int) -> tuple[int, list[float], Array]:
    """Return kind, settings and numbers in an empty cluster of one column of a part."""

    def at(value: Array) -> float:
        flat = np.ravel(value)
        return float(flat[place if len(flat) > 1 else 0])

    if isinstance(part, NormalInverseGamma):
        hyper = [at(part.location), at(part.strength), at(part.shape), at(part.rate)]
        return 0, hyper, np.zeros(3)
    if isinstance(part, BetaBernoulli):
        states = np.array([at(part.b), at(part.a)])
        return 1, [float(states.sum()), 0.0, 0.0, 0.0], np.append(0.0, states)
    if isinstance(part, DirichletCategorical):
        table = part.concentration.reshape(-1, part.concentration.shape[-1])
        states = table[place if len(table) > 1 else 0]
        return 1, [float(states.sum()), 0.0, 0.0, 0.0], np.append(0.0, states)
    if isinstance(part, GammaPoisson | GammaExponential):
        kind = 2 if isinstance(part, GammaPoisson) else 3
        return kind, [at(part.shape), at(part.rate), 0.0, 0.0], np.zeros(2)
    if isinstance(part, NormalKnownVariance):
        precisions = [at(part.scale) ** -2.0, 1.0 / at(part.variance)]
        return 4, [at(part.location), *precisions, 0.0], np.zeros(2)
    raise TypeError(
        "rows of clusters must be of conjugate families whose clusters do not share "
        f"parameters; found {type(part).__name__}. Use normals with full or diagonal "
        "covariance, truth values, categories, counts or times, or blocked draws."
    )


@dataclass(frozen=True)
class PartitionStep(Step):
    """Some sweeps; the objective is the log density of rows and partition of the first chain.

    Attributes
    ----------
    n_draws
        Draws of each chain so far, of the warm-up or of those that count.
    n_clusters
        Clusters of the first chain now.
    """

    n_draws: int
    n_clusters: int


@dataclass(frozen=True, eq=False)
class PartitionState:
    """Where chains are and have been.

    Attributes
    ----------
    label
        Cluster of each row in each chain now, shape (c, n).
    concentration
        Concentration of each chain now, shape (c,).
    filled
        Rows of each chain with gaps drawn, shape (c, n, d); (c, 0, d) if there are none.
    labels
        Clusters after each draw, shape (c, s, n).
    concentrations, log_density
        Concentration, and log density of rows and partition, at each draw, shape (c, s).
    is_warm
        Whether the warm-up is over.
    """

    label: Annotated[Labels, Form("c n", 0)]
    concentration: Annotated[Array, Form("c", 0.0)]
    filled: Annotated[Array, Form("c m d")]
    labels: Annotated[NDArray[np.int32], Form("c s n", 0)]
    concentrations: Annotated[Array, Form("c s", 0.0)]
    log_density: Annotated[Array, Form("c s")]
    is_warm: bool


@dataclass(frozen=True, eq=False)
class PartitionDraws:
    """Draws of partitions.

    Attributes
    ----------
    labels
        Cluster of each row, numbered by their first rows, shape (c, s, n).
    concentration
        Concentration at each draw, shape (c, s).
    log_density
        Log density of rows and partition, shape (c, s).
    """

    labels: Annotated[NDArray[np.int32], Form("c s n", 0)]
    concentration: Annotated[Array, Form("c s", 0.0)]
    log_density: Annotated[Array, Form("c s")]

    @property
    def n_clusters(self) -> NDArray[np.intp]:
        """Number of clusters with rows at each draw, shape (c, s)."""
        ordered = np.sort(self.labels, axis=2)
        return np.asarray((np.diff(ordered, axis=2) > 0).sum(axis=2) + 1, dtype=np.intp)

    @property
    def pooled(self) -> NDArray[np.int32]:
        """Labels of all draws of all chains, shape (c * s, n)."""
        return self.labels.reshape(-1, self.labels.shape[2])

    def cluster_probability(self) -> Array:
        """Return the probability of 1, 2, ... clusters."""
        count = np.bincount(self.n_clusters.ravel())[1:]
        return np.asarray(count / count.sum())

    def co_clustering(self) -> Array:
        """Return how often two rows are of one cluster, shape (n, n)."""
        draws = self.pooled
        n = draws.shape[1]
        together = np.zeros((n, n))
        for draw in draws:
            member = draw[:, None] == np.arange(draw.max() + 1)
            together += member.astype(np.float64) @ member.T
        return together / len(draws)

    def consensus(self) -> NDArray[np.intp]:
        """Return the partition nearest to all draws in Binder's loss, of those drawn."""
        return consensus_partition(self.co_clustering(), self.pooled)


def consensus_partition(together: Array, candidates: NDArray[Any]) -> NDArray[np.intp]:
    """Return the candidate of least expected Binder loss, and then better by single moves.

    The loss counts pairs of rows that are together in one partition and not in the other.

    Parameters
    ----------
    together
        Probability that rows are together, shape (n, n).
    candidates
        Labels of partitions, shape (m, n).
    """
    gain = together - 0.5
    best, most = candidates[0], -np.inf
    for one in np.unique(candidates, axis=0):
        member = (one[:, None] == np.arange(one.max() + 1)).astype(np.float64)
        score = float(np.einsum("nk,nk->", gain @ member, member))
        if score > most + 1e-9:
            best, most = one, score
    label = np.unique(best, return_inverse=True)[1].astype(np.intp)
    np.fill_diagonal(gain, 0.0)
    for _ in range(20):
        is_moved = False
        for i in range(len(label)):
            sums = np.bincount(label, gain[i], label.max() + 2)
            place = int(np.argmax(sums))
            if sums[place] > sums[label[i]] + 1e-12:
                label[i], is_moved = place, True
        label = np.unique(label, return_inverse=True)[1].astype(np.intp)
        if not is_moved:
            break
    return label


@dataclass(frozen=True)
class CollapsedGibbs:
    """Move every row between clusters given all others, and split and merge clusters.

    Attributes
    ----------
    n_draws
        Draws of each chain that count.
    warm_up
        Draws of each chain before those.
    n_chains
        Chains; the first begins with the start of the problem, the others with random clusters.
    n_sweeps
        Sweeps over all rows from one draw to the next.
    n_moves
        Splits and merges that are proposed after each sweep.
    """

    n_draws: int = 500
    warm_up: int = 250
    n_chains: int = 2
    n_sweeps: int = 1
    n_moves: int = 4

    block_size: ClassVar[int] = 25
    problem = PartitionProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if min(self.n_draws, self.n_chains, self.n_sweeps) < 1 or self.n_moves < 0:
            raise ValueError(
                "n_draws, n_chains and n_sweeps must be at least 1, and n_moves not negative; "
                f"found {self.n_draws}, {self.n_chains}, {self.n_sweeps} and {self.n_moves}. "
                "Leave them out."
            )

    @classmethod
    def usual(cls, x: Array) -> CollapsedGibbs:
        """Return as many draws as rows (n, d) of vectors allow in about half a minute.

        A move of a row costs ``d^2`` for each cluster.

        Examples
        --------
        >>> CollapsedGibbs.usual(np.empty((300, 2))).n_draws
        500
        """
        n_draws = int(np.clip(USUAL_COST / max(x.shape[0] * x.shape[1] ** 2, 1), 50, 500))
        return cls(n_draws, n_draws // 2)

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws, self.warm_up)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        rows = families.NormalInverseGamma([0.0], 0.1, 2.0, 1.0)
        x = np.array([[-1.0], [0.0], [0.2], [4.0], [5.0]])
        law = inference.PartitionLaw.process(1.0, 5)
        problem = inference.PartitionProblem(x, rows, law, (1.0, 1.0))
        return (Example(cls(60, 30, 2), problem=problem),)

    def init(self, problem: PartitionProblem, rng: Generator) -> PartitionState:
        """Return chains at their starts."""
        n, d = problem.x.shape
        start = np.zeros(n, dtype=np.int64) if problem.start is None else problem.start
        most = len(problem.law.log_new)
        label = np.empty((self.n_chains, n), dtype=np.int64)
        for c in range(self.n_chains):
            drawn = np.asarray(rng.integers(min(most, 1 + 5 * c), size=n))
            label[c] = _numbered(start if c == 0 else drawn)
        begun = problem.begun()[None] if problem.has_hidden else np.empty((1, 0, d))
        first = float(np.exp(problem.law.log_new[0]))
        return PartitionState(
            label,
            np.full(self.n_chains, first),
            np.repeat(begun, self.n_chains, axis=0),
            np.empty((self.n_chains, 0, n), dtype=np.int32),
            np.empty((self.n_chains, 0)),
            np.empty((self.n_chains, 0)),
            False,
        )

    def step(
        self, problem: PartitionProblem, state: PartitionState, rng: Generator
    ) -> tuple[PartitionState, PartitionStep]:
        """Take some draws of every chain."""
        most = self.n_draws if state.is_warm or not self.warm_up else self.warm_up
        left = most - state.labels.shape[1]
        n_draws = min(self.block_size, left) if left > 0 else self.block_size
        label, filled = state.label.copy(), state.filled.copy()
        concentration = state.concentration.copy()
        shape = (self.n_chains, n_draws)
        labels = np.empty((*shape, problem.n_rows), dtype=np.int32)
        found = np.empty((2, *shape))
        for c in range(len(label)):
            for s in range(n_draws):
                log_density = self._moved(problem, label, filled, concentration, c, rng)
                labels[c, s] = label[c]
                found[:, c, s] = concentration[c], log_density
        after = replace(
            state,
            label=label,
            filled=filled,
            concentration=concentration,
            labels=np.concatenate([state.labels, labels], axis=1),
            concentrations=np.concatenate([state.concentrations, found[0]], axis=1),
            log_density=np.concatenate([state.log_density, found[1]], axis=1),
        )
        n_so_far = after.labels.shape[1]
        report = PartitionStep(float(found[1, 0, -1]), n_so_far, int(label[0].max()) + 1)
        return after, report

    def _moved(
        self,
        problem: PartitionProblem,
        label: Labels,
        filled: Array,
        concentration: Array,
        c: int,
        rng: Generator,
    ) -> float:
        """Move one chain on by a draw; return the log density of rows and partition."""
        model, law = problem.model, problem.law
        if problem.concentration is not None:
            law = PartitionLaw.process(concentration[c], problem.n_rows)
        if problem.has_hidden:
            filled[c] = problem.filled(filled[c], label[c], rng)
            rows, base = problem.rows_alone(filled[c])
        else:
            rows, base = problem.alone
        log_rows = model.loops.sweeps(
            rows, label[c], model.empty, model.arguments, (law.gamma, law.log_new), base,
            self.n_sweeps, self.n_moves, int(rng.integers(2**62)),
        )  # fmt: skip
        if problem.concentration is not None:
            n_clusters = int(label[c].max()) + 1
            concentration[c] = drawn_concentration(
                concentration[c], n_clusters, problem.n_rows, problem.concentration, rng
            )
        return float(log_rows) + law.log_prob(label[c])

    def warmed(self, problem: PartitionProblem, state: PartitionState) -> PartitionState:
        """Return the chains where they are, with no draw that counts yet."""
        return _without_draws(state)

    def joined(
        self, problem: PartitionProblem, states: Sequence[PartitionState]
    ) -> PartitionState:
        """Return the chains of several states side by side, as long as the shortest."""
        return _side_by_side(states)

    def posterior(self, problem: PartitionProblem, state: PartitionState) -> Inference:
        """Return the draws, and how well chains agree on their density and clusters."""
        return _drawn(state, "collapsed Gibbs sampling", state.is_warm or not self.warm_up)


def _without_draws(state: PartitionState) -> PartitionState:
    return replace(
        state,
        labels=state.labels[:, :0],
        concentrations=state.concentrations[:, :0],
        log_density=state.log_density[:, :0],
        is_warm=True,
    )


def _side_by_side(states: Sequence[PartitionState]) -> PartitionState:
    n = min(state.labels.shape[1] for state in states)

    def together(name: str, most: int | None = None) -> Any:
        parts = [getattr(state, name) for state in states]
        return np.concatenate(parts if most is None else [part[:, :most] for part in parts])

    return PartitionState(
        together("label"),
        together("concentration"),
        together("filled"),
        together("labels", n),
        together("concentrations", n),
        together("log_density", n),
        states[0].is_warm,
    )


def _drawn(state: PartitionState, method: str, is_over: bool) -> Inference:
    """Return draws as an answer, with what they are worth."""
    draws = PartitionDraws(state.labels, state.concentrations, state.log_density)
    traces = np.stack([state.log_density, draws.n_clusters.astype(np.float64)], axis=-1)
    worth, ratio = float("nan"), float("nan")
    if traces.shape[1] >= 4 and is_over:
        with np.errstate(invalid="ignore", divide="ignore"):
            worth = float(np.nanmin(effective_draws(traces), initial=np.inf))
            ratio = float(np.nanmax(r_hat(traces), initial=-np.inf))
    worth = worth if np.isfinite(worth) else float(traces.shape[0] * traces.shape[1])
    account = Account(
        method,
        False,
        float(0.5 / np.sqrt(max(worth, 1.0))),
        "standard error of a probability",
        worth,
        ratio if np.isfinite(ratio) else None,
    )
    return Inference(draws, account=account)


def aligned(labels: NDArray[Any], reference: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """Return labels (s, n) with classes renamed so that most rows are as in a reference (n,).

    Examples
    --------
    >>> aligned(np.array([[1, 1, 0]]), np.array([0, 0, 1]), 2)
    array([[0, 0, 1]])
    """
    answer = np.empty(labels.shape, dtype=np.intp)
    for s, one in enumerate(labels):
        table = np.zeros((n_classes, n_classes))
        np.add.at(table, (one, reference), 1.0)
        own, new = optimize.linear_sum_assignment(-table)
        name = np.empty(n_classes, dtype=np.intp)
        name[own] = new
        answer[s] = name[one]
    return answer


def kept_draws(draws: PartitionDraws, n_rows: int) -> NDArray[np.intp]:
    """Return which of all draws to keep for predictions: evenly spaced, and not too many."""
    n = draws.labels.shape[0] * draws.labels.shape[1]
    most = int(np.clip(MOST_DRAWN_ROWS // max(n_rows, 1), 8, MOST_KEPT))
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def drawn_belief(rows: Belief, x: Array, labels: NDArray[Any], n_classes: int) -> Any:
    """Return the belief about the rows of each class at each draw, batch (s * K,).

    Parameters
    ----------
    rows
        Belief about the rows of each class, with a leading axis of K.
    x
        Rows (n, d), or those of each draw, (s, n, d), where gaps were drawn.
    labels
        Class of each row at each draw, shape (s, n).
    """
    s, n = labels.shape
    each = np.broadcast_to(x, (s, *x.shape[-2:]))
    if isinstance(rows, TiedNormalInverseWishart):
        parts = [
            rows.update(rows.statistics_by_group(one, label, n_classes)).groups()
            for one, label in zip(each, labels, strict=True)
        ]
        names = ("location", "strength", "df", "scale_matrix")
        return NormalInverseWishart(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )
    code = (np.arange(s)[:, None] * n_classes + labels).ravel()
    wide: Any = rows[np.tile(np.arange(n_classes), s)]
    statistics = wide.statistics_by_group(each.reshape(s * n, -1), code, s * n_classes)
    return wide.update(statistics)


def drawn_rows(
    problem: LatentClassProblem, labels: NDArray[Any], rng: Generator, n_rounds: int = 3
) -> Array:
    """Return rows whose gaps in normal vectors are drawn given the classes of each draw.

    The rows themselves, (n, d), if there are no such gaps, and else (s, n, d).
    """
    if not problem.has_hidden_values:
        return problem.data.x
    answer = np.repeat(problem.begun()[None], len(labels), axis=0)
    for x, label in zip(answer, labels, strict=True):
        for _ in range(n_rounds):
            statistics = problem.prior.statistics_of(x, label, problem.data.weight)
            joint = problem.prior.update(statistics).sample(rng)
            problem.fill(x, joint, label, rng)
    return answer


class RedrawnProblem(Protocol):
    """Rows whose classes are drawn all at once, given parameters that are drawn before."""

    @property
    def data(self) -> IncompleteRows:
        """The rows, and their classes where known."""
        ...

    @property
    def has_hidden_values(self) -> bool:
        """Whether values of rows are drawn as well."""
        ...

    def begun(self) -> Array:
        """Return rows with the values that are drawn at the mean of their column."""
        ...

    def first_label(self) -> NDArray[np.intp]:
        """Return the class of each row to begin with, shape (n,)."""
        ...

    def redrawn(self, label: NDArray[np.int64], x: Array, rng: Generator) -> float:
        """Draw parameters, and then classes and gaps in place; return the log density."""
        ...


@dataclass(frozen=True)
class BlockedGibbs:
    """Draw all parameters given the classes of rows, then all classes given the parameters.

    For any family, also where classes share parameters, and for states of sequences, of which
    whole paths are drawn; it moves less freely than `CollapsedGibbs`, and rows of known classes
    stay where they are.

    Attributes
    ----------
    n_draws
        Draws of each chain that count.
    warm_up
        Draws of each chain before those.
    n_chains
        Chains, which begin with the start of the problem.
    """

    n_draws: int = 500
    warm_up: int = 250
    n_chains: int = 2

    block_size: ClassVar[int] = 25
    problem = RedrawnProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws, self.warm_up)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        rows = inference.IncompleteRows.unlabeled([[0], [1], [0], [9], [8], [12]], n_classes=2)
        weights = families.DirichletCategorical([1.0, 1.0])
        prior = families.Components(weights, families.GammaPoisson([1.0], 0.1))
        return (Example(cls(60, 30, 2), problem=inference.LatentClassProblem(rows, prior)),)

    def init(self, problem: RedrawnProblem, rng: Generator) -> PartitionState:
        """Return chains at the start of the problem."""
        n, d = problem.data.x.shape
        label = problem.first_label()
        begun = problem.begun()[None] if problem.has_hidden_values else np.empty((1, 0, d))
        return PartitionState(
            np.repeat(label[None].astype(np.int64), self.n_chains, axis=0),
            np.ones(self.n_chains),
            np.repeat(begun, self.n_chains, axis=0),
            np.empty((self.n_chains, 0, n), dtype=np.int32),
            np.empty((self.n_chains, 0)),
            np.empty((self.n_chains, 0)),
            False,
        )

    def step(
        self, problem: RedrawnProblem, state: PartitionState, rng: Generator
    ) -> tuple[PartitionState, PartitionStep]:
        """Take some draws of every chain."""
        most = self.n_draws if state.is_warm or not self.warm_up else self.warm_up
        left = most - state.labels.shape[1]
        n_draws = min(self.block_size, left) if left > 0 else self.block_size
        label, filled = state.label.copy(), state.filled.copy()
        labels = np.empty((len(label), n_draws, label.shape[1]), dtype=np.int32)
        log_density = np.empty((len(label), n_draws))
        for c in range(len(label)):
            for s in range(n_draws):
                x = filled[c] if problem.has_hidden_values else problem.data.x
                log_density[c, s] = problem.redrawn(label[c], x, rng)
                labels[c, s] = label[c]
        after = replace(
            state,
            label=label,
            filled=filled,
            labels=np.concatenate([state.labels, labels], axis=1),
            concentrations=np.ones((len(label), state.labels.shape[1] + n_draws)),
            log_density=np.concatenate([state.log_density, log_density], axis=1),
        )
        n_classes = len(np.unique(label[0]))
        n_so_far = after.labels.shape[1]
        return after, PartitionStep(float(log_density[0, -1]), n_so_far, n_classes)

    def warmed(self, problem: RedrawnProblem, state: PartitionState) -> PartitionState:
        """Return the chains where they are, with no draw that counts yet."""
        return _without_draws(state)

    def joined(
        self, problem: RedrawnProblem, states: Sequence[PartitionState]
    ) -> PartitionState:
        """Return the chains of several states side by side, as long as the shortest."""
        return _side_by_side(states)

    def posterior(self, problem: RedrawnProblem, state: PartitionState) -> Inference:
        """Return the draws, and how well chains agree on their density and classes."""
        return _drawn(state, "blocked Gibbs sampling", state.is_warm or not self.warm_up)


def drawn_concentration(
    concentration: float,
    n_clusters: int,
    n_rows: int,
    prior: tuple[float, float],
    rng: Generator,
) -> float:
    """Return a new concentration of a Dirichlet process, given its number of clusters.

    By a share ``eta ~ Beta(a + 1, n)``, given which the concentration is a mixture of two
    gammas [escobar1995]_.
    """
    shape, rate = prior
    eta = rng.beta(concentration + 1.0, n_rows)
    rate_now = rate - np.log(eta)
    odds = (shape + n_clusters - 1.0) / (n_rows * rate_now)
    extra = 0.0 if rng.uniform() * (1.0 + odds) < odds else -1.0
    return float(max(rng.gamma(shape + n_clusters + extra) / rate_now, SMALLEST))


def _numbered(label: NDArray[Any]) -> Labels:
    """Return labels 0, 1, ... in the order of the first rows of clusters."""
    _, first, code = np.unique(label, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[code.ravel()], dtype=np.int64)


@cache
def _loops() -> Any:
    return importlib.import_module("credo.inference.latent._loops_partition")
