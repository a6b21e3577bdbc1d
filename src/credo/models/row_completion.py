"""What may stand in the gaps of rows: draws from a joint density of inputs and outcome.

Inputs and a numeric outcome are taken to be jointly normal, inputs of each class normal by
themselves. Given what a row has, the rest of it has a normal distribution too; a few of its
draws, the same standard normal numbers for every row, stand for all that may be there. A row
to learn from is completed given its outcome, a row to predict without.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.distributions.class_conditional import ClassConditional
from credo.families.class_conditional import ClassConditionalBelief
from credo.inference.engine import ConvergenceWarning
from credo.inference.expectation_maximization import ExpectationMaximization
from credo.inference.latent_class import IncompleteRows
from credo.models.class_setting import ClassConditionalSetting
from credo.numerics.array import Array
from credo.numerics.missing import has_missing, missing_patterns

__all__ = [
    "N_DRAWS",
    "CompletedRows",
    "Completion",
    "RowCompletion",
    "WeighedCompletion",
]

N_DRAWS = 32
"""Completions of each row to predict."""

N_COPIES = (2, 20)
"""Fewest and most completions of each row to learn from that has a number for its outcome."""

N_CLASS_COPIES = (2, 5)
"""Fewest and most completions of each row to learn from whose outcome is a class."""

ENOUGH_COPIES = 6_000
"""Completions of all rows to learn from, unless fewest or most give more or less."""

MAX_WORK = 5e7
"""Patterns of gaps times classes times cubed columns, up to which columns are joint."""

ROWS_PER_COLUMN = 5
"""Classes with so many rows for each column have covariances of their own."""

LEARNING = ExpectationMaximization(tolerance=1e-3, max_steps=50)

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """Rows without gaps that stand for rows with gaps.

    Attributes
    ----------
    X
        Completed inputs, shape (n, n_features), copies of a row side by side.
    row
        Which row each of them completes, shape (n,), in rising order.
    weight
        How much each counts, shape (n,); sums to one over the copies of a row.
    drawn
        What was drawn, before it was moved to values that training rows could have, of the
        shape of ``X``; None if nothing was.
    """

    X: Array
    row: Indices
    weight: Array
    drawn: Array | None = None

    @property
    def start(self) -> Indices:
        """The place of the first copy of each row."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    def one_of_each(self) -> CompletedRows:
        """Return one copy of each row, of the rows in turn the first, the second and so on."""
        n_copies = np.diff(self.start, append=len(self.row))
        chosen = self.start + np.arange(len(n_copies)) % n_copies
        return CompletedRows(self.X[chosen], self.row[chosen], np.ones(len(chosen)))

    def distinct(self) -> tuple[Indices, Indices]:
        """Return one place of each different copy of a row, and where in these each copy is."""
        mixing = np.random.default_rng(0).uniform(1.0, 2.0, self.X.shape[1])
        spread = np.abs(self.X).max(axis=0, initial=0.0)
        key = (self.X * (mixing / np.where(spread > 0, spread, 1.0))).sum(axis=1)
        order = np.lexsort((key, self.row))
        before, after = order[:-1], order[1:]
        is_new = (self.X[before] != self.X[after]).any(axis=1)
        is_new = np.append(True, is_new | (self.row[before] != self.row[after]))
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.cumsum(is_new) - 1
        return order[is_new], place

    def weighed(self, log_ratio: Array) -> CompletedRows:
        """Return the same rows, whose copies count by these logs (n,)."""
        start = self.start
        highest = np.maximum.reduceat(log_ratio, start)[self.row]
        ratio = np.exp(log_ratio - highest)
        total = np.add.reduceat(ratio, start)[self.row]
        return CompletedRows(self.X, self.row, ratio / total, self.drawn)

    def mean(self, values: Array) -> Array:
        """Return the weighted mean over the copies of each row, of values by copy."""
        weight = self.weight.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weight * values, self.start, axis=0))


class Completion(Protocol):
    """What may stand in the gaps of rows."""

    def training(self, X: Array, y: NDArray[Any]) -> CompletedRows:
        """Return rows to learn from, completed given their outcomes."""
        ...

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        ...


