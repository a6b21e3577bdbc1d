"""Ways to a good mixture: several starts, and moves that split one component and merge two.

Expectation maximization climbs to the nearest optimum. Starts come from k-means; from the best
of them, components that share their rows are merged and a heavy one is split in their place, as
long as that leads higher [ueda2000]_. Every climb is recorded.

Mixtures of normals can also be found by gradient. Weights are a softmax, covariances products
of triangles, so that every vector of free numbers is a mixture. By Fisher's identity the
gradient of the log density of rows is that of the expected complete log density; so one E step
gives both, and with ``n_k``, ``m_k``, ``C_k`` for weight, mean and scatter about the center
``c_k`` of a component,

    ``d/dc = n S^-1 (m - c)``,  ``d/dS = (S^-1 C S^-1 - n S^-1) / 2``.

A prior adds its own counts to these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.families.component import Components, WithBackground
from credo.families.multivariate_normal import TiedNormalInverseWishart
from credo.families.normal import NormalStatistics, SphericalNormalInverseGamma
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Inference,
    Move,
    Steps,
    run,
)
from credo.inference.engine.problem import LatentProblem
from credo.inference.latent.expectation_maximization import (
    ExpectationMaximization,
    LatentState,
)
from credo.inference.latent.latent_class import (
    DegenerateComponent,
    IncompleteRows,
    LatentClassProblem,
)
from credo.numerics.array import Array, merged_rows
from credo.numerics.form import Form
from credo.numerics.linear.clustering import kmeans, nearest
from credo.numerics.optimize.constraint import FreeCovariance, FreeSimplex
from credo.numerics.optimize.difference import separate
from credo.numerics.optimize.minimum import Termination
from credo.numerics.optimize.quasi_newton import lbfgs

__all__ = [
    "Climb",
    "FreeMixture",
    "MixtureHistory",
    "MixtureSearch",
    "descended",
    "started_share",
]

USUAL = ExpectationMaximization(1e-7, 2000)
"""How climbs go by default."""

MOST_SEEDED = 20_000
"""Rows from which k-means finds its centers; the others go to the nearest."""

SHORT = 40
"""Steps after which starts are usually compared."""

ROUGH = 1e-5
"""Gain in nats per row below which a start is usually compared earlier."""

WORTH = 1e-6
"""Gain in nats per row for which a move is taken."""


@dataclass(frozen=True)
class Climb:
    """One way up: where it began, and how high it came.

    Attributes
    ----------
    start
        "k-means" or "split and merge".
    objective
        Log likelihood, log density or bound where it was compared; NaN if it broke off.
    n_steps
        Steps until then.
    remark
        Why it broke off, or what was repaired; empty if nothing was.
    """

    start: str
    objective: Annotated[float, Form(low=-np.inf, high=np.inf, has_gaps=True)]
    n_steps: Annotated[int, Form(low=0)]
    remark: str = ""


@dataclass(frozen=True, eq=False)
class MixtureHistory:
    """What a mixture was at each step of the last climb.

    Attributes
    ----------
    objective
        Minus the free energy at each step: log likelihood, with the log density of parameters
        if they have a prior, or the bound of the log evidence; shape (n_steps,).
    steps
        Parameters, or a belief about them, at each step.
    climbs
        All climbs of the search, in order.
    """

    objective: Annotated[Array, Form("t", -np.inf, np.inf)]
    steps: tuple[Any, ...]
    climbs: tuple[Climb, ...]

    def __len__(self) -> int:
        return len(self.objective)

    @property
    def free_energy(self) -> Array:
        """Minus the objective, which no step raises."""
        return -self.objective

    def responsibility(self, x: Array, step: int = -1) -> Array:
        """Return the probability of each component for rows (n, d) at a step, (n, K)."""
        known = self.steps[step]
        is_belief = isinstance(known, Components)
        logs = known.expected_log_joint(x) if is_belief else known.log_joint(x)
        share = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(share / share.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class MixtureSearch:
    """Settings of a search for a good mixture.

    Attributes
    ----------
    engine
        How each climb goes.
    n_restarts
        Starts by k-means.
    n_moves
        Splits and merges tried in a row without success before the search ends.
    n_compared
        Steps after which starts are compared.
    roughness
        Gain in nats per row below which a start is compared earlier.
    """

    engine: ExpectationMaximization = USUAL
    n_restarts: int = 4
    n_moves: int = 4
    n_compared: int = SHORT
    roughness: float = ROUGH

    def best(self, problem: Any, rng: Generator) -> tuple[Inference, MixtureHistory]:
        """Return the highest answer found, components by falling weight, and the history.

        Raises
        ------
        DegenerateComponent
            If every start leads to a component without spread.
        """
        climbs: list[Climb] = []
        broken: DegenerateComponent | None = None
        best: tuple[float, Array, Any] | None = None
        starts = [problem.share] if problem.share is not None else self._starts(problem, rng)
        for share in starts:
            try:
                tried = self._tried(problem, share, "k-means", climbs)
            except DegenerateComponent as error:
                climbs.append(Climb("k-means", float("nan"), 0, str(error)))
                broken = error
                continue
            if best is None or tried[0] > best[0]:
                best = tried
        if best is None:
            assert broken is not None
            raise broken
        best = self._moved(problem, best, rng, climbs)
        return self._climbed(problem, best, climbs)

    def _starts(self, problem: Any, rng: Generator) -> Iterator[Array]:
        begin = getattr(problem, "begin", None)
        for _ in range(self.n_restarts):
            yield begin(rng) if begin else started_share(problem.data, rng, _n_alike(problem))

    def _tried(
        self, problem: Any, share: Array, start: str, climbs: list[Climb]
    ) -> tuple[float, Array, Any]:
        """Return the objective after a short climb, the start, and where it came to."""
        quick = replace(self.engine, tolerance=max(self.engine.tolerance, self.roughness))
        found = _quietly(quick, replace(problem, share=share), self.n_compared)
        objective = problem.expect(found.posterior).log_normalizer - problem.penalty(
            found.posterior
        )
        climbs.append(Climb(start, float(objective), len(found.trace)))
        return float(objective), share, found.posterior

    def _moved(
        self, problem: Any, best: tuple[float, Array, Any], rng: Generator, climbs: list[Climb]
    ) -> tuple[float, Array, Any]:
        """Return the best after splits and merges, as long as they lead higher."""
        if _n_alike(problem) < 3 or not _may_swap(problem):
            return best
        is_better = True
        while is_better:
            is_better = False
            for share in self._moves(problem, best[2]):
                try:
                    tried = self._tried(problem, share, "split and merge", climbs)
                except DegenerateComponent as error:
                    climbs.append(Climb("split and merge", float("nan"), 0, str(error)))
                    continue
                if tried[0] > best[0] + WORTH * problem.size:
                    best, is_better = tried, True
                    break
        return best

    def _moves(self, problem: Any, posterior: Any) -> Iterator[Array]:
        """Yield shares in which two components are one, and a third is two."""
        share = problem.responsibility(posterior)
        weight = problem.data.weight
        length = np.sqrt(np.maximum(weight @ share**2, 1e-300))
        overlap = (share * weight[:, None]).T @ share / (length[:, None] * length)
        n_alike = _n_alike(problem)
        first, second = np.triu_indices(n_alike, 1)
        pairs = np.argsort(-overlap[first, second], kind="stable")
        heavy = np.argsort(-(weight @ share[:, :n_alike]), kind="stable")
        candidates = [
            (int(first[p]), int(second[p]), int(k))
            for rank in range(len(heavy))
            for p in pairs[:2]
            for k in heavy[rank : rank + 1]
            if k not in (first[p], second[p])
        ]
        for a, b, k in candidates[: self.n_moves]:
            moved = share.copy()
            moved[:, a] += share[:, b]
            is_high = _upper_half(problem.data, share[:, k])
            moved[:, b] = np.where(is_high, share[:, k], 0.0)
            moved[:, k] = np.where(is_high, 0.0, share[:, k])
            yield moved * weight[:, None]

    def _climbed(
        self, problem: Any, best: tuple[float, Array, Any], climbs: list[Climb]
    ) -> tuple[Inference, MixtureHistory]:
        """Return the end of a full climb from the best start, heaviest component first."""
        share, posterior = best[1], best[2]
        n_alike = _n_alike(problem)
        for _ in range(2):
            if _may_swap(problem):
                weight = problem.expect(posterior).statistics.classes.counts[:n_alike]
                is_falling = (np.diff(weight) <= 1e-9 * weight.sum()).all()
                if is_falling and posterior is not best[2]:
                    break
                order = np.argsort(-weight, kind="stable")
                share = share[:, np.append(order, np.arange(n_alike, share.shape[1]))]
            found, steps = _recorded(self.engine, replace(problem, share=share))
            posterior = found.posterior
        objective = np.array([step.objective for step in found.trace])
        last = found.trace[-1].objective
        climbs.append(Climb("best start", float(last), len(found.trace)))
        return found, MixtureHistory(objective, steps, tuple(climbs))


def _recorded(
    engine: ExpectationMaximization, problem: Any
) -> tuple[Inference, tuple[Any, ...]]:
    """Return the answer of an engine, and what was known at each step before its objective."""
    noting = _Noting(engine.tolerance, engine.max_steps)
    found = run(noting, problem)
    return found, tuple(noting.steps[: len(found.trace)])


@dataclass(frozen=True)
class _Noting(ExpectationMaximization):
    """An engine that notes the belief from which each step is taken."""

    steps: list[Any] = field(default_factory=list)

    def step(
        self, problem: LatentProblem, state: LatentState, rng: Generator
    ) -> tuple[LatentState, Move]:
        """Note where the step begins, and take it."""
        self.steps.append(state.belief)
        return super().step(problem, state, rng)


BACKGROUND = 0.05
"""Share of every row in the background to start from."""


def _n_alike(problem: Any) -> int:
    """Return how many components are of one family and may change places."""
    prior = getattr(problem, "prior", None)
    has_background = prior is not None and isinstance(prior.rows, WithBackground)
    return int(problem.data.n_classes) - has_background


def _may_swap(problem: Any) -> bool:
    """Return whether components are only numbered: no row has a label, no order is set."""
    return bool((problem.data.label < 0).all()) and getattr(problem, "is_exchangeable", True)


def started_share(data: IncompleteRows, rng: Generator, n_alike: int | None = None) -> Array:
    """Return each row as a whole in the nearest of the centers that k-means finds, (n, K).

    Columns are in units of their spread, gaps at their means; the order of rows, copies in
    place of weights and the units of columns do not matter. Rows with labels are in these.
    Components beyond ``n_alike`` have a small share of every row.
    """
    pooled, n_classes = data.pooled(), data.n_classes
    k = n_classes if n_alike is None else n_alike
    unit = np.sqrt(pooled.usual_variance())
    standard = np.nan_to_num((data.x - pooled.mean) / unit)
    counts = data.weight > 0
    seeds, heavy = standard[counts], data.weight[counts]
    if len(seeds) > MOST_SEEDED:
        chosen = rng.choice(len(seeds), MOST_SEEDED, replace=False)
        seeds, heavy = seeds[chosen], heavy[chosen]
    rows, weight = merged_rows(seeds, heavy)
    # A row that stands for several is there as often, as long as that is not too often.
    copies = np.maximum(np.rint(weight / weight.min()), 1).astype(np.intp)
    if copies.sum() <= 4 * MOST_SEEDED:
        rows = np.repeat(rows, copies, axis=0)
    centers = kmeans(rows, k, rng).centers
    place = nearest(standard, centers)
    share = np.zeros((len(standard), n_classes))
    every = np.arange(len(standard))
    share[every, place] = 1.0
    if n_classes > k:
        share = (1.0 - BACKGROUND) * share + BACKGROUND * (np.arange(n_classes) >= k)
    is_known = data.label >= 0
    share[is_known] = data.label[is_known, None] == np.arange(n_classes)
    return np.asarray(share * data.weight[:, None])


def _upper_half(data: IncompleteRows, share: Array) -> NDArray[np.bool_]:
    """Return which rows lie beyond the mean of a component along its widest direction."""
    weight = share * data.weight
    unit = np.sqrt(data.pooled().usual_variance())
    standard = np.nan_to_num((data.x - data.pooled().mean) / unit)
    total = max(float(weight.sum()), 1e-300)
    center = weight @ standard / total
    away = standard - center
    direction = np.linalg.eigh((away * weight[:, None]).T @ away)[1][:, -1]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    return np.asarray(away @ direction > 0)


def _quietly(engine: ExpectationMaximization, problem: Any, most: int) -> Inference:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, problem, stop=engine.stop | Steps(most))


@dataclass(frozen=True, eq=False)
class FreeMixture:
    """Minus the log density of rows and parameters, as a function of free numbers.

    Attributes
    ----------
    problem
        Normal rows in hidden classes, to be explained by the most probable or likeliest
        parameters.
    """

    problem: LatentClassProblem

    @cached_property
    def unit(self) -> Array:
        """Spread of each column, in which free numbers are of about one size."""
        return np.sqrt(self.problem.data.pooled().usual_variance())

    @cached_property
    def origin(self) -> Array:
        """Mean of each column."""
        return np.asarray(self.problem.data.pooled().mean)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.problem.data.n_classes, self.problem.data.x.shape[1]

    @cached_property
    def _kind(self) -> str:
        rows = self.problem.prior.rows
        if isinstance(rows, TiedNormalInverseWishart):
            return "tied"
        if isinstance(rows, SphericalNormalInverseGamma):
            return "spherical"
        return "full" if rows.is_joint else "diagonal"

    def free(self, joint: ClassConditional) -> Array:
        """Return the free numbers of a mixture."""
        k, d = self._shape
        density: Any = joint.density
        center = (np.broadcast_to(density.loc, (k, d)) - self.origin) / self.unit
        spread = self._covariance(density) / (self.unit[:, None] * self.unit)
        variance = np.diagonal(spread, axis1=-2, axis2=-1)
        weight = FreeSimplex.free(np.maximum(np.exp(joint.log_weight), 1e-12))
        if self._kind == "full":
            last = np.concatenate([FreeCovariance.free(one) for one in spread])
        elif self._kind == "tied":
            last = FreeCovariance.free(spread[0])
        elif self._kind == "diagonal":
            last = 0.5 * np.log(variance).ravel()
        else:
            last = 0.5 * np.log(variance[:, 0])
        return np.concatenate([weight, center.ravel(), last])

    def joint(self, free: Array) -> ClassConditional:
        """Return the mixture of free numbers."""
        k, d = self._shape
        log_weight = np.log(FreeSimplex.constrain(free[:k]))
        center = self.origin + self.unit * free[k : k + k * d].reshape(k, d)
        last = free[k + k * d :]
        unit = self.unit[:, None] * self.unit
        density: Any
        if self._kind == "full":
            spread = np.stack([FreeCovariance.constrain(one) for one in last.reshape(k, -1)])
            density = MultivariateNormal(center, spread * unit)
        elif self._kind == "tied":
            density = MultivariateNormal(center, (FreeCovariance.constrain(last) * unit)[None])
        elif self._kind == "diagonal":
            density = Normal(center, np.exp(last).reshape(k, d) * self.unit)
        else:
            variance = np.exp(2.0 * last)[:, None] * self.unit[0] ** 2
            density = MultivariateNormal(center, variance[..., None] * np.eye(d))
        return ClassConditional(log_weight, density)

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Return minus the log density, and its gradient, at free numbers."""
        k, d = self._shape
        joint = self.joint(free)
        expectation = self.problem.expect(joint)
        value = self.problem.penalty(joint) - expectation.log_normalizer
        counts = expectation.statistics.classes.counts + self._pseudo_counts
        weight = np.exp(joint.log_weight)
        by_weight = counts - counts.sum() * weight
        slope, curve = self._slopes(joint, expectation.statistics.rows)
        unit = self.unit[:, None] * self.unit
        last = free[k + k * d :]
        if self._kind == "full":
            pairs = zip(last.reshape(k, -1), curve * unit, strict=True)
            by_spread = np.concatenate([FreeCovariance.pull_back(*pair) for pair in pairs])
        elif self._kind == "tied":
            by_spread = FreeCovariance.pull_back(last, curve.sum(axis=0) * unit)
        else:
            # The derivative by the log of a standard deviation is twice that by the log of v.
            by_variance = np.diagonal(curve, axis1=-2, axis2=-1)
            variance = np.diagonal(self._covariance(joint.density), axis1=-2, axis2=-1)
            by_log = 2.0 * by_variance * variance
            by_spread = by_log.ravel() if self._kind == "diagonal" else by_log.sum(axis=1)
        gradient = np.concatenate([by_weight, (slope * self.unit).ravel(), by_spread])
        return float(value), -gradient

    def _slopes(self, joint: ClassConditional, rows: Any) -> tuple[Array, Array]:
        """Return derivatives of the log density by means (K, d) and covariances (K, d, d)."""
        k, d = self._shape
        density: Any = joint.density
        center = np.broadcast_to(density.loc, (k, d))
        precision = np.linalg.inv(self._covariance(density))
        if isinstance(rows, NormalStatistics):
            count, scatter = rows.weight, rows.scatter[..., None] * np.eye(d)
        else:
            count, scatter = np.broadcast_to(rows.weight[:, None], (k, d)), rows.scatter
        away = rows.mean - center
        pull = count * away
        scatter = scatter + np.sqrt(count[..., None] * count[:, None]) * (
            away[..., None] * away[:, None]
        )
        if self.problem.has_prior:
            extra, more, draw = self._pseudo_rows(center)
            count, scatter, pull = count + extra, scatter + more, pull + draw
        slope = (precision @ pull[..., None])[..., 0]
        curve = 0.5 * (precision @ scatter @ precision)
        # Counts differ by column only where the covariance is diagonal.
        return slope, curve - 0.5 * np.sqrt(count[..., None] * count[:, None]) * precision

    def _pseudo_rows(self, center: Array) -> tuple[Array, Array, Array]:
        """Return counts (K, d), scatter (K, d, d) and pull (K, d) that the prior adds."""
        k, d = self._shape
        rows: Any = self.problem.prior.rows
        away = rows.location - center
        if self._kind in ("full", "tied"):
            strength = np.broadcast_to(rows.strength, (k,))[:, None]
            more = strength[..., None] * away[..., None] * away[:, None]
            if self._kind == "full":
                more = more + rows.scale_matrix
                extra = np.broadcast_to((rows.df + d + 2.0)[:, None], (k, d))
            else:
                # Shared out evenly, since the derivatives of all components are summed.
                more = more + rows.scale_matrix / k
                extra = np.full((k, d), (float(rows.df) + d + 1.0 + k) / k)
            return extra, more, strength * away
        if self._kind == "diagonal":
            extra, rate = 2.0 * rows.shape + 3.0, rows.rate
        else:
            extra = np.broadcast_to((2.0 * rows.shape + 2.0 + d)[:, None] / d, (k, d))
            rate = np.broadcast_to(rows.rate[:, None] / d, (k, d))
        square = 2.0 * rate + rows.strength * away**2
        return extra, square[..., None] * np.eye(d), rows.strength * away

    @property
    def _pseudo_counts(self) -> Array:
        classes: Any = self.problem.prior.classes
        if not self.problem.has_prior:
            return np.zeros(self._shape[0])
        return np.asarray(classes.concentration - 1.0)

    def _covariance(self, density: Any) -> Array:
        k, d = self._shape
        if density.event_shape:
            return np.broadcast_to(density.form.dense(), (k, d, d))
        variance = np.broadcast_to(density.scale, (k, d)) ** 2
        return np.asarray(variance[..., None] * np.eye(d))


def descended(
    problem: LatentClassProblem,
    start: ClassConditional,
    note: Callable[[ClassConditional], None] = lambda joint: None,
    max_steps: int = 2000,
) -> Inference:
    """Return the mixture at a minimum of minus the log density, by quasi-Newton steps.

    Parameters
    ----------
    start
        Where to begin.
    note
        Called with every mixture that is looked at.
    """
    mixture = FreeMixture(problem)

    def looked_at(free: Array) -> tuple[float, Array]:
        note(mixture.joint(free))
        return mixture.value_and_gradient(free)

    value, gradient = separate(looked_at)
    rule = Termination(max_steps=max_steps)
    found = lbfgs(value, gradient, mixture.free(start), termination=rule)
    trace = tuple(Move(-info.value, float("nan")) for info in found.trace)
    account = Account("quasi-Newton descent", False, float("nan"), "unknown")
    return Inference(mixture.joint(found.x), status=found.status, trace=trace, account=account)
