"""Rows in classes with some labels or values missing, for expectation maximization.

The hidden part of a row is its class, if that is not known; where no class is known the classes
are the components of a mixture. Rows are of any family. Given a belief, or parameters,

* log normalizer: ``log sum_k exp(E log p(k, x))``, or ``E log p(k, x)`` of a known class k;
* responsibility of class k: ``exp(E log p(k, x))`` divided by its sum over classes;
* expected statistics: those of the rows, shared out by responsibility.

Where features are independent a missing value is simply absent. In normal vectors, also those
that are parts of a product, it is hidden too, and filled in by its regression on what is
present. With ``e`` for the normal at the expected mean and precision of a class, in the way of
[ghahramani1994]_:

* log normalizer: ``log sum_k exp(E log p(k) + log e_k(present) + constants_k)``;
* expected row: the missing part at ``m_m + S_mp S_pp^-1 (x_p - m_p)``;
* expected scatter: that of expected rows, plus ``S_mm - S_mp S_pp^-1 S_pm`` for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.families.belief import Belief
from credo.families.categorical import CategoricalStatistics
from credo.families.component import Components, ComponentStatistics
from credo.families.multivariate_normal import (
    MultivariateNormalStatistics,
    TiedNormalInverseWishart,
)
from credo.families.normal import NormalStatistics, SphericalNormalInverseGamma
from credo.families.normal_component import (
    NormalBelief,
    expected_normal,
    has_hidden_values,
    is_normal_vector,
    lifted,
    row_parts,
    share_terms,
)
from credo.families.product import Product, ProductStatistics
from credo.families.rows import as_weight
from credo.inference.engine.problem import Expectation
from credo.numerics.array import Array, as_float, has_missing
from credo.numerics.form import Form
from credo.numerics.linear.linear_algebra import symmetrize
from credo.numerics.missing import GapBlock, gap_blocks, present_precision
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.special.normal_shares import normal_shares

__all__ = [
    "ChunkedClassProblem",
    "DegenerateComponent",
    "IncompleteRows",
    "LatentClassProblem",
    "first_label",
]

Codes = NDArray[np.intp]
Knowledge = Components | ClassConditional


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Rows with gaps, their classes where known, and their weights; ``a + b`` has both's rows.

    Attributes
    ----------
    x
        Shape (n, d); NaN is missing.
    label
        Class from 0 to ``n_classes - 1``, or -1 where it is not known, shape (n,).
    weight
        Shape (n,).
    n_classes
        Number of classes.
    """

    x: Annotated[Array, Form("n d", has_gaps=True)]
    label: Annotated[Codes, Form("n", -1)]
    weight: Annotated[Array, Form("n", 0.0)]
    n_classes: Annotated[int, Form(low=1)]

    @classmethod
    def unlabeled(cls, x: ArrayLike, n_classes: int, weight: ArrayLike = 1.0) -> IncompleteRows:
        """Return rows (n, d) of none of which the class is known, as a mixture has them."""
        rows = as_float(x)
        n = len(rows)
        return cls(rows, np.full(n, -1, dtype=np.intp), as_weight(weight, n), n_classes)

    def __add__(self, other: IncompleteRows) -> IncompleteRows:
        return IncompleteRows(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.label, other.label]),
            np.concatenate([self.weight, other.weight]),
            self.n_classes,
        )

    def __getitem__(self, rows: NDArray[np.bool_]) -> IncompleteRows:
        return IncompleteRows(self.x[rows], self.label[rows], self.weight[rows], self.n_classes)

    def pooled(self) -> NormalStatistics:
        """Return weight, mean and scatter of each feature over all rows that have it."""
        return self._pooled

    @cached_property
    def _pooled(self) -> NormalStatistics:
        return NormalStatistics.of(self.x, self.weight)


LEAST_SPREAD = 1e-10
"""Variance of a component in any direction, as a share of that of all rows, that is none."""


