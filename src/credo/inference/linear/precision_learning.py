"""Precisions of a linear regression, learned by maximizing and integrating its evidence.

One number is searched for. If the weight precision is learned it is ``t = log s``, where
``s`` is the prior variance of the function, averaged over the data, over the noise variance;
the noise is integrated in closed form at each ``s``. If only the noise precision is learned
it is ``t = log noise_precision``.

The maximum over ``t`` (type II maximum likelihood) gives the precisions that predict; the
doubt that is left about a learned noise stays in the predictions, which are Student t. The
evidence is the integral over ``t`` around it, under the prior that makes ``s / (1 + s)``
uniform on (0, 1) [liang2008]_, and flat with density one in the log noise precision. So a
learned precision costs what it should, and units of inputs and output do not matter.

A `Gamma` belief about the weight precision takes the place of that prior (hierarchical
prior), and is part of what is maximized: the precision that predicts is the most probable
one, on the scale of its logarithm. With ``r`` for the ratio of both precisions, a belief
``Gamma(a, b)`` about the first and a flat log noise precision say together that the noise
precision is ``Gamma(a, b r)``, so that the noise is still integrated in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import special

from credo import families
from credo.distributions.gamma import Gamma
from credo.families.ridge import Noise, Spectrum, log_evidence
from credo.families.ridge_belief import RidgeBelief
from credo.inference.engine.engine import EXACT, Account, Inference, Move, Settled
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import ANYTHING
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "EvidenceMaximization",
    "PrecisionProblem",
    "curvature",
    "log_ratio_prior",
    "settled_shape",
]

SEARCHED_RATIO = np.arange(-25.0, 60.0)
MARGIN = 20.0
SETTLED = 1e4
N_NODES = 81

AT_BEST_PRECISIONS = Account("evidence maximization", False, float("nan"), "unknown")


@dataclass(frozen=True, eq=False)
class PrecisionProblem:
    """A linear regression whose precisions are given, believed or to be learned.

    Attributes
    ----------
    spectrum
        The data, diagonalized.
    weight_precision
        Precision of the scaled weights, a belief about it, or None to learn it. Under a
        `Gamma` belief about the noise it is relative to the noise precision, which keeps that
        belief conjugate.
    noise
        Precision of the noise, a belief about it, or None to learn it.
    """

    spectrum: Spectrum
    weight_precision: float | Gamma | None
    noise: Noise

    @property
    def n_outputs(self) -> int:
        """Number of outputs; each has precisions of its own."""
        return len(self.spectrum.total)

    @cached_property
    def signal(self) -> float:
        """Mean over the data of the squared length of a scaled row."""
        return float(self.spectrum.eigenvalues.sum() / self.spectrum.weight)

    @property
    def learns_weights(self) -> bool:
        """Whether the weight precision is searched for; without columns there is none."""
        return not isinstance(self.weight_precision, float) and self.signal > 0

    @property
    def learns_noise(self) -> bool:
        """Whether the search is over the noise precision at a given weight precision."""
        return (
            self.noise is None and isinstance(self.weight_precision, float) and self.signal > 0
        )

    def ratio(self, t: Array) -> Array:
        """Return weight precision over noise precision at search coordinate ``t``."""
        if self.learns_weights:
            return np.asarray(self.signal * np.exp(-t))
        given = self.weight_precision if isinstance(self.weight_precision, float) else 1.0
        if self.learns_noise:
            return np.asarray(given * np.exp(-t))
        divisor = self.noise if isinstance(self.noise, float) else 1.0
        return np.full_like(t, given / divisor)

    def objective(self, output: int, t: Array) -> Array:
        """Return the log evidence of one output at each ``t``, times a belief about it."""
        ratio, believed = self.ratio(t), self._believed
        if self.learns_noise:
            return log_evidence(self.spectrum, output, ratio, np.exp(t))
        if believed is None:
            return log_evidence(self.spectrum, output, ratio, self.noise)
        if self.noise is None:
            noise = Gamma(believed.shape, believed.rate * ratio)
            return log_evidence(self.spectrum, output, ratio, noise)
        weights = ratio * (self.noise if isinstance(self.noise, float) else 1.0)
        belief = believed.log_prob(weights) + np.log(weights)
        return log_evidence(self.spectrum, output, ratio, self.noise) + belief

    def slope(self, output: int, t: float) -> float:
        """Return the derivative of `objective` with respect to ``t``."""
        s = self.spectrum
        ratio = float(self.ratio(np.asarray(t)))
        damped = ratio + s.eigenvalues
        penalty = ratio * float((s.projection[output] ** 2 / damped**2).sum())
        half_q = 0.5 * float(s.quadratic(np.asarray(ratio), output))
        determined = float((s.eigenvalues / damped).sum())
        if self.learns_noise:
            along_ratio = 0.5 * (determined - np.exp(t) * penalty)
            return float(0.5 * s.n_informative - np.exp(t) * half_q - along_ratio)
        noise = self._mean_precision(half_q, ratio)
        along_evidence = 0.5 * (determined - noise * penalty)
        if self._believed is None:
            return -along_evidence
        weights = ratio * (1.0 if isinstance(self.noise, Gamma) else noise)
        return -along_evidence - float(self._believed.shape - self._believed.rate * weights)

    def noise_precision(self, output: int, t: float) -> float:
        """Return the noise precision that goes with ``t``: known, most probable or mean."""
        if isinstance(self.noise, float):
            return self.noise
        if self.learns_noise:
            return float(np.exp(t))
        ratio = self.ratio(np.asarray(t))
        half_q = 0.5 * float(self.spectrum.quadratic(ratio, output))
        return self._mean_precision(half_q, float(ratio))

    def noise_shape(self, output: int, t: float) -> float:
        """Return the shape of the belief about the noise precision; infinite if it is known.

        A noise that is searched for by itself has the shape whose log precision has the
        curvature of the evidence.
        """
        if isinstance(self.noise, float):
            return float("inf")
        if self.learns_noise:
            return settled_shape(max(curvature(self, output, t), 0.5))
        prior = self._believed if self.noise is None else self.noise
        shape = 0.0 if prior is None else float(prior.shape)
        return settled_shape(shape + 0.5 * self.spectrum.n_informative)

    def log_prior(self, t: Array) -> Array:
        """Return the log prior density of ``t``, where no belief was given."""
        return log_ratio_prior(t) if self._has_usual_prior else np.zeros_like(t)

    def log_prior_slope(self, t: float) -> float:
        """Return the derivative of `log_prior`."""
        return float(1 - 2 * special.expit(t)) if self._has_usual_prior else 0.0

    def searched(self, output: int) -> Array:
        """Return a grid of ``t`` wide enough to hold the maximum."""
        if self.learns_weights:
            return SEARCHED_RATIO
        s = self.spectrum
        level, rounding = s.total[output], s.resolution[output]
        low, high = np.log(s.n_informative / np.array([max(level, rounding), rounding]))
        return np.append(np.arange(low - 6.0, high), high)

    @property
    def _believed(self) -> Gamma | None:
        """The belief about the weight precision, if there is one and it matters."""
        given = self.weight_precision
        return given if isinstance(given, Gamma) and self.signal > 0 else None

    @property
    def _has_usual_prior(self) -> bool:
        return self.learns_weights and self._believed is None

    def _mean_precision(self, half_q: float, ratio: float) -> float:
        """Return the mean noise precision at a ratio; ``half_q`` is half of ``Q(ratio)``."""
        if isinstance(self.noise, float):
            return self.noise
        half_n = 0.5 * self.spectrum.n_informative
        if isinstance(self.noise, Gamma):
            return float((self.noise.shape + half_n) / (self.noise.rate + half_q))
        if self._believed is not None:
            a, b = self._believed.shape, self._believed.rate
            return float((a + half_n) / (b * ratio + half_q))
        return half_n / half_q


@dataclass(frozen=True)
class Brackets:
    """Intervals that hold the maximum of each output, slopes at their ends, side moved last."""

    left: Annotated[Array, ANYTHING]
    right: Annotated[Array, ANYTHING]
    left_slope: Annotated[Array, ANYTHING]
    right_slope: Annotated[Array, ANYTHING]
    best: Annotated[Array, ANYTHING]
    side: Annotated[Array, ANYTHING]


@dataclass(frozen=True)
class EvidenceMaximization:
    """Find the maximum of the evidence on a wide grid, polish it, integrate around it.

    Attributes
    ----------
    with_prior
        Whether to maximize evidence times prior (most probable precisions) instead of the
        evidence alone (type II maximum likelihood).
    """

    tolerance: float = 1e-9
    max_steps: int = 100
    with_prior: bool = False

    problem = PrecisionProblem
    is_random: ClassVar[bool] = False

    @property
    def stop(self) -> Settled:
        """The precision hardly moved, or there were too many steps."""
        return Settled(self.tolerance, self.max_steps)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        x = np.array([[0.0], [1.0], [2.0], [3.0]])
        statistics = families.LinearStatistics.of(x, np.array([0.2, 0.9, 2.1, 2.8]))
        spectrum = Spectrum.of(statistics, np.ones(1), "flat")
        return (
            Example(cls(), problem=PrecisionProblem(spectrum, None, None)),
            Example(cls(with_prior=True), problem=PrecisionProblem(spectrum, 1.5, None)),
        )

    def init(self, problem: PrecisionProblem, rng: Generator) -> Brackets:
        """Bracket the highest point of a wide grid, so that no local maximum is mistaken."""
        if not (problem.learns_weights or problem.learns_noise):
            none = np.zeros(problem.n_outputs)
            return Brackets(none, none, none, none, none, none)
        brackets = [_bracket(self, problem, k) for k in range(problem.n_outputs)]
        return Brackets(*np.array(brackets).T)

    def step(
        self, problem: PrecisionProblem, state: Brackets, rng: Generator
    ) -> tuple[Brackets, Move]:
        """Take one secant step on the slope of every output, kept inside its bracket."""
        moved = np.array([_secant(self, problem, k, state) for k in range(problem.n_outputs)])
        after = Brackets(*moved.T)
        change = float(np.abs(after.best - state.best).max(initial=0.0))
        value = sum(float(problem.objective(k, t[None])[0]) for k, t in enumerate(after.best))
        return after, Move(value, change)

    def slope(self, problem: PrecisionProblem, output: int, t: float) -> float:
        """Return the derivative of what is maximized."""
        prior = problem.log_prior_slope(t) if self.with_prior else 0.0
        return problem.slope(output, t) + prior

    def posterior(self, problem: PrecisionProblem, state: Brackets) -> Inference:
        """Return the belief at the maximum, and the evidence integrated around it."""
        outputs = range(problem.n_outputs)
        belief = RidgeBelief(
            spectra=(problem.spectrum,),
            ratio=problem.ratio(state.best),
            noise_precision=np.array(
                [problem.noise_precision(k, state.best[k]) for k in outputs]
            ),
            noise_shape=np.array([problem.noise_shape(k, state.best[k]) for k in outputs]),
        )
        if not (problem.learns_weights or problem.learns_noise):
            exact = sum(float(problem.objective(k, state.best[k][None])[0]) for k in outputs)
            return Inference(belief, exact, "exact", account=EXACT)
        log_evidence = sum(_integral(problem, k, float(state.best[k])) for k in outputs)
        return Inference(belief, log_evidence, "grid", account=AT_BEST_PRECISIONS)


def settled_shape(shape: float) -> float:
    """Return the shape of a belief about the noise, infinite once it might as well be known.

    A Student t of twenty thousand degrees of freedom and a normal agree to four digits.
    """
    return shape if shape < SETTLED else float("inf")


def log_ratio_prior(t: Array) -> Array:
    """Return the log density of ``t = log s`` that makes ``s / (1 + s)`` uniform on (0, 1)."""
    return np.asarray(special.log_expit(t) + special.log_expit(-t))


def curvature(
    problem: PrecisionProblem, output: int, t: float, with_prior: bool = False
) -> float:
    """Return minus the second derivative of the log evidence (and prior) at ``t``."""
    engine, step = EvidenceMaximization(with_prior=with_prior), 1e-4
    slopes = [engine.slope(problem, output, t + move) for move in (-step, step)]
    return (slopes[0] - slopes[1]) / (2 * step)


def _bracket(
    engine: EvidenceMaximization, problem: PrecisionProblem, output: int
) -> tuple[float, ...]:
    grid = problem.searched(output)
    values = problem.objective(output, grid)
    if engine.with_prior:
        values = values + problem.log_prior(grid)
    top = int(np.argmax(values))
    if problem.learns_noise:
        # Where interpolated rows leave the evidence flat, take the most noise of equals.
        top = int(np.argmax(values >= values.max() - 1e-6))
    left, right = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
    slopes = engine.slope(problem, output, left), engine.slope(problem, output, right)
    return left, right, *slopes, grid[top], 0.0


def _secant(
    engine: EvidenceMaximization, problem: PrecisionProblem, output: int, state: Brackets
) -> tuple[float, ...]:
    """Take one step of the Illinois method; without a change of sign the best point stays."""
    left, right, side = state.left[output], state.right[output], state.side[output]
    at_left, at_right = state.left_slope[output], state.right_slope[output]
    if not at_left > 0 > at_right:
        return left, right, at_left, at_right, state.best[output], side
    middle = (left * at_right - right * at_left) / (at_right - at_left)
    slope = engine.slope(problem, output, middle)
    if slope > 0:
        return middle, right, slope, at_right * (0.5 if side > 0 else 1.0), middle, 1.0
    return left, middle, at_left * (0.5 if side < 0 else 1.0), slope, middle, -1.0


def _integral(problem: PrecisionProblem, output: int, best: float) -> float:
    """Return the log of the integral of evidence times prior over ``t``.

    The grid is dense at the maximum and covers all that is searched: nodes
    ``t = best + h sinh(u)`` with ``u`` equally spaced, for which the trapezoid rule is very
    accurate on smooth integrands. The integral ends where noise is below
    rounding, which cannot be distinguished from none.
    """
    grid = problem.searched(output)
    width = 1.0 / np.sqrt(max(curvature(problem, output, best), 1e-2))
    beyond = MARGIN if problem.learns_weights else 0.0
    ends = np.arcsinh((grid[[0, -1]] + [-MARGIN, beyond] - best) / width)
    u = np.linspace(ends[0], ends[1], N_NODES)
    t = best + width * np.sinh(u)
    log_values = problem.objective(output, t) + problem.log_prior(t)
    spacing = np.full(N_NODES, u[1] - u[0])
    spacing[[0, -1]] *= 0.5
    return float(log_sum_exp(log_values + np.log(width * spacing * np.cosh(u))))
