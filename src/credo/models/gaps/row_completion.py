"""Multiple imputation: draws of what is in the gaps of rows, from one joint density.

Inputs and a numeric outcome are taken to be jointly normal, inputs of each class normal by
themselves. Given what a row has, the rest of it has a normal distribution too; some of its
draws stand for all that may be there. A row to learn from is completed given its outcome, a
row to predict without.

Of the draws for a row to learn from a few are kept where there are many rows. Which these are,
and by which numbers they are drawn, depends on the values of the row: what so few must get
wrong differs between rows, and averages out over them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.elliptical import DenseCovariance
from credo.families.component import Components
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows
from credo.models.generative.class_setting import ClassConditionalSetting
from credo.numerics.array import Array, has_missing
from credo.numerics.form import SMALLEST, Form
from credo.numerics.missing import missing_patterns
from credo.numerics.row_hash import hashed_sample, hashed_uniform, repeat_count, row_hash

__all__ = [
    "N_DRAWS",
    "CompletedRows",
    "Completion",
    "NoGaps",
    "RowCompletion",
    "WeighedCompletion",
    "learned_completion",
]

N_DRAWS = 32
"""Completions of each row to predict."""

N_CANDIDATES = (20, 96)
"""Completions drawn of each row to learn from: at first, and where few of these count."""

N_COPIES = (2, N_CANDIDATES[0])
"""Fewest and most kept of each row to learn from that has a number for its outcome."""

N_CLASS_COPIES = (1, 5)
"""Fewest and most kept of each row to learn from whose outcome is a class."""

ENOUGH_COPIES = 4_000
"""Completions kept of all rows to learn from, unless fewest or most give more or less."""

BLOCK_SIZE = 1 << 21
"""Numbers in the completions of the rows that are drawn at a time."""

N_GRIDS = 19
"""Least number of columns of normal numbers, at any of which the gaps of a row may begin."""

LARGEST_SHARE = 0.98
"""The most of a two-valued input that the rest of a row may tell."""

TURNS = np.array([0.8191725133961645, 0.6710436067037893, 0.5497004779019703])
"""By how much the choices differ for each next one of equal rows: evenly in space."""

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
    choice
        Numbers between zero and one by which some copies of each row are chosen, the first
        of several and the second of one, shape (n_rows, 2); None for the first copies.
    """

    X: Array
    row: Indices
    weight: Array
    drawn: Array | None = None
    choice: Array | None = None

    @property
    def given_weight(self) -> Array | None:
        """The weights, if models need them: not where each row stands for itself."""
        return None if (self.weight == 1.0).all() else self.weight

    @property
    def start(self) -> Indices:
        """The place of the first copy of each row."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @property
    def is_sharp(self) -> NDArray[np.bool_]:
        """Whether less than a quarter of the copies of each row count, in effect."""
        n_copies = np.diff(self.start, append=len(self.row))
        return np.asarray(n_copies * np.add.reduceat(self.weight**2, self.start) > 4.0)

    def replaced(self, rows: Indices, other: CompletedRows) -> CompletedRows:
        """Return the same rows, some of them with other copies."""
        stays = np.flatnonzero(~np.isin(self.row, rows))
        row = np.append(self.row[stays], rows[other.row])
        order = np.argsort(row, kind="stable")
        drawn = None
        if self.drawn is not None and other.drawn is not None:
            drawn = np.append(self.drawn[stays], other.drawn, axis=0)[order]
        return CompletedRows(
            np.append(self.X[stays], other.X, axis=0)[order],
            row[order],
            np.append(self.weight[stays], other.weight)[order],
            drawn,
            self.choice,
        )

    def one_of_each(self) -> CompletedRows:
        """Return one copy of each row, each as often as it counts."""
        return self._at(*self._copies(1, 1))

    def resampled(self, n_copies: int) -> CompletedRows:
        """Return at most so many copies of each row, as often as they count."""
        return self._at(*self.kept(n_copies))

    def kept(self, n_copies: int) -> tuple[Indices, Array]:
        """Return the places of at most so many copies of each row, and what they count.

        Systematic resampling: a copy counts by how many of ``n_copies`` evenly spaced levels
        fall into its part of the sum of the weights.
        """
        return self._copies(n_copies, 0)

    def _copies(self, n_copies: int, which: int) -> tuple[Indices, Array]:
        level = 0.0 if self.choice is None else self.choice[self.row, which]
        total = np.cumsum(self.weight)
        end = total - np.append(0.0, total)[self.start][self.row]
        # Rounding must not give a row one copy more or less than the others.
        end = np.clip(end, 0.0, 1.0)
        end[np.append(self.start[1:], len(end)) - 1] = 1.0
        reached = np.ceil(n_copies * end - level)
        count = np.diff(reached, prepend=0.0)
        count[self.start] = reached[self.start]
        places = np.flatnonzero(count > 0)
        return places, count[places] / n_copies

    def _at(self, places: Indices, weight: Array) -> CompletedRows:
        return CompletedRows(self.X[places], self.row[places], weight, choice=self.choice)

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
        return replace(self, weight=ratio / total)

    def mean(self, values: Array) -> Array:
        """Return the weighted mean over the copies of each row, of values by copy."""
        weight = self.weight.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weight * values, self.start, axis=0))


Weighing = Callable[[CompletedRows, Array], CompletedRows]


class Completion(Protocol):
    """What may stand in the gaps of rows."""

    def training(self, X: Array, y: NDArray[Any]) -> CompletedRows:
        """Return rows to learn from, completed given their outcomes."""
        ...

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        ...


class NoGaps:
    """The completion of rows that have no gaps: the rows themselves."""

    def training(self, X: Array, y: NDArray[Any]) -> CompletedRows:
        """Return rows to learn from."""
        return self.prediction(X)

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict."""
        return CompletedRows(X, np.arange(len(X)), np.ones(len(X)))


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
    center: Annotated[Array, Form("e")]
    scale: Annotated[Array, Form("e", SMALLEST)]
    lowest: Annotated[Array, Form("d")]
    highest: Annotated[Array, Form("d", above="lowest")]
    levels: Annotated[Indices, Form("g 2", 0, "d")]
    is_binary: Annotated[NDArray[np.bool_], Form("d")]
    log_share: Annotated[Array, Form("2 k d", high=0.0)]
    classes: NDArray[Any]

    def __post_init__(self) -> None:
        form = getattr(self.joint.density, "form", None)
        if isinstance(form, DenseCovariance) and not (form.diagonal() > 0).all():
            raise ValueError(
                "joint must vary in every column; found a variance of "
                f"{float(form.diagonal().min()):g}. Learn it from rows."
            )

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
        return self.resampled(X, y, None)

    def resampled(self, X: Array, y: NDArray[Any], weigh: Weighing | None) -> CompletedRows:
        """Return rows to learn from, some of their candidates as often as these count.

        Parameters
        ----------
        X, y
            Inputs with gaps, shape (n, d), and outcomes.
        weigh
            Returns candidates for rows with these outcomes, weighted; None if all are alike.
        """
        n_copies, parts = self.n_copies(X), []
        few, many = N_CANDIDATES
        for part, rows in self._candidates(X, y, few):
            counted = rows if weigh is None else weigh(rows, y[part])
            sharp = np.flatnonzero(counted.is_sharp)
            if n_copies < few:
                counted = counted.resampled(n_copies)
            if weigh is not None and len(sharp):
                own = y[part][sharp]
                more = [
                    weigh(found, own[place]).resampled(n_copies)
                    for place, found in self._candidates(X[part][sharp], own, many)
                ]
                counted = counted.replaced(sharp, _joined(more))
            parts.append(counted)
        return _joined(parts)

    def n_copies(self, X: Array) -> int:
        """Return how many copies of each row with gaps are enough to learn from."""
        n_gaps = int(np.isnan(X).any(axis=1).sum())
        fewest, most = N_CLASS_COPIES if len(self.classes) else N_COPIES
        return int(np.clip(ENOUGH_COPIES // max(n_gaps, 1), fewest, most))

    def candidates(self, X: Array, y: NDArray[Any], sharp: Indices) -> CompletedRows:
        """Return rows to learn from with all that was drawn given their outcomes.

        Parameters
        ----------
        X, y
            Inputs with gaps, shape (n, d), and outcomes.
        sharp
            Places of rows of which more are drawn than of others.
        """
        few, many = N_CANDIDATES
        rows = _joined([found for _, found in self._candidates(X, y, few)])
        if len(sharp) == 0:
            return rows
        more = self._candidates(X[sharp], y[sharp], many)
        return rows.replaced(sharp, _joined([found for _, found in more]))

    def sample(self, X: Array, y: NDArray[Any], n_most: int) -> Indices:
        """Return the places of at most so many rows, which stand for all in whatever order."""
        return hashed_sample(self._standard(X, y), n_most)

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        rows = X[np.isnan(X).any(axis=1)]
        standard = (rows - self.center[: X.shape[1]]) / self.scale[: X.shape[1]]
        if len(self.classes):
            label, weight = _drawn_classes(self._class_probability(rows), N_DRAWS)
        else:
            standard = np.column_stack([standard, np.full(len(rows), np.nan)])
            label = np.zeros((len(rows), N_DRAWS), dtype=np.intp)
            weight = np.full(label.shape, 1.0 / N_DRAWS)
        drawn = self.joint.completed(
            standard, label, _normal_scores(N_DRAWS, standard.shape[1])
        )
        dither = hashed_uniform(row_hash(standard), X.shape[1])
        return self._completed(X, drawn, label, weight, dither)

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

    def _standard(self, X: Array, y: NDArray[Any]) -> Array:
        """Return inputs and outcomes of about unit size, shape (n, d + 1)."""
        if len(self.classes):
            label = np.searchsorted(self.classes, y)
            return np.column_stack([(X - self.center) / self.scale, label])
        return (np.column_stack([X, y]) - self.center) / self.scale

    def _candidates(
        self, X: Array, y: NDArray[Any], n_draws: int
    ) -> Iterator[tuple[slice, CompletedRows]]:
        """Yield some rows at a time, and them with all that was drawn given their outcomes."""
        d = X.shape[1]
        standard, has_gap = self._standard(X, y), np.asarray(np.isnan(X).any(axis=1))
        key = row_hash(standard[has_gap])
        hashes, turn = np.zeros(len(X), dtype=np.uint64), np.zeros(len(X))
        hashes[has_gap], turn[has_gap] = key, repeat_count(key)
        size = max(1, BLOCK_SIZE // (n_draws * d))
        for start in range(0, max(len(X), 1), size):
            part = slice(start, start + size)
            own = has_gap[part]
            rows, n_gaps = standard[part][own], np.isnan(X[part]).sum(axis=1).max(initial=0)
            numbers = hashed_uniform(hashes[part], 3 + d + n_gaps)
            choice = (numbers[:, :2] + turn[part, None] * TURNS[:2]) % 1.0
            dither = (numbers[own, 2 : 2 + d] + turn[part][own, None] * TURNS[2]) % 1.0
            label = np.zeros((len(rows), n_draws), dtype=np.intp)
            if len(self.classes):
                label += rows[:, d:].astype(np.intp)
                rows = rows[:, :d]
            drawn = self.joint.completed(
                rows, label, _scores_by_row(n_draws, numbers[own, 2 + d :])
            )
            weight = np.full(label.shape, 1.0 / n_draws)
            found = self._completed(X[part], drawn, label, weight, dither)
            yield part, replace(found, choice=choice)

    def _completed(
        self, X: Array, standard: Array, label: Indices, weight: Array, dither: Array
    ) -> CompletedRows:
        """Return all rows, those with gaps in copies.

        Parameters
        ----------
        X
            All rows, shape (n, d).
        standard
            Draws of those with gaps, of unit size, shape (n_gaps, n_draws, >= d).
        label, weight
            Class of each draw and what it counts, shape (n_gaps, n_draws).
        dither
            Numbers between zero and one by which shares of draws are rounded up, for each
            row with gaps and column, shape (n_gaps, d).
        """
        n_copies, d = label.shape[1], X.shape[1]
        has_gap = np.asarray(np.isnan(X).any(axis=1))
        drawn = (self.center + self.scale * standard)[..., :d]
        row = np.repeat(np.arange(len(X)), np.where(has_gap, n_copies, 1))
        completed, raw, shares = X[row], X[row], np.ones(len(row))
        shares[has_gap[row]] = weight.ravel()
        is_open = np.isnan(completed)
        own = is_open[has_gap[row]]
        raw[is_open] = drawn.reshape(-1, d)[own]
        possible = self._possible(drawn, np.isnan(X[has_gap]), label, dither)
        completed[is_open] = possible.reshape(-1, d)[own]
        return CompletedRows(completed, row, shares, raw)

    def _possible(
        self, drawn: Array, is_open: NDArray[np.bool_], label: Indices, dither: Array
    ) -> Array:
        """Return draws (n, n_draws, d) moved to values that training rows could have."""
        values = np.clip(drawn, self.lowest, self.highest)
        is_level = np.zeros(len(self.lowest), dtype=bool)
        for first, last in self.levels:
            rows, own = np.flatnonzero(is_open[:, first]), slice(first, last + 1)
            part = drawn[rows, :, own]
            values[rows, :, own] = np.eye(part.shape[2])[
                _drawn_levels(part, dither[rows, first])
            ]
            is_level[own] = True
        for j in np.flatnonzero(self.is_binary & ~is_level & is_open.any(axis=0)):
            rows = np.flatnonzero(is_open[:, j])
            is_high = self._is_high(int(j), drawn[rows, :, j], label[rows], dither[rows, j])
            values[rows, :, j] = np.where(is_high, self.highest[j], self.lowest[j])
        return values

    def _is_high(
        self, j: int, drawn: Array, label: Indices, dither: Array
    ) -> NDArray[np.bool_]:
        """Return which draws (n, n_draws) of a two-valued input have the higher value.

        The input is taken to be high where a normal score is above that quantile which gives
        both values their shares. What its score shares with the rest of the row is raised as
        much as cutting scores in two lowers covariances.
        """
        k, density = len(self.log_share[0]), self.joint.density
        center = np.broadcast_to(density.mean(), (k, len(self.center)))[:, j]
        scale = np.broadcast_to(density.std(), (k, len(self.center)))[:, j]
        low, high = np.exp(self.log_share[:, :, j])
        quantile = special.ndtri(low / (low + high))
        lost = np.sqrt(low * high) * np.sqrt(2 * np.pi) * np.exp(0.5 * quantile**2)
        score = (drawn - self.center[j]) / self.scale[j]
        score = (score - center[label]) / scale[label]
        mean, variance = score.mean(axis=1, keepdims=True), score.var(axis=1, keepdims=True)
        explained = np.clip(1.0 - variance, 1e-12, 1.0)
        gain = np.minimum(lost[label], np.sqrt(LARGEST_SHARE / explained))
        left = np.sqrt(1.0 - gain**2 * explained)
        share = special.ndtr((gain * mean - quantile[label]) / left)
        height = gain * mean + left * (score - mean) / np.sqrt(variance) - quantile[label]
        n_high = np.floor(share.sum(axis=1) + dither)
        rank = np.argsort(np.argsort(-height, axis=1, kind="stable"), axis=1, kind="stable")
        return np.asarray(rank < n_high[:, None])

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
    makes them draws given the outcome under the curve. Where few of them count, more are drawn;
    where there are many rows, few are kept, as often as they count.

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
        return self.completion.resampled(X, y, self._weighed)

    def _weighed(self, rows: CompletedRows, y: Array) -> CompletedRows:
        outcome = y[rows.row]
        log_density = self.curve.predict_dist(rows.X).log_prob(outcome)
        return rows.weighed(log_density - self.completion.log_outcome(rows, outcome))

    def prediction(self, X: Array) -> CompletedRows:
        """Return rows to predict, completed without their outcomes."""
        return self.completion.prediction(X)


def learned_completion(
    X: Array, y: NDArray[Any], levels: Sequence[tuple[int, int]], asked: Array | None = None
) -> RowCompletion | NoGaps:
    """Return what completes rows to learn from and rows to ask about, if any has a gap.

    Parameters
    ----------
    X, y, levels
        What to learn from, as of `RowCompletion.learn`.
    asked
        Inputs of rows that will be predicted, NaN where missing.
    """
    if has_missing(X) or (asked is not None and has_missing(asked)):
        return RowCompletion.learn(X, y, levels)
    return NoGaps()


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
    belief: Components = inference.posterior
    return belief.mean()


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


def _drawn_levels(drawn: Array, dither: Array) -> Indices:
    """Return a level for each draw (n, n_draws, n_levels), shape (n, n_draws).

    The mean of the draws of a level is its probability, and gives it its share of the draws:
    those in which it came out highest, the last levels first. Shares are rounded up or down by
    numbers between zero and one, shape (n,).
    """
    n, n_draws, n_levels = drawn.shape
    share = np.maximum(drawn.mean(axis=1), 1e-9)
    ends = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    quota = np.diff(np.floor(n_draws * ends + dither[:, None]), axis=1, prepend=0.0)
    level = np.zeros((n, n_draws), dtype=np.intp)
    is_free = np.ones((n, n_draws), dtype=bool)
    for k in range(n_levels - 1, 0, -1):
        height = np.where(is_free, drawn[:, :, k], -np.inf)
        rank = np.argsort(np.argsort(-height, axis=1, kind="stable"), axis=1, kind="stable")
        chosen = is_free & (rank < quota[:, k, None])
        level[chosen] = k
        is_free &= ~chosen
    return level


def _scores_by_row(n_draws: int, numbers: Array) -> Array:
    """Return normal numbers by row, draw and gap, shape (n, n_draws, m).

    Each row has some of the columns of the same numbers side by side, with signs of its own:
    the draws of any row have mean zero, unit variance and no correlation.

    Parameters
    ----------
    n_draws
        How many draws each row has.
    numbers
        Between zero and one for each row and one more than its gaps, shape (n, 1 + m).
    """
    m = numbers.shape[1] - 1
    n_columns = max(N_GRIDS, m)
    columns = np.tile(_normal_scores(n_draws, n_columns).T, (2, 1))
    first = (numbers[:, :1] * n_columns).astype(np.intp)
    sign = np.where(numbers[:, 1:] < 0.5, -1.0, 1.0)
    return np.asarray((columns[first + np.arange(m)] * sign[..., None]).swapaxes(1, 2))


def _joined(parts: Sequence[CompletedRows]) -> CompletedRows:
    """Return the rows of all parts, which follow each other."""
    if len(parts) == 1:
        return parts[0]
    n_before = np.cumsum([0] + [part.row[-1] + 1 for part in parts[:-1]])
    drawn = [part.drawn for part in parts if part.drawn is not None]
    return CompletedRows(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.row + n for part, n in zip(parts, n_before, strict=True)]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate(drawn) if len(drawn) == len(parts) else None,
        np.concatenate([part.choice for part in parts if part.choice is not None]),
    )


@cache
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