class DegenerateComponent(ValueError):
    """A component has shrunk to rows that do not vary, where the likelihood has no maximum.

    Attributes
    ----------
    component
        Number of the component.
    rows
        Rows that it has shrunk to, or the first few of them.
    """

    def __init__(self, component: int, rows: tuple[int, ...]) -> None:
        self.component, self.rows = component, rows
        super().__init__(
            "each component must have rows that vary in every direction, for the likelihood to "
            f"have a maximum; found that component {component} has shrunk to rows "
            f"{list(rows)}. Use inference='map', fewer components, or leave out columns that "
            "are constant or repeat others."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.component, self.rows)


@dataclass(frozen=True, eq=False)
class LatentClassProblem:
    """Rows of any family in classes, some or all of which are hidden.

    Attributes
    ----------
    data
        The rows.
    prior
        What is believed before the data about classes and their rows.
    is_point
        Whether to find the parameters of largest likelihood, which have no bound, instead of a
        belief; then the prior says only of what families rows and classes are.
    floor
        For normal rows and largest likelihood, the share of the pooled variance that is added
        to each variance.
    share
        Weight of each row in each class to start from, shape (n, K). If None, what is labeled;
        and if nothing is, rows are dealt out in order along the direction in which they vary
        most. Components that start alike stay alike.
    among
        Which classes a row without a label may be of, shape (n, K); all if None. A mixture in
        each class of a classifier has several for each label.
    has_prior
        Whether to find the most probable parameters instead of the likeliest; the objective is
        then the log density of rows and parameters.

    Examples
    --------
    >>> from credo.families import DirichletCategorical, GammaPoisson
    >>> from credo.inference import ExpectationMaximization, run
    >>> rows = IncompleteRows.unlabeled([[0], [1], [0], [9], [8], [12]], n_classes=2)
    >>> prior = Components(DirichletCategorical([1.0, 1.0]), GammaPoisson([1.0], 0.1))
    >>> found = run(ExpectationMaximization(), LatentClassProblem(rows, prior))
    >>> found.posterior.mean().density.rate.ravel().round(2)
    array([0.64, 9.67])
    """

    data: IncompleteRows
    prior: Components
    is_point: bool = False
    floor: float = 0.0
    share: Array | None = None
    among: NDArray[np.bool_] | None = None
    has_prior: bool = False

    @property
    def is_monotone(self) -> bool:
        """Whether no step lowers the objective; a floor may."""
        return self.floor == 0.0

    @property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(self.data.weight.sum())

    @property
    def evidence_method(self) -> str:
        """Return "bound" for beliefs, "none" for largest likelihood."""
        return "none" if self.is_point else "bound"

    def start(self) -> Knowledge:
        """Return what rows of known classes say, of vectors as if features were independent."""
        data, share = self.data, self.share
        if share is None and (data.label < 0).all():
            share = _dealt(data, self._possible)
        if not self._is_joint:
            if share is None:
                return self.update(self._labeled)
            return self.update(self.prior.statistics_by_share(data.x, share))
        if share is None:
            share = (data.label[:, None] == np.arange(data.n_classes)) * data.weight[:, None]
        count = share.sum(axis=0)
        parts = [
            self._apart(columns, share)
            if is_normal_vector(part)
            else part.statistics_by_share(data.x[:, columns], share)
            for part, columns in self._parts
        ]
        return self.update(self._statistics(count, parts))

    def expect(self, belief: Knowledge) -> Expectation:
        """Return expected statistics of complete rows, and the log normalizer."""
        if self._is_plain.any():
            return self._expect_normals(belief)
        if self._is_joint:
            return self._expect_vectors(belief)
        data, is_known = self.data, self.data.label >= 0
        known, hidden = data[is_known], data[~is_known]
        own, joint = _log_densities(belief)
        log_pair = np.where(self._possible[~is_known], joint(hidden.x), -np.inf)
        log_row = log_sum_exp(log_pair, axis=1)
        if np.isneginf(log_row).any():
            row = np.flatnonzero(~is_known)[np.argmin(log_row)]
            raise ValueError(
                "each row must be possible in some class that it may be of; found row "
                f"{row} with log density -inf in all. "
                "Leave it out, or use densities that rule nothing out."
            )
        share = np.exp(log_pair - log_row[:, None]) * hidden.weight[:, None]
        statistics = self._labeled + self.prior.statistics_by_share(hidden.x, share)
        log_known = known.weight @ own(known.x, known.label)
        return Expectation(statistics, float(log_known + hidden.weight @ log_row))

    def update(self, statistics: ComponentStatistics) -> Knowledge:
        """Return the posterior, or the parameters of largest likelihood."""
        if not self.is_point:
            return self.prior.update(statistics)
        if self.has_prior:
            return self.prior.update(statistics).mode()
        self._require_spread(statistics)
        return self.prior.maximum_likelihood(lifted(statistics, self.floor))

    def penalty(self, belief: Knowledge) -> float:
        """Return the divergence of a belief from the prior.

        Of parameters, minus their log density if there is a prior, and else zero.
        """
        if not isinstance(belief, ClassConditional):
            return belief.kl(self.prior)
        return -self.prior.log_density_at(belief) if self.has_prior else 0.0

    def responsibility(self, belief: Knowledge) -> Array:
        """Return the probability of each class for each row, shape (n, K)."""
        logs = self.log_joint(belief)
        logs -= logs.max(axis=1, keepdims=True)
        share = np.exp(logs, out=logs)
        share /= share.sum(axis=1, keepdims=True)
        return share

    def log_joint(self, belief: Knowledge) -> Array:
        """Return the log density of each row in each class that it may be of, shape (n, K)."""
        _, joint = _log_densities(belief)
        if not self.has_hidden_values:
            return np.where(self._possible, joint(self.data.x), -np.inf)
        row, label = self._pairs
        logs = np.full(self._possible.shape, -np.inf)
        logs[row, label] = self._pair_densities(belief)[0]
        return logs

    def shared_out(self, belief: Knowledge, share: Array) -> ComponentStatistics:
        """Return expected statistics of rows that have given shares (n, K), gaps filled in."""
        if not self.has_hidden_values:
            return self.prior.statistics_by_share(self.data.x, share)
        return self._shared_out(self._pair_densities(belief)[1], share[self._pairs])

    @cached_property
    def has_hidden_values(self) -> bool:
        """Whether rows have gaps in normal vectors, where they are hidden values."""
        return has_hidden_values(self.prior.rows, self.data.x)

    def begun(self) -> Array:
        """Return rows whose normal vectors are complete: gaps at the mean of their column."""
        x, mean = self.data.x.copy(), self.data.pooled().mean
        for part, columns in self._parts:
            if is_normal_vector(part):
                x[:, columns] = np.where(np.isnan(x[:, columns]), mean[columns], x[:, columns])
        return x

    def first_label(self) -> NDArray[np.intp]:
        """Return the class of each row to begin draws with, shape (n,)."""
        return first_label(self)

    def redrawn(self, label: NDArray[np.int64], x: Array, rng: Generator) -> float:
        """Draw parameters, then classes and gaps in place; return the log density of rows.

        Parameters
        ----------
        label
            Class of each row, shape (n,), which is set anew.
        x
            Rows, of which gaps in normal vectors are set anew.
        """
        statistics = self.prior.statistics_of(x, label, self.data.weight)
        joint = self.prior.update(statistics).sample(rng)
        logs = self.log_joint(joint)
        log_row = log_sum_exp(logs, axis=1)
        share = np.cumsum(np.exp(logs - log_row[:, None]), axis=1)
        drawn = (share <= rng.uniform(size=len(x))[:, None] * share[:, -1:]).sum(axis=1)
        label[:] = np.where(self.data.label >= 0, self.data.label, drawn)
        if self.has_hidden_values:
            self.fill(x, joint, label, rng)
        return float(self.data.weight @ log_row)

    def fill(
        self, x: Array, joint: ClassConditional, label: NDArray[Any], rng: Generator
    ) -> None:
        """Draw the gaps of normal vectors into rows (n, d), given the class of each."""
        density: Any = joint.density
        parts = density.parts if isinstance(self.prior.rows, Product) else (density,)
        for (part, columns), own in zip(self._parts, parts, strict=True):
            if not is_normal_vector(part):
                continue
            given = self.data.x[:, columns]
            rows = np.flatnonzero(np.isnan(given).any(axis=1))
            scores = rng.standard_normal((len(rows), 1, len(columns)))
            normals = ClassConditional(np.zeros(self.data.n_classes), own)
            drawn = normals.completed(given[rows], label[rows][:, None], scores)
            x[rows[:, None], columns] = drawn[:, 0]

    @cached_property
    def _is_plain(self) -> NDArray[np.bool_]:
        """Which rows are normal, complete and of any class: those of a plain mixture."""
        is_normal = isinstance(self.prior.rows, NormalBelief)
        if not is_normal or self.among is not None:
            return np.zeros(len(self.data.x), dtype=bool)
        is_hidden = self.data.label < 0
        if not has_missing(self.data.x):
            return np.asarray(is_hidden)
        return np.asarray(is_hidden & ~np.isnan(self.data.x).any(axis=1))

    @cached_property
    def _plain_rows(self) -> tuple[Array, Array | None]:
        """Rows and weights of a plain mixture; None for weights that are all one."""
        every = bool(self._is_plain.all())
        x = self.data.x if every else self.data.x[self._is_plain]
        weight = self.data.weight if every else self.data.weight[self._is_plain]
        return x, None if (weight == 1.0).all() else weight

    @cached_property
    def _others(self) -> LatentClassProblem | None:
        """The same problem for all rows but those of a plain mixture."""
        rest = ~self._is_plain
        return replace(self, data=self.data[rest], share=None) if rest.any() else None

    def _expect_normals(self, belief: Knowledge) -> Expectation:
        """Return expected statistics of normal rows, most of them complete."""
        offset, centers, lower = share_terms(self.prior.rows, belief)
        found = normal_shares(*self._plain_rows, offset, centers, lower)
        if not np.isfinite(found.log_total):
            away = np.abs(self.data.x - self.data.pooled().mean) / self._unit
            row = int(np.nan_to_num(away, posinf=np.inf).max(axis=1).argmax())
            raise FloatingPointError(
                "log densities of all rows must be finite; found that a row is too far from "
                f"every component, in its units, for a square to be finite: row {row} is "
                "farthest from the mean. Leave out rows far from all others, or change the "
                "unit of their columns."
            )
        rows: Any
        if is_normal_vector(self.prior.rows):
            rows = MultivariateNormalStatistics(found.weight, found.mean, found.scatter)
        else:
            weight = np.broadcast_to(found.weight[:, None], found.mean.shape)
            rows = NormalStatistics(weight, found.mean, found.scatter)
        statistics = ComponentStatistics(CategoricalStatistics(found.weight), rows)
        if self._others is None:
            return Expectation(statistics, found.log_total)
        others = self._others.expect(belief)
        log_total = found.log_total + others.log_normalizer
        return Expectation(statistics + others.statistics, log_total)

    @cached_property
    def _unit(self) -> Array:
        """Spread of each column in all rows."""
        return np.sqrt(self.data.pooled().usual_variance())

    def _require_spread(self, statistics: ComponentStatistics) -> None:
        """Refuse normal components that shrink to a point or a plane: likelihood is endless."""
        rows: Any = statistics.rows
        if self.floor > 0 or not isinstance(
            rows, NormalStatistics | MultivariateNormalStatistics
        ):
            return
        unit = self._unit
        count = np.maximum(statistics.classes.counts, 1e-300)
        if isinstance(rows, NormalStatistics):
            least = (rows.scatter / np.maximum(rows.weight, 1e-300) / unit**2).min(axis=1)
            if isinstance(self.prior.rows, SphericalNormalInverseGamma):
                least = rows.scatter.sum(axis=1) / np.maximum(rows.weight.sum(axis=1), 1e-300)
                least = least / float(unit.max()) ** 2
        else:
            scatter = rows.scatter / (unit[:, None] * unit)
            if isinstance(self.prior.rows, TiedNormalInverseWishart):
                scatter, count = scatter.sum(axis=0)[None], count.sum()[None]
            least = np.linalg.eigvalsh(scatter)[:, 0] / count
        worst = int(np.argmin(least))
        if least[worst] > LEAST_SPREAD:
            return
        away = np.nan_to_num((self.data.x - rows.mean[worst]) / unit)
        near = np.argsort((away**2).sum(axis=1), kind="stable")
        n_near = int(np.clip(np.ceil(statistics.classes.counts[worst]), 1, 5))
        raise DegenerateComponent(worst, tuple(int(i) for i in near[:n_near]))

    @cached_property
    def _is_joint(self) -> bool:
        rows = self.prior.rows
        return is_normal_vector(rows) or has_hidden_values(rows, self.data.x)

    @cached_property
    def _parts(self) -> tuple[tuple[Belief, list[int]], ...]:
        """The independent parts of a row, each with its columns."""
        return row_parts(self.prior.rows, self.data.x.shape[1])

    def _statistics(self, count: Array, parts: Sequence[Any]) -> ComponentStatistics:
        """Return statistics of classes of these weights, whose rows have these in each part."""
        is_product = isinstance(self.prior.rows, Product)
        rows = ProductStatistics(tuple(parts)) if is_product else parts[0]
        return ComponentStatistics(CategoricalStatistics(count), rows)

    @cached_property
    def _labeled(self) -> ComponentStatistics:
        """Statistics of the rows whose classes are known, which no step changes."""
        known = self.data[self.data.label >= 0]
        return self.prior.statistics_of(known.x, known.label, known.weight)

    def _apart(self, columns: list[int], share: Array) -> MultivariateNormalStatistics:
        """Return statistics of vectors from those of their features, taken as independent."""
        x, count, every = self.data.x[:, columns], share.sum(axis=0), self.data.pooled()
        pooled = NormalStatistics(
            every.weight[columns], every.mean[columns], every.scatter[columns]
        )
        # About the mean of all, which is near enough for a start.
        away, weight = x - pooled.mean, count[:, None]
        if has_missing(away):
            weight = share.T @ (~np.isnan(away)).astype(np.float64)
            away = np.nan_to_num(away)
        mean = (share.T @ away) / np.where(weight > 0, weight, 1.0)
        square = share.T @ np.square(away, out=away)
        scatter = square - weight * mean**2
        scatter = np.where(scatter > 1e-12 * square, scatter, 0.0)
        weight = np.broadcast_to(weight, mean.shape)
        rows = NormalStatistics(weight, pooled.mean + mean, scatter)
        usual = np.where(pooled.variance() > 0, pooled.variance(), 1.0)
        some = np.asarray(rows.weight) > 0
        variance = np.where(np.asarray(rows.scatter) > 0, rows.scatter, usual * rows.weight)
        variance = np.where(some, variance / np.where(some, rows.weight, 1.0), usual)
        scatter = (count[:, None] * variance)[..., None] * np.eye(len(columns))
        mean = np.where(some, rows.mean, pooled.mean)
        return MultivariateNormalStatistics(count, mean, scatter)

    def _expect_vectors(self, belief: Knowledge) -> Expectation:
        """Return expected statistics of normal vectors, whose gaps are hidden as well."""
        row = self._pair_row
        log_pair, normals = self._pair_densities(belief)
        start = np.flatnonzero(np.diff(row, prepend=-1))
        log_row = np.logaddexp.reduceat(log_pair, start)
        # A known class has all the weight of its row, whatever the belief says.
        share = np.where(self.data.label[row] >= 0, 1.0, np.exp(log_pair - log_row[row]))
        statistics = self._shared_out(normals, share * self.data.weight[row])
        return Expectation(statistics, float(self.data.weight @ log_row))

    def _shared_out(self, normals: list[Any], weight: Array) -> ComponentStatistics:
        """Return expected statistics of pairs of row and class with these weights."""
        (row, label), k = self._pairs, self.data.n_classes
        parts = [
            part.statistics_by_group(self.data.x[row][:, columns], label, k, weight)
            if normal is None
            else self._filled(columns, normal, weight)
            for (part, columns), normal in zip(self._parts, normals, strict=True)
        ]
        count = np.bincount(label, weight, k).astype(np.float64)
        return self._statistics(count, parts)

    def _pair_densities(self, belief: Knowledge) -> tuple[Array, list[Any]]:
        """Return log densities of pairs of row and class, and the normal of each vector part.

        None of a part that is no normal vector.
        """
        row, label = self._pairs
        x, is_product = self.data.x[row], isinstance(self.prior.rows, Product)
        if isinstance(belief, ClassConditional):
            density: Any = belief.density
            fitted = density.parts if is_product else (density,)
            pairs = zip(self._parts, fitted, strict=True)
            normals = [own if is_normal_vector(part) else None for (part, _), own in pairs]
            return belief.log_own(x, label), normals
        classes: Any = belief.classes
        log_pair = classes.expected_log_density(np.arange(belief.n_classes))[label]
        normals = []
        for part, columns in row_parts(belief.rows, x.shape[1]):
            if is_normal_vector(part):
                vectors = expected_normal(part)
                normals.append(vectors.density)
                log_pair = log_pair + vectors.log_own(x[:, columns], label)
            else:
                normals.append(None)
                log_pair = log_pair + _own_log_density(part, x[:, columns], label)
        return log_pair, normals

    @cached_property
    def _possible(self) -> NDArray[np.bool_]:
        """Which classes each row may be of: one if it is known, else all, or those given."""
        label, k = self.data.label, self.data.n_classes
        may_be = np.ones((len(label), k), dtype=bool) if self.among is None else self.among
        return np.where((label >= 0)[:, None], label[:, None] == np.arange(k), may_be)

    @cached_property
    def _pairs(self) -> tuple[Codes, Codes]:
        """Rows and classes that may go together, row by row."""
        row, label = np.nonzero(self._possible)
        return row, label

    @property
    def _pair_row(self) -> Codes:
        return self._pairs[0]

    @property
    def _pair_class(self) -> Codes:
        return self._pairs[1]

    def _filled(
        self, columns: list[int], normal: MultivariateNormal, weight: Array
    ) -> MultivariateNormalStatistics:
        """Return expected statistics of some columns, gaps filled by normals of classes."""
        rows = self.data.x[self._pair_row][:, columns]
        extra = self._fill(rows, normal, weight)
        filled = MultivariateNormalStatistics.by_group(
            rows, self._pair_class, self.data.n_classes, weight
        )
        return MultivariateNormalStatistics(filled.weight, filled.mean, filled.scatter + extra)

    def _fill(self, rows: Array, normal: MultivariateNormal, weight: Array) -> Array:
        """Write expected values into the gaps; return the scatter that is left about them."""
        k, d = self.data.n_classes, rows.shape[1]
        covariance = np.broadcast_to(normal.form.dense(), (k, d, d))
        center = np.broadcast_to(normal.loc, (k, d))
        extra = np.zeros((k, d, d))
        for c in range(k):
            own = np.flatnonzero(self._pair_class == c)
            for block in gap_blocks(rows[own]):
                pairs = own[block.rows]
                precision, _ = present_precision(covariance[c], block.is_missing)
                is_open = np.isnan(rows[pairs])
                shift = np.where(is_open, 0.0, rows[pairs] - center[c])
                expected = center[c] + block.product(shift, precision) @ covariance[c]
                rows[pairs] = np.where(is_open, expected, rows[pairs])
                extra[c] += _scatter_left(covariance[c], precision, weight[pairs], block)
        return extra


