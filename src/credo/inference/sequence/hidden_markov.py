"""Sequences of rows whose states are hidden and follow a Markov chain.

``p(s, y) = a(s_1) prod A(s_(t-1), s_t) prod p(y_t | s_t)``, each sequence by itself. Given its
state a row is of any family, as in a mixture: the rows are those of a `LatentClassProblem`,
whose shares come from the chain. Expectation maximization is then that of Baum and Welch
[baum1970]_, and its variational form for beliefs that of [beal2003]_. With

``F = -sum gamma_1 log a - sum xi_t log A - sum gamma_t log p(y_t)
     + sum over t < T of xi_t log xi_t - sum over 1 < t < T of gamma_t log gamma_t``

for any beliefs about pairs of neighbors, the free energy is at its least, ``-log p``, at those
that the E step finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.distributions.distribution import Distribution
from credo.distributions.elliptical import DenseCovariance
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.families.belief import Belief
from credo.families.bernoulli import BetaBernoulli
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.component import Components, ComponentStatistics
from credo.families.known import Known
from credo.families.normal import NormalStatistics
from credo.families.normal_component import NormalBelief, share_terms
from credo.inference.engine.problem import Expectation
from credo.inference.latent.latent_class import (
    DegenerateComponent,
    IncompleteRows,
    LatentClassProblem,
    first_label,
)
from credo.inference.latent.mixture_search import started_share
from credo.inference.sequence.hidden_chain import (
    Smoothed,
    best_path,
    drawn_path,
    filtered,
    normal_log_densities,
    smoothed,
)
from credo.inference.sequence.transition import FixedTable, TransitionBelief
from credo.numerics.array import Array, has_missing
from credo.numerics.form import Form
from credo.numerics.linear.clustering import nearest
from credo.numerics.optimize.difference import separate
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs

__all__ = [
    "HiddenChain",
    "HiddenChainBelief",
    "HiddenMarkovProblem",
    "ImpossibleSequence",
    "free_energy",
    "require_possible",
    "stationary_table",
]

PART = 1 << 20
"""Rows of which log densities are held at once, where no beliefs are kept."""

TABLE_STEPS = 40
"""Steps of a search for the best stationary table, which the next one continues."""

LEAST_PROBABILITY = 1e-12
"""Probability of a transition from which the search begins, at least."""

LEAST_WEIGHT = 1e-12
"""Expected rows of a state below which the likeliest density of its rows is not known."""

MOST_DOUBT = 0.7
"""Share of each row that may be spread over all states at a start."""

STRETCHES = (4, 8, 16, 32)
"""Rows of stretches that are compared by their means and spreads."""

FEWEST_STRETCHES = 3
"""Stretches for each state, at least."""

N_FILLS = 3
"""Rounds in which gaps are drawn given a path, and parameters given them."""

Codes = NDArray[np.int64]
Table = TransitionBelief | FixedTable


class ImpossibleSequence(ValueError):
    """A sequence that no path of states can have made.

    Attributes
    ----------
    sequence
        Its number, from 0.
    """

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        super().__init__(
            "each sequence must be possible along some path of states; found that sequence "
            f"{sequence} is not. Allow more transitions, leave out its labels, or use "
            "densities that rule nothing out."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sequence,)


def require_possible(log_prob: Array) -> None:
    """Refuse sequences of log probability minus infinity.

    Raises
    ------
    ImpossibleSequence
        With the number of the first one.
    """
    is_lost = np.isneginf(log_prob)
    if is_lost.any():
        raise ImpossibleSequence(int(np.argmax(is_lost)))


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """Parameters of a hidden Markov model.

    Attributes
    ----------
    start
        Probability of each state at the first row, shape (K,).
    transition
        Probability of each next state, by column, after each state, by row, shape (K, K).
    density
        Density of a row in each state, batch shape (K,), or (K, n_features) of independent
        numbers.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> density = Normal([[0.0], [2.0]], [[1.0], [np.sqrt(0.5)]])
    >>> chain = HiddenChain(np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]]), density)
    >>> x, ends = np.array([[0.1], [1.9], [0.8], [2.2]]), np.array([0, 4])
    >>> chain.log_prob(x, ends).round(6)
    array([-5.780739])
    """

    start: Annotated[Array, Form("k", 0.0, 1.01)]
    transition: Annotated[Array, Form("k k", 0.0, 1.01)]
    density: Distribution

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.start)

    def log_densities(self, x: Array) -> Array:
        """Return the log density of each row (n, d) in each state, shape (n, K)."""
        return log_row_densities(self.density, x, self.n_states)

    def log_prob(self, x: Array, ends: Codes) -> Array:
        """Return the log density of each sequence, its states summed out."""
        return self.last_belief(x, ends)[1]

    def last_belief(self, x: Array, ends: Codes) -> tuple[Array, Array]:
        """Return the belief at the last row of each sequence, (m, K), and its log density.

        Rows are taken in parts, so that memory does not grow with them.
        """
        m, k = len(ends) - 1, self.n_states
        begun = np.broadcast_to(self.start, (m, k))
        belief, log_prob = np.array(begun), np.zeros(m)
        for low in range(0, len(x), PART):
            high = min(low + PART, len(x))
            first, last = np.searchsorted(ends, [low, high - 1], side="right") - 1
            own = slice(first, last + 1)
            inside = np.concatenate([[low], ends[first + 1 : last + 1], [high]]) - low
            start = np.array(begun[own])
            if ends[first] < low:
                start[0] = belief[first] @ self.transition
            logs = self.log_densities(x[low:high])
            found = filtered(logs, start, self.transition, inside, is_kept=False)
            belief[own] = found.last
            log_prob[own] += found.log_prob
        return belief, log_prob

    def smoothed(self, x: Array, ends: Codes) -> Smoothed:
        """Return the belief about each state given all rows of its sequence."""
        found = smoothed(self.log_densities(x), self.start, self.transition, ends)
        require_possible(found.log_prob)
        return found

    def filtered(self, x: Array, ends: Codes) -> Array:
        """Return the belief about each state given the rows so far, shape (n, K)."""
        found = filtered(self.log_densities(x), self.start, self.transition, ends)
        require_possible(found.log_prob)
        return found.belief

    def best_path(self, x: Array, ends: Codes) -> Codes:
        """Return the most probable path of each sequence, shape (n,)."""
        path = best_path(self.log_densities(x), self.start, self.transition, ends)
        require_possible(self.log_joint(x, path, ends))
        return path

    def drawn_path(self, x: Array, ends: Codes, rng: Generator) -> Codes:
        """Return paths drawn given all rows, shape (n,)."""
        return drawn_path(self.filtered(x, ends), self.transition, ends, rng)

    def log_joint(self, x: Array, path: Codes, ends: Codes) -> Array:
        """Return the log density of each sequence together with a path, (n_sequences,)."""
        own = self.log_densities(x)[np.arange(len(x)), path]
        with np.errstate(divide="ignore"):
            step = np.log(self.transition)[path[:-1], path[1:]]
            first = np.log(self.start)[path[ends[:-1]]]
        terms = own.copy()
        terms[1:] += step
        terms[ends[:-1]] = own[ends[:-1]] + first
        return np.add.reduceat(terms, ends[:-1])

    def sample(self, rng: Generator, lengths: Codes) -> tuple[Array, Codes]:
        """Return rows (n, d) of new sequences and the states that they are in, (n,).

        The first state is drawn, then a row given its state, and the next state.
        """
        n, k = int(lengths.sum()), self.n_states
        ends = np.concatenate([[0], np.cumsum(lengths)])
        # Paths are drawn as given rows that say nothing, from the last step to the first.
        path = drawn_path(
            filtered(np.zeros((n, k)), self.start, self.transition, ends).belief,
            self.transition,
            ends,
            rng,
        )
        draws = self.density.sample(rng, n)
        rows = np.asarray(draws[np.arange(n), path], dtype=np.float64)
        return rows.reshape(n, -1), path


def log_row_densities(density: Distribution, x: Array, k: int) -> Array:
    """Return the log density of rows (n, d) in each of ``k`` states, shape (n, K)."""
    if not has_missing(x):
        center = np.broadcast_to(getattr(density, "loc", 0.0), (k, x.shape[1]))
        if isinstance(density, MultivariateNormal) and isinstance(
            density.form, DenseCovariance
        ):
            lower = np.broadcast_to(density.form.factor.lower, (k, *center.shape[1:] * 2))
            return normal_log_densities(x, density.log_prob(density.loc), center, lower)
        if isinstance(density, Normal):
            peak = np.broadcast_to(density.log_prob(density.loc), center.shape).sum(axis=1)
            scale = np.broadcast_to(density.scale, center.shape)
            return normal_log_densities(x, peak, center, scale)
    return ClassConditional(np.zeros(k), density).log_joint(x)


@dataclass(frozen=True, eq=False)
class HiddenChainStatistics:
    """Expected counts of first states and of transitions, and statistics of rows by state.

    Attributes
    ----------
    start
        Shape (K,).
    transitions
        Shape (K, K).
    rows
        Weight of each state, and statistics of its rows.
    table
        Transitions under which all this is expected; None if states were known.
    """

    start: Array
    transitions: Array
    rows: ComponentStatistics
    table: Array | None = None

    @property
    def classes(self) -> CategoricalStatistics:
        """Weight of each state."""
        return self.rows.classes

    def __add__(self, other: HiddenChainStatistics) -> HiddenChainStatistics:
        return HiddenChainStatistics(
            self.start + other.start,
            self.transitions + other.transitions,
            self.rows + other.rows,
        )


@dataclass(frozen=True, eq=False)
class HiddenChainBelief:
    """Belief about the parameters of a hidden Markov model.

    Attributes
    ----------
    start
        Belief about the first state.
    transition
        Belief about transitions, row by row.
    rows
        Belief about the rows of each state, with a leading axis of states.
    """

    start: Table
    transition: Table
    rows: Belief

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.start.mean().shape[-1])

    def components(self) -> Components:
        """Return the belief about rows as one about the components of an even mixture."""
        even = Categorical(np.full(self.n_states, 1.0 / self.n_states))
        return Components(Known(even), self.rows)

    def mean(self) -> HiddenChain:
        """Return the chain at the expected parameters."""
        rows: Any = self.rows
        return HiddenChain(self.start.mean(), self.transition.mean(), rows.mean())

    def predictive(self) -> HiddenChain:
        """Return the chain with expected tables and the predictive density of each state."""
        rows: Any = self.rows
        return HiddenChain(self.start.mean(), self.transition.mean(), rows.predictive())

    def sample(self, rng: Generator) -> HiddenChain:
        """Return a chain with drawn parameters."""
        rows: Any = self.rows
        return HiddenChain(
            self.start.sample(rng), self.transition.sample(rng), rows.sample(rng)
        )

    def kl(self, other: HiddenChainBelief) -> float:
        """Return the divergence of ``other`` from this belief, in nats."""
        rows, own, theirs = self.rows, self._tables, other._tables
        about_rows: Any = rows
        tables = sum(one.kl(two) for one, two in zip(own, theirs, strict=True))
        return float(tables) + float(np.sum(about_rows.kl(other.rows)))

    def log_density_at(self, chain: HiddenChain) -> float:
        """Return the log density of parameters."""
        about_rows: Any = self.rows
        tables = self.start.log_density_at(chain.start)
        tables += self.transition.log_density_at(chain.transition)
        return tables + float(np.sum(about_rows.log_density_at(chain.density)))

    @property
    def _tables(self) -> tuple[Any, Any]:
        return self.start, self.transition


Knowledge = HiddenChain | HiddenChainBelief


@dataclass(frozen=True, eq=False)
class HiddenMarkovProblem:
    """Rows of any family in sequences, whose states are hidden.

    Attributes
    ----------
    data
        The rows, all of weight one; a label says that a state is known.
    ends
        First row of each sequence, and one behind the last, shape (n_sequences + 1,).
    prior
        What is believed before the data.
    is_point, has_prior, share
        As of a `LatentClassProblem`.
    is_stationary
        Whether the first state is distributed as the chain settles.

    Examples
    --------
    >>> from credo.families import GammaPoisson
    >>> from credo.inference import ExpectationMaximization, run
    >>> rows = IncompleteRows.unlabeled([[0], [1], [0], [9], [8], [12]], n_classes=2)
    >>> even = TransitionBelief(np.ones((2, 2)))
    >>> prior = HiddenChainBelief(
    ...     TransitionBelief(np.ones(2)), even, GammaPoisson([1.0], 0.1).spread((2, 1))
    ... )
    >>> problem = HiddenMarkovProblem(rows, np.array([0, 6]), prior)
    >>> run(ExpectationMaximization(), problem).posterior.mean().density.rate.ravel().round(2)
    array([0.65, 9.68])
    """

    data: IncompleteRows
    ends: Codes
    prior: HiddenChainBelief
    is_point: bool = False
    has_prior: bool = False
    share: Array | None = None
    is_stationary: bool = False

    is_monotone = True

    @property
    def size(self) -> float:
        """Number of rows."""
        return float(len(self.data.x))

    @property
    def evidence_method(self) -> str:
        """Return "bound" for beliefs, "none" for parameters."""
        return "none" if self.is_point else "bound"

    def start(self) -> Knowledge:
        """Return what the shares to start from say, as if they were of known states."""
        share, k = self.share, self.data.n_classes
        begun = self.rows_problem.start()
        if share is None:
            share = self.rows_problem.responsibility(begun)
        pairs = share[:-1].T @ share[1:]
        inner = self.ends[1:-1]
        pairs = pairs - share[inner - 1].T @ share[inner]
        # Transitions that no start has made could never be made.
        pairs = pairs + pairs.sum() / (k * k * 10.0) + 1.0 / k
        return self._known(share[self.ends[:-1]].sum(axis=0) + 1.0 / k, pairs, begun)

    def begin(self, rng: Generator) -> Array:
        """Return shares of rows in states to start from, shape (n, K).

        Where states have an order, sequences in equal parts; of categories, shares drawn for
        each. Else by chance one of three: the nearest of the centers that k-means finds; of
        rows; or, for states that differ in spread, stretches of rows by their means and
        spreads.
        """
        k, x = self.data.n_classes, self.data.x
        if not self.is_exchangeable:
            length = np.diff(self.ends)
            share = np.eye(k)[self._turn * k // np.repeat(length, length)]
        elif isinstance(self.prior.rows, DirichletCategorical | BetaBernoulli):
            _, code = np.unique(x, axis=0, return_inverse=True)
            share = rng.dirichlet(np.ones(k), int(code.max()) + 1)[code.ravel()]
        else:
            ways = (self._nearest_centers, self._nearest_rows, self._stretches)
            share = ways[int(rng.integers(3))](rng)
            # Starts that are less sure of themselves lead to other optima.
            doubt = MOST_DOUBT * max(2.0 * rng.random() - 1.0, 0.0)
            share = (1.0 - doubt) * share + doubt / k
        is_known = self.data.label >= 0
        share[is_known] = np.eye(k)[self.data.label[is_known]]
        return np.asarray(share)

    @cached_property
    def _turn(self) -> Codes:
        """How many rows of its sequence come before each row, shape (n,)."""
        return np.arange(len(self.data.x)) - np.repeat(self.ends[:-1], np.diff(self.ends))

    def _nearest_centers(self, rng: Generator) -> Array:
        """Return each row in the nearest of the centers that k-means finds."""
        return started_share(self.data, rng)

    def _nearest_rows(self, rng: Generator) -> Array:
        """Return each row in the nearest of some rows that are taken by chance."""
        pooled, k = self.data.pooled(), self.data.n_classes
        rows = np.nan_to_num((self.data.x - pooled.mean) / np.sqrt(pooled.usual_variance()))
        centers = rng.permutation(np.unique(rows, axis=0))[:k]
        return np.eye(k)[nearest(rows, centers)]

    def _stretches(self, rng: Generator) -> Array:
        """Return stretches of rows in the nearest of centers of their means and spreads."""
        length = STRETCHES[int(rng.integers(len(STRETCHES)))]
        begins = (self._turn % length) == 0
        code = np.cumsum(begins) - 1
        n_stretches = int(code[-1]) + 1
        if n_stretches < FEWEST_STRETCHES * self.data.n_classes:
            return self._nearest_rows(rng)
        own = NormalStatistics.by_group(self.data.x, code, n_stretches)
        least = 0.01 * self.data.pooled().usual_variance()
        spread = own.scatter / np.maximum(own.weight, 1.0) + least
        features = np.concatenate([own.mean, 0.5 * np.log(spread)], axis=1)
        groups = IncompleteRows.unlabeled(features, self.data.n_classes)
        return np.asarray(started_share(groups, rng)[code])

    def expect(self, belief: Knowledge) -> Expectation:
        """Return expected counts and statistics, and the log normalizer of all sequences."""
        found = self.smoothed(belief)
        require_possible(found.log_prob)
        rows = self.rows_problem.shared_out(self._joint(belief), found.belief)
        first = found.belief[self.ends[:-1]].sum(axis=0)
        table = _tables(belief)[1]
        statistics = HiddenChainStatistics(first, found.transitions, rows, table)
        return Expectation(statistics, float(found.log_prob.sum()))

    def update(self, statistics: HiddenChainStatistics) -> Knowledge:
        """Return the posterior, or the best parameters.

        Raises
        ------
        DegenerateComponent
            If a state has lost all rows, or shrunk to some that do not vary, where the
            likelihood is sought.
        """
        weight = statistics.classes.counts
        if self.is_point and not self.has_prior and weight.min() < LEAST_WEIGHT:
            raise DegenerateComponent(int(weight.argmin()), ())
        return self._known(
            statistics.start,
            statistics.transitions,
            self.rows_problem.update(statistics.rows),
            statistics.table,
        )

    def penalty(self, belief: Knowledge) -> float:
        """Return the divergence of a belief from the prior, or minus the log prior density."""
        if isinstance(belief, HiddenChainBelief):
            return belief.kl(self.prior)
        if not self.has_prior:
            return 0.0
        prior = self.prior
        if self.is_stationary:
            prior = replace(prior, start=FixedTable(belief.start))
        return -prior.log_density_at(belief)

    @property
    def is_exchangeable(self) -> bool:
        """Whether states may change places: none of their transitions is impossible."""
        tables = self.prior.start, self.prior.transition
        return all(
            isinstance(one, TransitionBelief) and bool(one.is_possible.all()) for one in tables
        )

    def responsibility(self, belief: Knowledge) -> Array:
        """Return the probability of each state of each row, given all rows, shape (n, K)."""
        return self.smoothed(belief).belief

    def smoothed(self, belief: Knowledge) -> Smoothed:
        """Return the belief about states given all rows."""
        start, table = _tables(belief)
        return smoothed(self.log_densities(belief), start, table, self.ends)

    def begun(self) -> Array:
        """Return rows with the values that are drawn at the mean of their column."""
        return self.rows_problem.begun()

    def first_label(self) -> NDArray[np.intp]:
        """Return the state of each row to begin draws with, shape (n,)."""
        return first_label(self)

    def redrawn(self, label: Codes, x: Array, rng: Generator) -> float:
        """Draw parameters, and then whole paths and gaps in place; return the log density.

        Paths are drawn backward from the beliefs of a forward pass [fruhwirth1994]_.

        Parameters
        ----------
        label
            State of each row, shape (n,), which is set anew.
        x
            Rows, of which gaps in normal vectors are set anew.
        """
        chain = self.believed(label, x).sample(rng)
        found = filtered(self.log_densities(chain), chain.start, chain.transition, self.ends)
        label[:] = drawn_path(found.belief, chain.transition, self.ends, rng)
        if self.has_hidden_values:
            rows = ClassConditional(np.zeros(chain.n_states), chain.density)
            self.rows_problem.fill(x, rows, label, rng)
        return float(found.log_prob.sum())

    @property
    def has_hidden_values(self) -> bool:
        """Whether rows have gaps in normal vectors, where they are hidden values."""
        return self.rows_problem.has_hidden_values

    def best_path(self, chain: HiddenChain) -> Codes:
        """Return the most probable path of each sequence, shape (n,)."""
        logs = self.log_densities(chain)
        return best_path(logs, chain.start, chain.transition, self.ends)

    def completed(self, path: NDArray[Any], rng: Generator) -> HiddenChainBelief:
        """Return the posterior given the state of each row, gaps in normal vectors drawn."""
        if not self.has_hidden_values:
            return self.believed(path)
        x = np.where(np.isnan(self.data.x), self.data.pooled().mean, self.data.x)
        for _ in range(N_FILLS):
            chain = self.believed(path, x).sample(rng)
            rows = ClassConditional(np.zeros(chain.n_states), chain.density)
            self.rows_problem.fill(x, rows, path, rng)
        return self.believed(path, x)

    def believed(self, path: NDArray[Any], x: Array | None = None) -> HiddenChainBelief:
        """Return the posterior given the state of each row, (n,), and rows without gaps."""
        k, prior = self.data.n_classes, self.prior
        rows: Any = prior.rows
        first = np.bincount(path[self.ends[:-1]], minlength=k)
        code = path[:-1] * k + path[1:]
        is_inside = np.ones(len(code), dtype=np.bool_)
        is_inside[self.ends[1:-1] - 1] = False
        pairs = np.bincount(code[is_inside], minlength=k * k).reshape(k, k)
        seen = rows.statistics_by_group(self.data.x if x is None else x, path, k)
        return HiddenChainBelief(
            prior.start.update(first.astype(np.float64)),
            prior.transition.update(pairs.astype(np.float64)),
            rows.update(seen),
        )

    def log_densities(self, belief: Knowledge) -> Array:
        """Return the (expected) log density of each row in each state it may be in, (n, K)."""
        joint = self._joint(belief)
        even = np.log(self.data.n_classes) if isinstance(joint, Components) else 0.0
        if self._is_plain:
            offset, center, lower = share_terms(self.prior.rows, joint)
            return normal_log_densities(self.data.x, offset + even, center, lower)
        return self.rows_problem.log_joint(joint) + even

    @cached_property
    def rows_problem(self) -> LatentClassProblem:
        """The same rows as those of an even mixture."""
        k = self.data.n_classes
        prior = Components(DirichletCategorical(np.ones(k)), self.prior.rows)
        return LatentClassProblem(
            self.data, prior, self.is_point, share=self.share, has_prior=self.has_prior
        )

    @cached_property
    def _is_plain(self) -> bool:
        """Whether rows are complete and normal, and no state is known."""
        is_normal = isinstance(self.prior.rows, NormalBelief)
        return is_normal and not has_missing(self.data.x) and bool((self.data.label < 0).all())

    def _joint(self, belief: Knowledge) -> ClassConditional | Components:
        if isinstance(belief, HiddenChainBelief):
            return belief.components()
        return ClassConditional(np.zeros(belief.n_states), belief.density)

    def _known(
        self, start: Array, transitions: Array, rows: Any, guess: Array | None = None
    ) -> Knowledge:
        """Return what counts say of tables, and with it what is known of rows."""
        prior = self.prior
        if isinstance(rows, Components):
            return HiddenChainBelief(
                prior.start.update(start), prior.transition.update(transitions), rows.rows
            )
        if self.is_stationary:
            table = prior.transition.maximum_likelihood(transitions)
            if isinstance(prior.transition, TransitionBelief):
                begun = table if guess is None else guess
                if self.has_prior:
                    concentration = prior.transition.concentration
                    transitions = transitions + np.maximum(concentration - 1.0, 0.0)
                table = stationary_table(transitions, start, begun)
            return HiddenChain(_kept(table), table, rows.density)
        if self.has_prior:
            own = prior.start.update(start).mode(), prior.transition.update(transitions).mode()
        else:
            own = (
                prior.start.maximum_likelihood(start),
                prior.transition.maximum_likelihood(transitions),
            )
        return HiddenChain(*own, rows.density)


def _tables(belief: Knowledge) -> tuple[Array, Array]:
    if isinstance(belief, HiddenChain):
        return belief.start, belief.transition
    return belief.start.weights(), belief.transition.weights()


def stationary_table(transitions: Array, start: Array, guess: Array) -> Array:
    """Return the table ``A`` of largest ``sum n_ij log A_ij + sum m_i log pi_i(A)``.

    ``pi`` is the distribution that the chain keeps; its slope is ``pi_i Z_jk`` by ``A_ij``,
    with ``Z = (I - A + 1 pi')^-1``. Entries that the guess has as zero stay zero.

    Parameters
    ----------
    transitions, start
        Expected counts, shapes (K, K) and (K,).

    Examples
    --------
    >>> even = np.full((2, 2), 0.5)
    >>> stationary_table(np.full((2, 2), 5.0), np.array([1.0, 1.0]), even).round(3)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    k = len(start)
    is_free = guess > 0

    def table(free: Array) -> Array:
        logs = np.full((k, k), -np.inf)
        logs[is_free] = free
        return np.asarray(special.softmax(logs, axis=1))

    def value_and_gradient(free: Array) -> tuple[float, Array]:
        a = table(free)
        kept = _kept(a)
        pull = np.linalg.solve(np.eye(k) - a + kept, start / np.maximum(kept, 1e-300))
        slope = transitions + a * kept[:, None] * pull
        value = special.xlogy(transitions, a).sum() + special.xlogy(start, kept).sum()
        return -float(value), -(slope - a * slope.sum(axis=1, keepdims=True))[is_free]

    begin = np.log(np.maximum(guess[is_free], LEAST_PROBABILITY))
    value, gradient = separate(value_and_gradient)
    rule = Termination(max_steps=TABLE_STEPS, value_change=1e-14, gradient_norm=1e-9)
    found = lbfgs(value, gradient, begin, termination=rule).x
    return table(found) if float(value(found)) < float(value(begin)) else guess


def _kept(table: Array) -> Array:
    """Return the distribution that a chain with one closed class keeps."""
    k = len(table)
    found = np.linalg.solve((np.eye(k) - table + 1.0).T, np.ones(k))
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.sum())


def free_energy(
    log_density: Array, start: Array, table: Array, single: Array, pair: Array
) -> float:
    """Return the free energy of beliefs about neighbors of one sequence.

    Parameters
    ----------
    log_density
        Log density of each row in each state, shape (T, K).
    single
        Belief about each state, shape (T, K).
    pair
        Belief about each state and the next, shape (T - 1, K, K), whose sums over one are
        ``single``.

    Examples
    --------
    >>> even = np.full(2, 0.5)
    >>> free_energy(np.zeros((1, 2)), even, np.eye(2), even[None], np.empty((0, 2, 2)))
    0.0
    """
    cross = special.xlogy(single[0], start).sum() + special.xlogy(pair, table).sum()
    cross += (single * np.where(single > 0, log_density, 0.0)).sum()
    if len(single) == 1:
        return float(special.xlogy(single, single).sum() - cross)
    entropy = special.xlogy(pair, pair).sum() - special.xlogy(single[1:-1], single[1:-1]).sum()
    return float(entropy - cross)
