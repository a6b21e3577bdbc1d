"""Beliefs about columns of several kinds in each class, and what they say of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.families.bernoulli import BetaBernoulli
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.models.generative.mixed_predictive import MixedPredictive, shares
from credo.models.generative.mixed_statistics import MixedStatistics
from credo.numerics.array import Array

__all__ = ["MixedBelief"]


@dataclass(frozen=True, eq=False)
class MixedBelief:
    """Belief about classes and their columns; prior and posterior alike.

    Attributes
    ----------
    classes
        Belief about the frequency of the classes.
    numbers, binary, categories
        Beliefs about Gaussian, Bernoulli and categorical columns, by class in a posterior.
    words
        Belief about the words of counts; None without counts.
    """

    classes: DirichletCategorical
    numbers: NormalInverseGamma
    binary: BetaBernoulli
    categories: tuple[DirichletCategorical, ...]
    words: DirichletCategorical | None

    @classmethod
    def prior(
        cls,
        statistics: MixedStatistics,
        pseudo_count: float,
        class_pseudo_count: float,
        normal: NormalInverseGamma | None,
    ) -> MixedBelief:
        """Return the belief before the data; if none is given for numbers, in their units.

        The weak belief about numbers has the pooled mean, and the variance within classes,
        or of all rows where classes do not vary.
        """
        if normal is None:
            normal = NormalInverseGamma.weak(_within(statistics.numbers))
        n_words = statistics.words.counts.shape[-1]
        return cls(
            DirichletCategorical(np.full(len(statistics.class_weight), class_pseudo_count)),
            normal,
            BetaBernoulli(pseudo_count, pseudo_count),
            tuple(
                DirichletCategorical(np.full(max(len(part.states), 1), pseudo_count))
                for part in statistics.categories
            ),
            DirichletCategorical(np.full(n_words, pseudo_count)) if n_words else None,
        )

    def update(self, statistics: MixedStatistics) -> MixedBelief:
        """Return the posterior, with a leading axis of classes in all but ``classes``."""
        return MixedBelief(
            DirichletCategorical(self.classes.concentration + statistics.class_weight),
            self.numbers.update(statistics.numbers),
            self.binary.update(statistics.binary),
            tuple(
                belief.update(part.statistics) if len(part.states) else belief
                for belief, part in zip(self.categories, statistics.categories, strict=True)
            ),
            None if self.words is None else self.words.update(statistics.words),
        )

    def log_evidence(self, statistics: MixedStatistics) -> float:
        """Return the log probability of rows and classes, given the lengths of counts."""
        counted = CategoricalStatistics(statistics.class_weight)
        parts = [
            self.classes.log_evidence(counted),
            self.numbers.log_evidence(statistics.numbers),
            self.binary.log_evidence(statistics.binary),
            statistics.log_arrangements,
        ]
        for belief, column in zip(self.categories, statistics.categories, strict=True):
            parts += [belief.log_evidence(column.statistics)] if len(column.states) else []
        if self.words is not None:
            parts.append(self.words.log_evidence(statistics.words))
        return float(sum(np.sum(part) for part in parts))

    def predictive(self) -> MixedPredictive:
        """Return the distribution of the next row and class, parameters integrated out."""
        return MixedPredictive(
            self.classes.predictive().probability,
            self.numbers.predictive(),
            self.binary.predictive().probability,
            tuple(belief.predictive().probability for belief in self.categories),
            self.words,
        )

    def mode(self) -> MixedPredictive:
        """Return the distribution at the most probable parameters; even shares if none is."""
        return MixedPredictive(
            _mode_shares(self.classes.concentration),
            self.numbers.mode(),
            _mode_shares(np.stack([self.binary.a, self.binary.b], axis=-1))[..., 0],
            tuple(_mode_shares(belief.concentration) for belief in self.categories),
            None if self.words is None else _mode_shares(self.words.concentration),
        )


def _mode_shares(concentration: Array) -> Array:
    return shares(np.maximum(concentration - 1.0, 0.0))


def _within(numbers: NormalStatistics) -> NormalStatistics:
    """Return pooled weight and mean, with the scatter about the means of the classes."""
    pooled = numbers.pooled()
    within = NormalStatistics(pooled.weight, pooled.mean, numbers.scatter.sum(axis=0))
    return NormalStatistics(
        pooled.weight,
        pooled.mean,
        np.where(within.is_constant(), pooled.scatter, within.scatter),
    )
