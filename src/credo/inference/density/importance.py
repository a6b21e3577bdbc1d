"""Draws from one distribution that stand for another: rejection and importance sampling.

Both need a proposal that can be drawn from and whose density is known. Rejection keeps a draw
``x`` with probability ``p(x) / (M q(x))`` and is exact wherever ``p <= M q``; importance
sampling keeps every draw with the weight ``p(x) / q(x)`` [mackay2003]_. The proposal must reach
wherever the target does; the best one for the mean of ``f`` is proportional to ``p |f|``, and
for weights that are normalized by their sum to ``p |f - E f|``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from credo.distributions.beta import Beta
from credo.distributions.distribution import Distribution
from credo.distributions.estimate import Estimate, sample_mean
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.uniform import Uniform
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Drawn,
    Inference,
    Step,
    WeightStep,
    run,
)
from credo.inference.engine.pareto import largest_k_hat, pareto_smoothed
from credo.inference.engine.problem import (
    BatchedDensity,
    LogDensity,
    Parameters,
    PointDensity,
)
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.special.bijection import Interval
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.warning import warn_user

__all__ = [
    "BrokenEnvelope",
    "ImportancePosterior",
    "ImportanceSampling",
    "KeptDraws",
    "ProposalProblem",
    "RejectionSampling",
    "RejectionStep",
    "WeighedDraws",
    "finite_log_densities",
]

# Beyond this a density lies above its envelope by more than rounding.
ROUNDING = 1e-9


class BrokenEnvelope(ValueError):
    """A density was met that lies above its envelope, so that kept draws are not from it."""


class Proposed(NamedTuple):
    """Draws of a proposal: free numbers (n, d), and log densities (n,) of both there."""

    free: Array
    log_target: Array
    log_proposal: Array


@dataclass(frozen=True, eq=False)
class ProposalProblem:
    """A density, and a distribution that can be drawn from in its place.

    Attributes
    ----------
    target
        Log density of named parameters, not normalized: a `LogDensity` or a `BatchedDensity`.
    proposal
        A distribution of each parameter by name, independent of each other, such as their
        prior; or one of all free numbers together, with events of shape (n_free,).

    Examples
    --------
    >>> coin = BatchedDensity(
    ...     Parameters({"heads": Interval(0.0, 1.0)}),
    ...     lambda values: 3 * np.log(values["heads"]) + np.log1p(-values["heads"]),
    ... )
    >>> problem = ProposalProblem(coin, {"heads": Uniform(0.0, 1.0)})
    >>> from credo.inference import run
    >>> found = run(ImportanceSampling(), problem, np.random.default_rng(0))
    >>> bool(abs(np.exp(found.log_evidence) - 0.05) < 0.002)  # the beta function B(4, 2)
    True
    """

    target: PointDensity
    proposal: Distribution | Mapping[str, Distribution]

    def __post_init__(self) -> None:
        parameters = self.target.parameters
        if isinstance(self.proposal, Distribution):
            if self.proposal.event_shape != (parameters.n_free,) or self.proposal.batch_shape:
                raise ValueError(
                    f"proposal must be one distribution of the {parameters.n_free} free "
                    f"numbers of {list(parameters.names)}; found events of shape "
                    f"{self.proposal.event_shape} in a batch of {self.proposal.batch_shape}. "
                    "Or give a distribution for each name."
                )
            return
        shapes = {name: part.batch_shape + part.event_shape for name, part in self._parts}
        expected = {name: support.shape for name, support in parameters.supports.items()}
        if shapes != expected:
            raise ValueError(
                f"proposal must draw values of the shapes {expected}; found {shapes}. Give a "
                "distribution for each name, batched where a parameter has axes."
            )

    @classmethod
    def by_laplace(cls, target: LogDensity, df: float = 5.0) -> ProposalProblem:
        """Return a density proposed by Student's t about its mode, with its curvature there.

        Parameters
        ----------
        df
            Degrees of freedom: the fewer, the heavier the tails, which keep weights even.
        """
        normal: MultivariateNormal = run(LaplaceApproximation(), target).posterior
        return cls(target, MultivariateStudentT(df, normal.mean(), normal.form.dense()))

    @property
    def parameters(self) -> Parameters:
        """Names, shapes and supports."""
        return self.target.parameters

    def draw(self, n: int, rng: Generator) -> Proposed:
        """Return draws of the proposal, with both log densities of their free numbers."""
        if isinstance(self.proposal, Distribution):
            free = as_float(self.proposal.sample(rng, n))
        else:
            free = self.parameters.free(
                {name: part.sample(rng, n) for name, part in self._parts}
            )
        return Proposed(free, finite_log_densities(self.target, free), self.log_proposal(free))

    def log_proposal(self, free: Array) -> Array:
        """Return the log density of the proposal at free numbers, shape (n, n_free)."""
        if isinstance(self.proposal, Distribution):
            return self.proposal.log_prob(free)
        values = self.parameters.constrain(free)
        total = self.parameters.log_jacobian(free)
        for name, part in self._parts:
            total = total + part.log_prob(values[name]).reshape(len(free), -1).sum(axis=1)
        return np.asarray(total)

    @property
    def _parts(self) -> list[tuple[str, Distribution]]:
        given: Any = self.proposal
        return [(name, given[name]) for name in sorted(given, key=self._place)]

    def _place(self, name: str) -> int:
        names = self.parameters.names
        return names.index(name) if name in names else len(names)


def finite_log_densities(target: PointDensity, free: Array) -> Array:
    """Return log densities of rows of free numbers, minus infinity where they are impossible.

    Raises
    ------
    ValueError
        If one is NaN or infinity.
    """
    found = target.log_densities(free)
    is_bad = np.isnan(found) | np.isposinf(found)
    if is_bad.any():
        at = int(np.flatnonzero(is_bad)[0])
        values = {name: x[at] for name, x in target.parameters.constrain(free).items()}
        raise ValueError(
            f"log density must be a number below infinity; found {found[at]} at {values}. "
            "Return minus infinity where a value is impossible."
        )
    return found


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """Draws that were kept, shape (n, d), and how many were proposed for them."""

    free: Annotated[Array, Form("n d")]
    n_proposed: int


@dataclass(frozen=True)
class RejectionStep(Step):
    """A block of proposals.

    Attributes
    ----------
    n_draws
        Draws that were kept so far.
    acceptance
        Share of the proposals that was kept.
    """

    n_draws: int
    acceptance: float


@dataclass(frozen=True)
class RejectionSampling:
    """Keep a draw ``x`` of the proposal with probability ``p(x) / (M q(x))``.

    Draws that are kept are independent and from the target. The share that is kept tells its
    integral: ``Z = M * acceptance``.

    Attributes
    ----------
    log_bound
        Log of ``M``, with which ``p(x) <= M q(x)`` everywhere; ``q`` is normalized, ``p`` need
        not be. Of values by name, densities are those of the values.
    n_draws
        Draws to keep at least; those of the last step are kept as well.
    block_size
        Proposals of one step.

    Examples
    --------
    Beta(2, 2) under a uniform proposal has the bound 1.5, its density at the mode:

    >>> from credo.inference import run
    >>> problem = RejectionSampling.examples()[0].arguments["problem"]
    >>> found = run(RejectionSampling(np.log(1.5)), problem, np.random.default_rng(0))
    >>> bool(abs(found.trace[-1].acceptance - 1 / 1.5) < 0.03)
    True
    """

    log_bound: float
    n_draws: int = 1000
    block_size: int = 1000

    problem = ProposalProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Drawn:
        """All draws are kept."""
        return Drawn(self.n_draws)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        return (Example(cls(float(np.log(1.5)), 200, 100), problem=_beta_by_uniform()),)

    def init(self, problem: ProposalProblem, rng: Generator) -> KeptDraws:
        """Return no draws."""
        return KeptDraws(np.empty((0, problem.parameters.n_free)), 0)

    def step(
        self, problem: ProposalProblem, state: KeptDraws, rng: Generator
    ) -> tuple[KeptDraws, RejectionStep]:
        """Propose one block, and keep some of it.

        Raises
        ------
        BrokenEnvelope
            If a density lies above the envelope.
        """
        drawn = problem.draw(self.block_size, rng)
        log_share = drawn.log_target - drawn.log_proposal - self.log_bound
        self._require_envelope(problem, drawn.free, log_share)
        is_kept = rng.random(len(log_share)) < np.exp(np.minimum(log_share, 0.0))
        free = np.concatenate([state.free, drawn.free[is_kept]])
        after = KeptDraws(free, state.n_proposed + len(log_share))
        acceptance = len(free) / after.n_proposed
        return after, RejectionStep(self._log_integral(after), len(free), acceptance)

    def joined(self, problem: ProposalProblem, states: Sequence[KeptDraws]) -> KeptDraws:
        """Return the draws of several chains together."""
        n_proposed = sum(state.n_proposed for state in states)
        return KeptDraws(np.concatenate([state.free for state in states]), n_proposed)

    def posterior(self, problem: ProposalProblem, state: KeptDraws) -> Inference:
        """Return the draws, and the integral of the target.

        Raises
        ------
        ZeroWeights
            If no draw was kept.
        """
        n = len(state.free)
        if not n:
            raise ZeroWeights(state.n_proposed)
        acceptance = n / state.n_proposed
        error = float(np.sqrt((1.0 - acceptance) / n))
        account = Account(
            "rejection sampling", False, error, "standard error of the log evidence", float(n)
        )
        draws = problem.parameters.draws(state.free[None])
        return Inference(draws, self._log_integral(state), "importance", account=account)

    def _log_integral(self, state: KeptDraws) -> float:
        with np.errstate(divide="ignore"):
            return float(self.log_bound + np.log(len(state.free)) - np.log(state.n_proposed))

    def _require_envelope(
        self, problem: ProposalProblem, free: Array, log_share: Array
    ) -> None:
        worst = int(log_share.argmax())
        if log_share[worst] > ROUNDING:
            values = problem.parameters.constrain(free[worst])
            raise BrokenEnvelope(
                f"log_bound must be such that p <= M q everywhere; found p / q of "
                f"{np.exp(log_share[worst]):.4g} times M at {values}. Raise log_bound to at "
                f"least {self.log_bound + log_share[worst]:.6g}; what was kept is not from p."
            )


@dataclass(frozen=True, eq=False)
class WeighedDraws:
    """Draws of a proposal, shape (n, d), with the log weights of the target, shape (n,)."""

    free: Annotated[Array, Form("n d")]
    log_weight: Annotated[Array, Form("n", -np.inf)]


@dataclass(frozen=True, eq=False)
class ImportancePosterior:
    """Draws with weights, and how far they can be trusted.

    Attributes
    ----------
    draws
        Draws by name with their weights, smoothed if that was asked for.
    raw_log_weight
        Log of target over proposal at each draw, shape (n,).
    k_hat
        Shape of the tail of the weights; averages can be used up to `largest_k_hat`.
    log_evidence_error
        Standard error of the log of the mean weight.
    """

    draws: Draws
    raw_log_weight: Annotated[Array, Form("n", -np.inf)]
    k_hat: float
    log_evidence_error: float

    @property
    def is_trusted(self) -> bool:
        """Whether the weights are even enough for averages over them."""
        return self.k_hat <= largest_k_hat(len(self.raw_log_weight))

    @cached_property
    def effective_draws(self) -> float:
        """Draws of equal weight that they are worth."""
        return float(1.0 / (self.draws.weight**2).sum())

    def expectation(
        self, function: Callable[[dict[str, Array]], Any], *, is_normalized: bool = False
    ) -> Estimate:
        """Return the mean of a function of the values, with its standard error.

        Parameters
        ----------
        function
            From values by name, shape (n, ...) each, to numbers, shape (n, ...).
        is_normalized
            Whether the target has integral one. Then the estimate is the mean of ``w f`` with
            raw weights and has no bias; else weights are divided by their sum, which has a
            bias that falls like ``1 / n``.
        """
        values = as_float(function({name: self.draws.pooled(name) for name in self.draws}))
        if is_normalized:
            weight = np.exp(self.raw_log_weight)
            return sample_mean(weight.reshape(-1, *[1] * (values.ndim - 1)) * values)
        mean = np.tensordot(self.draws.weight, values, axes=1)
        error = np.sqrt(np.tensordot(self.draws.weight**2, (values - mean) ** 2, axes=1))
        return Estimate(np.asarray(mean), np.asarray(error))


@dataclass(frozen=True)
class ImportanceSampling:
    """Weigh draws of a proposal by how much denser the target is there.

    Attributes
    ----------
    n_draws
        Draws of each chain.
    block_size
        Draws of one step.
    is_smoothed
        Whether the largest weights are smoothed by a fitted Pareto tail, which lowers the
        variance for a little bias. The evidence is the mean of these weights.

    Examples
    --------
    A normal of variance one, drawn from one of variance four:

    >>> from credo.distributions import Normal
    >>> from credo.inference import run
    >>> from credo.numerics.special.bijection import real
    >>> target = BatchedDensity(Parameters({"x": real()}), lambda v: -0.5 * v["x"] ** 2)
    >>> problem = ProposalProblem(target, {"x": Normal(0.0, 2.0)})
    >>> found = run(ImportanceSampling(10_000), problem, np.random.default_rng(0)).posterior
    >>> square = found.expectation(lambda values: values["x"] ** 2)
    >>> bool(abs(square.value - 1.0) < 4 * square.standard_error < 0.05), found.is_trusted
    (True, True)
    """

    n_draws: int = 4000
    block_size: int = 1000
    is_smoothed: bool = True

    problem = ProposalProblem
    is_random: ClassVar[bool] = True

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        problem = _beta_by_uniform()
        return (
            Example(cls(400, 100), problem=problem),
            Example(cls(400, 100, is_smoothed=False), problem=problem),
        )

    def init(self, problem: ProposalProblem, rng: Generator) -> WeighedDraws:
        """Return no draws."""
        return WeighedDraws(np.empty((0, problem.parameters.n_free)), np.empty(0))

    def step(
        self, problem: ProposalProblem, state: WeighedDraws, rng: Generator
    ) -> tuple[WeighedDraws, WeightStep]:
        """Draw one more block; report the log evidence so far and its error."""
        left = self.n_draws - len(state.log_weight)
        drawn = problem.draw(min(self.block_size, left) if left > 0 else self.block_size, rng)
        after = WeighedDraws(
            np.concatenate([state.free, drawn.free]),
            np.concatenate([state.log_weight, drawn.log_target - drawn.log_proposal]),
        )
        log_weight, n = after.log_weight, len(after.log_weight)
        log_evidence = float(log_sum_exp(log_weight)) - float(np.log(n))
        worth = _worth(log_weight)
        return after, WeightStep(log_evidence, _relative_error(n, worth), n, worth)

    def joined(self, problem: ProposalProblem, states: Sequence[WeighedDraws]) -> WeighedDraws:
        """Return the draws of several chains together."""
        return WeighedDraws(
            np.concatenate([state.free for state in states]),
            np.concatenate([state.log_weight for state in states]),
        )

    def posterior(self, problem: ProposalProblem, state: WeighedDraws) -> Inference:
        """Return the draws with their weights, and the log of their mean weight.

        Warns
        -----
        ConvergenceWarning
            If the weights are too uneven for averages over them.

        Raises
        ------
        ZeroWeights
            If every weight is zero.
        """
        smoothed, k_hat = pareto_smoothed(state.log_weight)
        log_weight = smoothed if self.is_smoothed else state.log_weight
        n, worth = len(log_weight), _worth(log_weight)
        values = problem.parameters.constrain(state.free[None])
        error = _relative_error(n, worth)
        found = ImportancePosterior(
            Draws(values, log_weight[None]), state.log_weight, float(k_hat), error
        )
        if not found.is_trusted:
            warn_user(
                f"weights must have a k-hat of at most {largest_k_hat(n):.2f}; found "
                f"{found.k_hat:.2f}. Do not trust averages over them: take a proposal with "
                "heavier tails that is nearer to the target, or SequentialMonteCarlo.",
                ConvergenceWarning,
            )
        account = Account(
            "importance sampling", False, error, "standard error of the log evidence", worth
        )
        log_evidence = float(log_sum_exp(log_weight)) - float(np.log(n))
        return Inference(found, log_evidence, "importance", account=account)


def _worth(log_weight: Array) -> float:
    """Return the draws of equal weight that weighted ones are worth; zero if none counts."""
    total = log_sum_exp(log_weight)
    if np.isneginf(total):
        return 0.0
    return float(np.exp(2.0 * total - log_sum_exp(2.0 * log_weight)))


def _relative_error(n: int, worth: float) -> float:
    """Return the relative standard error of the mean of ``n`` weights."""
    if n < 2 or not worth:
        return float("inf")
    return float(np.sqrt(max(n / worth - 1.0, 0.0) / (n - 1)))


def _beta_by_uniform() -> ProposalProblem:
    """Return Beta(2, 2), proposed by a uniform distribution."""
    law = Beta(2.0, 2.0)
    target = BatchedDensity(
        Parameters({"x": Interval(0.0, 1.0)}), lambda values: law.log_prob(values["x"])
    )
    return ProposalProblem(target, {"x": Uniform(0.0, 1.0)})