def first_label(problem: Any) -> NDArray[np.intp]:
    """Return the class of each row: the known one, or that of the largest share."""
    share = problem.share
    if share is None:
        share = problem.responsibility(problem.start())
    label = problem.data.label
    return np.asarray(np.where(label >= 0, label, share.argmax(axis=1)), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class ChunkedClassProblem:
    """The same problem for rows that come in chunks, again and again, and never all at once.

    Statistics of chunks add, so that a step is one pass over all chunks.

    Attributes
    ----------
    chunks
        Returns the chunks anew each time it is called.
    problem
        The problem of any chunk: its prior and settings; its own rows are not looked at.
    begin
        Parameters or belief to start from.
    """

    chunks: Callable[[], Iterable[IncompleteRows]]
    problem: LatentClassProblem
    begin: Knowledge

    is_monotone = True

    @cached_property
    def size(self) -> float:
        """Total weight of the rows."""
        return float(sum(chunk.weight.sum() for chunk in self.chunks()))

    @property
    def evidence_method(self) -> str:
        """Return "bound" for beliefs, "none" for parameters."""
        return self.problem.evidence_method

    def start(self) -> Knowledge:
        """Return where to begin."""
        return self.begin

    def expect(self, belief: Knowledge) -> Expectation:
        """Return expected statistics of all chunks together, and the log normalizer."""
        total: Any = None
        log_normalizer = 0.0
        for chunk in self.chunks():
            part = replace(self.problem, data=chunk, share=None).expect(belief)
            total = part.statistics if total is None else total + part.statistics
            log_normalizer += part.log_normalizer
        return Expectation(total, log_normalizer)

    def update(self, statistics: ComponentStatistics) -> Knowledge:
        """Return the posterior, or the best parameters."""
        return self.problem.update(statistics)

    def penalty(self, belief: Knowledge) -> float:
        """Return what is taken off the log normalizer."""
        return self.problem.penalty(belief)


def _scatter_left(covariance: Array, precision: Array, weight: Array, block: GapBlock) -> Array:
    """Return the weighted sum over rows of the covariance of their gaps, shape (d, d)."""
    total = np.bincount(block.code, weight, len(precision))
    left = covariance - covariance @ precision @ covariance
    is_left = block.is_missing[:, :, None] & block.is_missing[:, None, :]
    return symmetrize((np.where(is_left, left, 0.0) * total[:, None, None]).sum(axis=0))


def _own_log_density(part: Belief, x: Array, label: Codes) -> Array:
    """Return the expected log density of rows (n, d), each in the class that it is of, (n,)."""
    answer = np.empty(len(x))
    for c in np.unique(label):
        own = label == c
        rows: Any = part.component(c)
        answer[own] = rows.row_total(rows.expected_log_density(x[own]))
    return answer


def _log_densities(belief: Knowledge) -> tuple[Any, Any]:
    """Return log densities of rows at a class of their own, (n,), and at each class, (n, K)."""
    if isinstance(belief, ClassConditional):
        return belief.log_own, belief.log_joint
    return belief.expected_log_own, belief.expected_log_joint


def _dealt(data: IncompleteRows, possible: NDArray[np.bool_]) -> Array:
    """Return each row as a whole in one class that it may be of, shape (n, K).

    Rows that may be of the same classes are dealt out to them in order along the direction in
    which these rows vary most.
    """
    answer = np.zeros(possible.shape)
    patterns, code = np.unique(possible, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        rows, classes = np.flatnonzero(code.ravel() == i), np.flatnonzero(pattern)
        place = _rank(data.x[rows], data.weight[rows]) * len(classes) // len(rows)
        answer[rows, classes[place]] = data.weight[rows]
    return answer


def _rank(x: Array, weight: Array) -> Codes:
    """Return the place of each row along the main direction of all, gaps at the mean."""
    pooled = NormalStatistics.of(x, weight)
    spread = np.nan_to_num((x - pooled.mean) / np.sqrt(pooled.usual_variance()))
    direction = np.linalg.svd(spread, full_matrices=False)[2][0]
    # The sign of a singular vector is arbitrary.
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    return np.argsort(np.argsort(spread @ direction, kind="stable"), kind="stable")
