"""The distribution of a row and its class, columns of several kinds independent in a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse, special

from credo.distributions.categorical import random_index
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.families.categorical import DirichletCategorical
from credo.families.rows import as_rows
from credo.models.generative.category_count import category_codes
from credo.models.generative.column_kind import TypedRows
from credo.numerics.array import Array
from credo.numerics.parallel.threads import over_row_blocks
from credo.numerics.special.class_score import add_binary, add_polya, add_student_t

__all__ = ["Draws", "MixedPredictive", "log_arrangements", "shares"]


@dataclass(frozen=True, eq=False)
class Draws:
    """Random rows by kind of column, categories as places among their states, -1 of none."""

    classes: NDArray[np.intp]
    numbers: Array
    binary: Array
    categories: tuple[NDArray[np.intp], ...]
    counts: Array

    def table(
        self,
        kinds: tuple[str, ...],
        states: tuple[NDArray[Any], ...],
        names: NDArray[Any] | None,
    ) -> Any:
        """Return the columns in the order of ``kinds``; an array if all are plain numbers."""
        # What was missing in all rows is missing in those drawn too.
        labels = [
            known[code] if len(known) else np.full(len(code), np.nan)
            for known, code in zip(states, self.categories, strict=True)
        ]
        parts: dict[str, list[NDArray[Any]]] = {
            "gaussian": list(self.numbers.T),
            "bernoulli": list(self.binary.T),
            "categorical": labels,
            "counts": list(self.counts.T),
        }
        columns = [parts[kind].pop(0) for kind in kinds]
        if names is None and not labels:
            return np.column_stack(columns)
        keys = range(len(columns)) if names is None else names
        return pd.DataFrame(dict(zip(keys, columns, strict=True)))


@dataclass(frozen=True, eq=False)
class MixedPredictive:
    """Probability of each class, and of each column in each class.

    Attributes
    ----------
    classes
        Probability of each class, shape (K,).
    numbers
        Distribution of Gaussian columns, batch shape (K, d).
    one
        Probability of a one in Bernoulli columns, shape (K, d).
    categories
        Probability of the states of each categorical column, shape (K, S).
    words
        Probability of each word, shape (K, n_words), or a belief about it that is integrated
        out: the words of one row are then dependent (Polya distribution).
    """

    classes: Array
    numbers: StudentT | Normal
    one: Array
    categories: tuple[Array, ...]
    words: Array | DirichletCategorical | None

    def log_joint(self, rows: TypedRows, states: tuple[NDArray[np.generic], ...]) -> Array:
        """Return the log probability of rows together with each class, shape (n, K).

        Counts as words in some order: without the number of their arrangements, which is
        the same for all classes.
        """
        with np.errstate(divide="ignore"):
            score = np.tile(np.log(self.classes), (len(rows), 1))
            log_one, log_zero = np.log(self.one), np.log1p(-self.one)
            tables = [np.log(share) for share in self.categories]
        self._add_numbers(score, rows.numbers)
        if rows.binary.shape[1] and not add_binary(score, rows.binary, log_one, log_zero):
            raise ValueError(
                "Bernoulli columns must hold 0, 1 or NaN; found other numbers. Code the two "
                "outcomes as 0 and 1, or choose another kind."
            )
        for column, table, known in zip(rows.categories, tables, states, strict=True):
            # A missing value and a category never seen tell nothing: code -1 takes the zero,
            # the only entry for a column that was missing in all rows.
            padded = np.zeros((len(known) + 1, len(self.classes)))
            padded[:-1] = table.T
            score += padded[category_codes(column, known)]
        self._add_words(score, rows.counts)
        return score

    def sample(self, rng: Generator, n: int, length: int) -> Draws:
        """Return ``n`` random rows, whose counts have ``length`` words each."""
        classes = random_index(rng, self.classes, (n,))
        return Draws(
            classes,
            self.numbers[classes].sample(rng),
            (rng.uniform(size=(n, self.one.shape[1])) < self.one[classes]).astype(np.float64),
            tuple(_random_states(rng, share, classes) for share in self.categories),
            self._sample_words(rng, classes, length),
        )

    def _add_numbers(self, score: Array, x: Array) -> None:
        if x.shape[1] == 0:
            return
        numbers = self.numbers
        if isinstance(numbers, StudentT):
            steep = 1.0 / (numbers.scale * np.sqrt(numbers.df))
            power = 0.5 * (numbers.df + 1.0)
            peak = numbers.log_prob(numbers.loc)
            if not add_student_t(score, x, (numbers.loc, steep, power, peak)):
                as_rows(x)
            return
        as_rows(x)

        def add(rows: slice) -> None:
            log_prob = numbers.log_prob(x[rows, None, :])
            score[rows] += np.nansum(log_prob, axis=-1)

        over_row_blocks(add, len(x), x.shape[1] * len(self.classes))

    def _add_words(self, score: Array, counts: sparse.csr_array) -> None:
        if isinstance(self.words, DirichletCategorical):
            add_polya(score, counts, self.words.concentration)
        elif self.words is not None:
            with np.errstate(divide="ignore"):
                score += counts @ np.log(self.words).T

    def _sample_words(self, rng: Generator, classes: NDArray[np.intp], length: int) -> Array:
        if self.words is None:
            return np.empty((len(classes), 0))
        if isinstance(self.words, DirichletCategorical):
            share = self.words[classes].parameters().sample(rng)
        else:
            share = self.words[classes]
        return np.asarray(rng.multinomial(length, share), dtype=np.float64)


def shares(amount: Array) -> Array:
    """Return amounts divided by their sum along the last axis; even shares of nothing."""
    total = amount.sum(axis=-1, keepdims=True)
    even = 1.0 / max(amount.shape[-1], 1)
    return np.where(total > 0, amount / np.where(total > 0, total, 1.0), even)


def log_arrangements(counts: sparse.csr_array) -> Array:
    """Return the log of ``n! / (x_1! x_2! ...)`` of each row of counts, shape (n_rows,)."""
    if counts.shape[1] == 0:
        return np.zeros(counts.shape[0])
    logs = sparse.csr_array(
        (special.gammaln(counts.data + 1.0), counts.indices, counts.indptr), counts.shape
    )
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    return np.asarray(special.gammaln(lengths + 1.0) - logs.sum(axis=1))


def _random_states(rng: Generator, share: Array, classes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a random state for each row, given its class; -1 if none was ever seen."""
    if share.ndim == 1 or share.shape[1] == 0:
        return np.full(len(classes), -1)
    return random_index(rng, share[classes], classes.shape)
