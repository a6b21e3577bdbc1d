"""Mixtures drawn from their own prior, and what draws of components say of them.

What needs no names of components must rank evenly, and a number of components must be the true
one as often as is said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from credo.distributions import Normal
from credo.evaluation.laws import RankCalibration
from credo.families import Components, DirichletCategorical, NormalInverseGamma
from credo.inference import (
    BlockedGibbs,
    CollapsedGibbs,
    IncompleteRows,
    LatentClassProblem,
    PartitionLaw,
    PartitionProblem,
    run,
)
from credo.inference.latent.partition import drawn_belief
from credo.numerics.array import Array

__all__ = ["MIXTURES", "MixtureCase", "NumberCase"]

N_DRAWS = 99
THIN = 10
"""Sweeps from one draw to the next that counts."""

ROWS = NormalInverseGamma([0.0], [0.2], [3.0], [2.0])
"""What is believed of the normal of a component."""

PLACES = (-1.0, 0.5)
"""Where the density of the mixture is looked at."""

Labels = Callable[[Array, Generator], Any]


def components(n: int) -> Components:
    """Return what is believed of so many components."""
    return Components(DirichletCategorical(np.ones(n)), ROWS)


def collapsed(x: Array, rng: Generator) -> Any:
    """Return draws of the components of rows, parameters integrated out."""
    problem = PartitionProblem(x, ROWS, PartitionLaw.finite(2, 1.0, len(x)))
    found = run(CollapsedGibbs(N_DRAWS, 20, 1, THIN, 1), problem, rng)
    return found.posterior.labels[0]


def blocked(x: Array, rng: Generator) -> Any:
    """Return draws of the components of rows, with parameters in turn."""
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 2), components(2))
    found = run(BlockedGibbs(THIN * N_DRAWS, 200, 1), problem, rng)
    return found.posterior.labels[0, ::THIN]


@dataclass(frozen=True)
class MixtureCase:
    """Two components from the prior, and draws of them given rows.

    Attributes
    ----------
    labels
        Draws the components of rows.
    n_simulations, n_rows
        Mixtures, and rows of each.
    """

    labels: Labels
    n_simulations: int
    n_rows: int = 12

    def ranks(self, rng: Generator, n_simulations: int | None = None) -> RankCalibration:
        """Return ranks of the larger weight, of densities at places, and of the likelihood."""
        n = self.n_simulations if n_simulations is None else n_simulations
        names = ("larger weight", *(f"density at {at:g}" for at in PLACES), "log likelihood")
        rows = [self._one(stream) for stream in rng.spawn(n)]
        return RankCalibration(names, np.array(rows), N_DRAWS)

    def _one(self, rng: Generator) -> list[int]:
        weight = rng.dirichlet(np.ones(2))[None]
        normal = components(2).rows.sample(rng)
        label = (rng.random(self.n_rows) < weight[0, 1]).astype(np.intp)
        x = normal.sample(rng, self.n_rows)[np.arange(self.n_rows), label]
        truth = _quantities(weight, normal, x)
        labels = self.labels(x, rng)
        belief = drawn_belief(components(2).rows, x, labels, 2)
        count = np.stack([(labels == k).sum(axis=1) for k in range(2)], axis=1)
        gammas = rng.gamma(count + 1.0)
        drawn = _quantities(gammas / gammas.sum(axis=1, keepdims=True), belief.sample(rng), x)
        return [int((mine < true).sum()) for mine, true in zip(drawn.T, truth[0], strict=True)]


def _quantities(weight: Array, normal: Normal, x: Array) -> Array:
    """Return what needs no names of components, for each draw, shape (n, 4)."""
    n = len(weight)
    loc, scale = normal.loc.reshape(n, 1, 2), normal.scale.reshape(n, 1, 2)

    def density(at: Array) -> Array:
        each = Normal(loc, scale).prob(np.reshape(at, (1, -1, 1)))
        return np.asarray((weight[:, None] * each).sum(axis=2))

    log_likelihood = np.log(density(x)).sum(axis=1)
    return np.column_stack([weight.max(axis=1), density(np.array(PLACES)), log_likelihood])


@dataclass(frozen=True)
class NumberCase:
    """One to four components, all numbers as probable, and what is believed of their number.

    Attributes
    ----------
    n_simulations, n_rows, most
        Mixtures, rows of each, and the largest number.
    """

    n_simulations: int
    n_rows: int = 25
    most: int = 4

    def ranks(self, rng: Generator, n_simulations: int | None = None) -> RankCalibration:
        """Return where the true number lies in its posterior, drawn between its two levels.

        The second are the levels of whether the most probable number is the true one.
        """
        n = self.n_simulations if n_simulations is None else n_simulations
        levels = np.array([self._one(stream) for stream in rng.spawn(n)])
        ranks = np.minimum((levels * (N_DRAWS + 1)).astype(np.intp), N_DRAWS)
        return RankCalibration(("number", "most probable number"), ranks, N_DRAWS)

    def _one(self, rng: Generator) -> list[float]:
        true = int(rng.integers(1, self.most + 1))
        weight = rng.dirichlet(np.ones(true))
        normal = components(true).rows.sample(rng)
        label = rng.choice(true, self.n_rows, p=weight)
        x = normal.sample(rng, self.n_rows)[np.arange(self.n_rows), label]
        law = PartitionLaw.unknown(np.full(self.most, -np.log(self.most)), 1.0, self.n_rows)
        found = run(CollapsedGibbs(400, 50, 1, 4, 4), PartitionProblem(x, ROWS, law), rng)
        counts = np.bincount(found.posterior.n_clusters.ravel(), minlength=self.most + 1)
        each = [law.number_given(t, self.n_rows) for t in range(1, self.most + 1)]
        probability = counts[1:] @ np.array(each) / counts.sum()
        below, best = probability[: true - 1].sum(), int(probability.argmax()) + 1
        u, v = rng.random(2)
        is_best = float(probability[best - 1])
        level = is_best * v if true == best else is_best + (1.0 - is_best) * v
        return [float(below + u * probability[true - 1]), level]


MIXTURES = {
    "collapsed Gibbs, mixture": MixtureCase(collapsed, 2000),
    "blocked Gibbs, mixture": MixtureCase(blocked, 400),
    "collapsed Gibbs, number of components": NumberCase(1000),
}
"""Mixtures whose components are drawn, which take minutes."""