@dataclass(frozen=True, eq=False)
class RowCompletion:
    """A joint density of inputs and outcome that completes rows.

    Attributes
    ----------
    joint
        Density of standardized inputs by class; a numeric outcome is its last column, and
        then there is one class.
    center, scale
        Mean and standard deviation of each column of the joint density.
    lowest, highest
        Training range of each input, shape (n_features,); no draw leaves it.
    levels
        First and last column of each category, shape (n_categories, 2).
    is_binary
        Whether each input has only two values, shape (n_features,).
    log_share
        Log probability of the lower and of the higher value of each binary input in each
        class, shape (2, n_classes, n_features); zero for other inputs.
    classes
        Labels in rising order; empty for a numeric outcome.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 101)
    >>> X = np.column_stack([x, 2.0 * x + 0.1 * np.cos(40 * np.arange(101))])
    >>> completion = RowCompletion.learn(X, X.sum(axis=1))
    >>> rows = completion.prediction(np.array([[0.5, np.nan], [0.5, 1.0]]))
    >>> rows.mean(rows.X).round(1)
    array([[0.5, 1. ],
           [0.5, 1. ]])
    """

    joint: ClassConditional
    center: Array
    scale: Array
    lowest: Array
    highest: Array
    levels: Indices
    is_binary: NDArray[np.bool_]
    log_share: Array
    classes: NDArray[Any]

    @classmethod
    def learn(
        cls, X: Array, y: NDArray[Any], levels: Sequence[tuple[int, int]] = ()
    ) -> RowCompletion:
        """Return the density of training rows, by expectation maximization if they have gaps.

        Parameters
        ----------
        X
            Inputs, shape (n_samples, n_features), NaN where missing, none missing throughout.
        y
            Numbers, or labels.
        levels
            First column of each category of 0/1 columns, and the one after its last.
        """
        is_number = np.issubdtype(y.dtype, np.number)
        classes = np.array([], dtype=np.str_) if is_number else np.unique(y)
        label = np.zeros(len(y), np.intp) if is_number else np.searchsorted(classes, y)
        columns = np.column_stack([X, y]) if is_number else X
        center, scale = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        n_classes = max(len(classes), 1)
        lowest, highest = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        is_binary = _is_binary(X, lowest, highest)
        return cls(
            joint=_learned((columns - center) / scale, label, n_classes),
            center=center,
            scale=scale,
            lowest=lowest,
            highest=highest,
            levels=np.array([(a, b - 1) for a, b in levels], np.intp).reshape(-1, 2),
            is_binary=is_binary,
            log_share=_log_share((highest == X) & is_binary, X, label, n_classes, levels)
            * is_binary,
            classes=classes,
        )

    def training(self, X: Array, y: NDArray[Any]) -> CompletedRows:
        """Return rows to learn from, completed given their outcomes, all copies alike."""
        has_gap = np.asarray(np.isnan(X).any(axis=1))
        fewest, most = N_CLASS_COPIES if len(self.classes) else N_COPIES
        n_copies = int(np.clip(ENOUGH_COPIES // max(int(has_gap.sum()), 1), fewest, most))
        if len(self.classes):
            label, rows = np.searchsorted(self.classes, y[has_gap]), X[has_gap]
        else:
            label = np.zeros(int(has_gap.sum()), dtype=np.intp)
            rows = np.column_stack([X, y])[has_gap]
        by_draw = np.repeat(label[:, None], n_copies, axis=1)
        weight = np.full(by_draw.shape, 1.0 / n_copies)
        return self._completed(X, has_gap, rows, by_draw, weight)

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        has_gap = np.asarray(np.isnan(X).any(axis=1))
        rows = X[has_gap]
        if len(self.classes):
            label, weight = _drawn_classes(self._class_probability(rows), N_DRAWS)
        else:
            rows = np.column_stack([rows, np.full(len(rows), np.nan)])
            label = np.zeros((len(rows), N_DRAWS), dtype=np.intp)
            weight = np.full(label.shape, 1.0 / N_DRAWS)
        return self._completed(X, has_gap, rows, label, weight)

    def log_outcome(self, rows: CompletedRows, y: Array) -> Array:
        """Return the log density of each copy's numeric outcome given its inputs, shape (n,).

        Inputs are as they were drawn: the density of an outcome given what a draw was moved
        to is not what the draw was made by.
        """
        X = rows.X if rows.drawn is None else rows.drawn
        d = X.shape[1]
        columns = (np.column_stack([X, y]) - self.center) / self.scale
        given = self.joint.completed(
            np.where(np.arange(d + 1) < d, columns, np.nan),
            np.zeros((len(columns), 2), dtype=np.intp),
            np.eye(2, d + 1, -1),
        )[..., d]
        mean, root = given[:, 0], given[:, 1] - given[:, 0]
        return np.asarray(-0.5 * ((columns[:, d] - mean) / root) ** 2 - np.log(np.abs(root)))

    def _completed(
        self,
        X: Array,
        has_gap: NDArray[np.bool_],
        rows: Array,
        label: Indices,
        weight: Array,
    ) -> CompletedRows:
        """Return all rows, those with gaps (``rows``, with outcome) in copies."""
        n_copies, d = label.shape[1], X.shape[1]
        scores = _normal_scores(n_copies, rows.shape[1])
        drawn = self.joint.completed((rows - self.center) / self.scale, label, scores)
        drawn = (self.center + self.scale * drawn)[..., :d]
        row = np.repeat(np.arange(len(X)), np.where(has_gap, n_copies, 1))
        completed, raw, shares = X[row], X[row], np.ones(len(row))
        shares[has_gap[row]] = weight.ravel()
        is_open = np.isnan(completed)
        own = is_open[has_gap[row]]
        raw[is_open] = drawn.reshape(-1, d)[own]
        completed[is_open] = self._possible(drawn, np.isnan(rows)).reshape(-1, d)[own]
        return CompletedRows(completed, row, shares, raw)

    def _possible(self, drawn: Array, is_open: NDArray[np.bool_]) -> Array:
        """Return draws (n, n_draws, d) moved to values that training rows could have."""
        values = np.clip(drawn, self.lowest, self.highest)
        is_high = values > 0.5 * (self.lowest + self.highest)
        values = np.where(self.is_binary, np.where(is_high, self.highest, self.lowest), values)
        for first, last in self.levels:
            rows, own = np.flatnonzero(is_open[:, first]), slice(first, last + 1)
            part = drawn[rows, :, own]
            values[rows, :, own] = np.eye(part.shape[2])[_drawn_levels(part)]
        return values

    def _class_probability(self, X: Array) -> Array:
        """Return the probability of each class given what rows have, shape (n, n_classes)."""
        numbers = np.where(self.is_binary, np.nan, (X - self.center) / self.scale)
        is_high = (self.highest == X) & self.is_binary
        is_low = (self.lowest == X) & self.is_binary
        low, high = self.log_share
        log_joint = self.joint.log_joint(numbers)
        log_joint += is_low @ low.T + is_high @ high.T
        return np.asarray(special.softmax(log_joint, axis=1))


@dataclass(frozen=True, eq=False)
class WeighedCompletion:
    """A completion whose copies of a training row count as a regression finds them likely.

    Copies are drawn as if the outcome were a straight line of the inputs. Where it is a curve,
    each counts by the density of the outcome under the curve over that under the line, which
    makes them draws given the outcome under the curve.

    Attributes
    ----------
    completion
        What draws the copies.
    curve
        A fitted regression with ``predict_dist``.
    """

    completion: RowCompletion
    curve: Any

    def training(self, X: Array, y: NDArray[Any]) -> CompletedRows:
        """Return rows to learn from, completed given their outcomes."""
        rows = self.completion.training(X, y)
        outcome = y[rows.row]
        log_density = self.curve.predict_dist(rows.X).log_prob(outcome)
        return rows.weighed(log_density - self.completion.log_outcome(rows, outcome))

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        return self.completion.prediction(X)


def _learned(rows: Array, label: Indices, n_classes: int) -> ClassConditional:
    """Return the joint density at the expected parameters."""
    d = rows.shape[1]
    n_patterns = len(missing_patterns(rows)) if has_missing(rows) else 1
    counts = np.bincount(label, minlength=n_classes)
    if n_patterns * n_classes * d**3 > MAX_WORK:
        covariance = "diagonal"
    else:
        covariance = "full" if counts.min() >= ROWS_PER_COLUMN * d else "tied"
    setting = ClassConditionalSetting(covariance, LEARNING, 1.0, None, None, None)
    incomplete = IncompleteRows(rows, label, np.ones(len(rows)), n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        inference = setting.infer(setting.summary(incomplete), np.arange(n_classes))
    belief: ClassConditionalBelief = inference.posterior
    share: Any = belief.classes
    return ClassConditional(np.log(share.predictive().probability), belief.rows.mean())


def _is_binary(X: Array, lowest: Array, highest: Array) -> NDArray[np.bool_]:
    is_end = (lowest == X) | (highest == X) | np.isnan(X)
    return np.asarray(is_end.all(axis=0) & (highest > lowest))


def _log_share(
    is_high: NDArray[np.bool_],
    X: Array,
    label: Indices,
    n_classes: int,
    levels: Sequence[tuple[int, int]],
) -> Array:
    """Return log probabilities of the lower and higher value, shape (2, n_classes, d).

    One imagined row has each value; the absence of a level says nothing beside the level
    that is there instead.
    """
    member = np.eye(n_classes)[label]
    n_high = member.T @ is_high
    n_known = member.T @ ~np.isnan(X)
    n_values = np.full(X.shape[1], 2.0)
    is_level = np.zeros(X.shape[1], dtype=bool)
    for start, stop in levels:
        n_values[start:stop], is_level[start:stop] = stop - start, True
    high = np.log((n_high + 1.0) / (n_known + n_values))
    low = np.log((n_known - n_high + 1.0) / (n_known + n_values))
    return np.stack([np.where(is_level, 0.0, low), high])


def _drawn_classes(probability: Array, n_draws: int) -> tuple[Indices, Array]:
    """Return the class of each draw of each row, and what it counts, both (n, n_draws).

    Draws are spread evenly over the classes, and count so that each class has its own
    probability; classes too improbable to be drawn are left out.
    """
    level = np.random.default_rng(0).permutation(n_draws) + 0.5
    ends = np.cumsum(probability, axis=1)[:, :-1] * n_draws
    label = (level[None, :, None] > ends[:, None, :]).sum(axis=2)
    is_drawn = label[..., None] == np.arange(probability.shape[1])
    share = probability / np.maximum(is_drawn.sum(axis=1), 1)
    weight = np.take_along_axis(share, label, axis=1)
    return label, weight / weight.sum(axis=1, keepdims=True)


def _drawn_levels(drawn: Array) -> Indices:
    """Return a level for each draw (n, n_draws, n_levels), shape (n, n_draws).

    The mean of the draws of a level is its probability, and gives it its share of the draws:
    those in which it came out highest, the rarest levels first.
    """
    n, n_draws, n_levels = drawn.shape
    share = np.maximum(drawn.mean(axis=1), 1e-9)
    ends = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    quota = np.diff(np.round(n_draws * ends), axis=1, prepend=0.0)
    level = np.zeros((n, n_draws), dtype=np.intp)
    is_free = np.ones((n, n_draws), dtype=bool)
    for k in range(n_levels - 1, 0, -1):
        height = np.where(is_free, drawn[:, :, k], -np.inf)
        rank = np.argsort(np.argsort(-height, axis=1, kind="stable"), axis=1, kind="stable")
        chosen = is_free & (rank < quota[:, k, None])
        level[chosen] = k
        is_free &= ~chosen
    return level


def _normal_scores(n_draws: int, d: int) -> Array:
    """Return standard normal numbers, shape (n_draws, d), spread as evenly as so few can be.

    Every column has the quantiles of a normal in another order, and as many of the first as
    there may be have exactly unit variance and no correlation.
    """
    middle = special.ndtri((np.arange(n_draws) + 0.5) / n_draws)
    columns = np.random.default_rng(0).permuted(np.tile(middle, (d, 1)), axis=1).T
    columns /= columns.std(axis=0)
    n_apart = min(d, n_draws - 1)
    apart, triangle = np.linalg.qr(columns[:, :n_apart])
    columns[:, :n_apart] = apart * np.sign(np.diagonal(triangle)) * np.sqrt(n_draws)
    return columns
