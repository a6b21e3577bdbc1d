"""Rows in classes, or in the components of a mixture: K copies of any belief, with weights.

``p(class, x) = p(class) p(x | class)``. Classes have unknown or known probabilities, and given
its class a row is of a family that is the same for all classes; what is believed about the two
is independent. Where classes are seen this is a generative classifier: naive Bayes if rows are
a product, discriminants if they are normal. Where they are hidden it is a mixture, and rows
have a share in each component.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.distributions.class_conditional import ClassConditional
from credo.distributions.distribution import Distribution
from credo.distributions.mixture import Alternatives
from credo.families.belief import Belief
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.known import Known
from credo.families.multivariate_normal import TiedNormalInverseWishart
from credo.families.normal import NormalInverseGamma
from credo.families.poisson import GammaPoisson
from credo.families.product import Product, ProductStatistics
from credo.families.rows import as_label, as_share, as_weight
from credo.families.statistics import Statistics
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["ComponentStatistics", "Components", "WithBackground"]

Codes = NDArray[np.intp]

BLOCK_ENTRIES = 1 << 17
"""Log densities of features and classes that are held at once."""


@dataclass(frozen=True, eq=False)
class ComponentStatistics:
    """Weight of each class and statistics of its rows; ``a + b`` pools, ``a - b`` forgets.

    Made by `Components.statistics_of` and `Components.statistics_by_share`.

    Attributes
    ----------
    classes
        Weight of each class, shape (K,).
    rows
        Statistics of the rows of each class, with a leading axis of classes.
    """

    classes: CategoricalStatistics
    rows: Statistics | ProductStatistics

    @classmethod
    def by_group(
        cls,
        summary: Callable[..., Any],
        x: ArrayLike,
        label: Codes,
        shape: tuple[int, int],
        weight: ArrayLike = 1.0,
    ) -> tuple[ComponentStatistics, ...]:
        """Summarize every class of every group of rows in one pass.

        Parameters
        ----------
        summary
            The statistics of rows, ``summary(x, label, n_labels, weight)``.
        label
            ``group * n_classes + class`` of each row.
        shape
            Number of groups and of classes.
        """
        n_groups, k = shape
        rows = summary(x, label, n_groups * k, weight)
        weights = as_weight(weight, len(label))
        counts = np.bincount(label, weights, n_groups * k).reshape(n_groups, k)
        return tuple(
            cls(
                CategoricalStatistics(counts[g].astype(np.float64)),
                rows[g * k : (g + 1) * k],
            )
            for g in range(n_groups)
        )

    def __add__(self, other: ComponentStatistics) -> ComponentStatistics:
        rows: Any = self.rows
        return ComponentStatistics(self.classes + other.classes, rows + other.rows)

    def __sub__(self, other: ComponentStatistics) -> ComponentStatistics:
        rows: Any = self.rows
        return ComponentStatistics(self.classes - other.classes, rows - other.rows)


@dataclass(frozen=True, eq=False)
class Components:
    """Belief about class probabilities and about the rows of each class.

    Attributes
    ----------
    classes
        Belief about the probabilities of the K classes; a distribution is `Known`.
    rows
        Belief about the rows of each class, with a leading batch axis of K. One without that
        axis is what is believed about every class.

    Examples
    --------
    >>> prior = Components(
    ...     DirichletCategorical([1.0, 1.0]), NormalInverseGamma([0.0], 1.0, 1.0, 1.0)
    ... )
    >>> seen = prior.statistics_of([[1.0], [5.0], [3.0]], [0, 1, 0])
    >>> posterior = prior.update(seen)
    >>> posterior.rows.location.ravel().round(4)
    array([1.3333, 2.5   ])
    >>> np.exp(posterior.predictive().log_posterior(np.array([[4.0]]))).round(3)
    array([[0.436, 0.564]])
    """

    classes: Belief
    rows: Belief

    def __init__(self, classes: Belief | Distribution, rows: Belief) -> None:
        known = Known(classes) if isinstance(classes, Distribution) else classes
        object.__setattr__(self, "classes", known)
        object.__setattr__(self, "rows", _by_class(rows, self.n_classes))

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.random.default_rng(0).poisson([[3.0, 5.0]], size=(9, 2))
        labeled = np.column_stack([rows, [0, 1, 0, 0, 1, 1, 0, 1, 0]]).astype(np.float64)
        normal = NormalInverseGamma([1.0], 0.7, 1.5, 2.0)
        mixed = Product.by_column({0: normal, 1: GammaPoisson(2.0, 0.7)})
        tied = TiedNormalInverseWishart(
            [[0.3, -1.0], [0.0, 0.5]], [0.7, 1.1], 4.5, [[2.0, 0.6], [0.6, 1.0]]
        )
        priors = (
            cls(DirichletCategorical([1.0, 2.5]), GammaPoisson([1.0, 2.0], 0.5)),
            cls(Categorical([0.3, 0.7]), mixed),
            cls(DirichletCategorical([1.0, 2.5]), tied),
        )
        return tuple(
            Example(
                prior,
                statistics=_ClassLast(prior),
                rows=labeled,
                read=_ClassLast.read,
                maximum_likelihood=False,
            )
            for prior in priors
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        classes: Any = self.classes
        if hasattr(classes, "n_states"):
            return int(classes.n_states)
        is_known = isinstance(classes, Known)
        shares = classes.distribution.probability if is_known else classes.concentration
        return int(shares.shape[-1])

    def statistics_of(
        self, x: ArrayLike, label: ArrayLike, weight: ArrayLike = 1.0
    ) -> ComponentStatistics:
        """Return the statistics of rows (n, d) whose classes are known, in one pass.

        Parameters
        ----------
        label
            Class of each row, from 0 to K - 1.
        """
        return self.statistics_by_group(x, label, np.zeros(np.shape(label)[0]), 1, weight)[0]

    def statistics_by_group(
        self,
        x: ArrayLike,
        label: ArrayLike,
        group: ArrayLike,
        n_groups: int,
        weight: ArrayLike = 1.0,
    ) -> tuple[ComponentStatistics, ...]:
        """Return the statistics of each group of rows whose classes are known, in one pass."""
        n, k = np.shape(label)[0], self.n_classes
        code = as_label(group, n, n_groups) * k + as_label(label, n, k)
        summary = self.rows.statistics_by_group
        return ComponentStatistics.by_group(summary, x, code, (n_groups, k), weight)

    def statistics_by_share(self, x: ArrayLike, share: ArrayLike) -> ComponentStatistics:
        """Return the statistics of rows that have a share (n, K) in each class: an E step."""
        shares = as_share(share, len(as_float(x)))
        rows = self.rows.statistics_by_share(x, shares)
        return ComponentStatistics(CategoricalStatistics(shares.sum(axis=0)), rows)

    def update(self, statistics: ComponentStatistics) -> Components:
        """Return the posterior; updating by parts equals updating by their sum."""
        classes, rows = self._parts
        return Components(classes.update(statistics.classes), rows.update(statistics.rows))

    def log_evidence(self, statistics: ComponentStatistics) -> float:
        """Return the log density of all rows and classes, in the order they came."""
        classes, rows = self._parts
        about_rows = float(np.sum(rows.log_evidence(statistics.rows)))
        return about_rows + float(classes.log_evidence(statistics.classes))

    def maximum_likelihood(self, statistics: ComponentStatistics) -> ClassConditional:
        """Return the joint distribution of largest likelihood, whatever is believed."""
        classes, rows = self._parts
        return _class_conditional(
            classes.maximum_likelihood(statistics.classes),
            rows.maximum_likelihood(statistics.rows),
        )

    def predictive(self) -> ClassConditional:
        """Return the distribution of the next class and row, parameters integrated out."""
        return self._joint(lambda part: part.predictive())

    def mean(self) -> ClassConditional:
        """Return the joint distribution at the expected parameters."""
        return self._joint(lambda part: part.mean())

    def mode(self) -> ClassConditional:
        """Return the joint distribution at the most probable parameters."""
        return self._joint(lambda part: part.mode())

    def log_density_at(self, joint: ClassConditional) -> float:
        """Return the log density of class probabilities and of all parameters of classes."""
        classes, rows = self._parts
        about_rows = float(np.sum(rows.log_density_at(joint.density)))
        weights = Categorical(np.exp(joint.log_weight))
        return about_rows + float(np.sum(classes.log_density_at(weights)))

    def sample(self, rng: np.random.Generator, n: int | None = None) -> ClassConditional:
        """Return the joint distribution at ``n`` draws of the parameters."""
        classes, rows = self._parts
        density = rows.sample(rng, n)
        return _class_conditional(classes.sample(rng, n), density)

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean over this belief of ``log p(class, x)`` for each class, (..., K).

        A missing number adds nothing; a vector must be complete.
        """
        classes, rows = self._parts
        value = as_float(x)[..., None, :]
        about_rows = self.rows.row_total(rows.expected_log_density(value))
        return np.asarray(classes.expected_log_density(np.arange(self.n_classes)) + about_rows)

    def expected_log_joint(self, x: Array) -> Array:
        """Return the same for many rows (n, d), shape (n, K), without large arrays between."""
        answer = np.empty((len(x), self.n_classes))
        step = max(64, BLOCK_ENTRIES // max(answer.shape[1] * x.shape[1], 1))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            answer[rows] = self.expected_log_density(x[rows])
        return answer

    def expected_log_own(self, x: Array, label: Codes) -> Array:
        """Return the same for rows (n, d), each at the class that it is of, shape (n,)."""
        about_classes = self._parts[0].expected_log_density(np.arange(self.n_classes))
        answer = np.empty(len(x))
        for c in np.unique(label):
            own = label == c
            rows: Any = self.rows.component(c)
            log_density = rows.row_total(rows.expected_log_density(x[own]))
            answer[own] = about_classes[c] + log_density
        return answer

    def kl(self, other: Components) -> float:
        """Return the divergence of ``other`` from this belief, in nats."""
        classes, rows = self._parts
        return float(np.sum(rows.kl(other.rows))) + float(classes.kl(other.classes))

    @property
    def _parts(self) -> tuple[Any, Any]:
        return self.classes, self.rows

    def _joint(self, distribution: Callable[[Any], Any]) -> ClassConditional:
        return _class_conditional(distribution(self.classes), distribution(self.rows))


@dataclass(frozen=True, eq=False)
class WithBackground(Belief):
    """Belief about components of one family, and a last one that is known: a background.

    Attributes
    ----------
    rows
        Belief about the rows of each component but the last, with a leading axis.
    background
        Distribution of the rows of the last component, complete vectors.
    """

    rows: Belief
    background: Distribution
    _is_joint: ClassVar[bool] = True
    has_components: ClassVar[bool] = True
    _shared: ClassVar[frozenset[str]] = frozenset(["background"])

    def statistics_by_share(self, x: ArrayLike, share: ArrayLike) -> Any:
        """Return the statistics of all components but the last."""
        return self.rows.statistics_by_share(x, as_share(share, len(as_float(x)))[:, :-1])

    def statistics_by_group(
        self, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> Any:
        """Return the statistics of groups of rows, of all components but the last."""
        rows, code = as_float(x), as_label(label, len(as_float(x)), k)
        own = code < k - 1
        weights = as_weight(weight, len(rows))[own]
        return self.rows.statistics_by_group(rows[own], code[own], k - 1, weights)

    def update(self, statistics: Any) -> WithBackground:
        """Return the posterior, in which the background is as it was."""
        rows: Any = self.rows
        return WithBackground(rows.update(statistics), self.background)

    def maximum_likelihood(self, statistics: Any) -> Alternatives:
        """Return the components of largest likelihood, and the background."""
        return Alternatives(self.rows.maximum_likelihood(statistics), self.background)

    def log_density_at(self, observation: Alternatives) -> Array:
        """Return the log density of the parameters of all components but the last."""
        return np.asarray(np.sum(self.rows.log_density_at(observation.rows)))

    def mean(self) -> Alternatives:
        """Return the components at their expected parameters, and the background."""
        rows: Any = self.rows
        return Alternatives(rows.mean(), self.background)

    def mode(self) -> Alternatives:
        """Return the components at their most probable parameters, and the background."""
        rows: Any = self.rows
        return Alternatives(rows.mode(), self.background)

    def sample(self, rng: np.random.Generator, n: int | None = None) -> Alternatives:
        """Return the components at drawn parameters, and the background."""
        rows: Any = self.rows
        return Alternatives(rows.sample(rng, n), self.background)

    def predictive(self) -> Alternatives:
        """Return the distribution of the next row of each component."""
        rows: Any = self.rows
        return Alternatives(rows.predictive(), self.background)

    def expected_log_density(self, x: ArrayLike) -> Array:
        """Return the mean of the log density of a row in each component, (..., K)."""
        value, rows = as_float(x), cast(Any, self.rows)
        own = self.rows.row_total(rows.expected_log_density(value))
        other = self.background.log_prob(value)
        shape = np.broadcast_shapes(own.shape[:-1], other.shape[:-1])
        return np.concatenate(
            [
                np.broadcast_to(own, (*shape, own.shape[-1])),
                np.broadcast_to(other, (*shape, 1)),
            ],
            axis=-1,
        )

    def kl(self, other: WithBackground) -> Array:
        """Return the divergence of ``other`` from this belief, in nats."""
        rows: Any = self.rows
        return np.asarray(np.sum(rows.kl(other.rows)))

    def component(self, c: int) -> Belief:
        """Return the belief about one of the components."""
        n = int(self.rows.batch_shape[0])
        return self.rows.component(c) if c < n else Known(self.background)


def _class_conditional(classes: Categorical, density: Distribution) -> ClassConditional:
    with np.errstate(divide="ignore"):
        return ClassConditional(np.log(classes.probability), density)


def _by_class(rows: Belief, n_classes: int) -> Belief:
    """Return a belief about rows with a leading axis of classes."""
    if rows.has_components:
        return rows
    shape = rows.batch_shape
    own = () if rows.is_joint else (shape[-1:] or (1,))
    leading = shape[: len(shape) - len(own)] if shape else ()
    if leading not in ((), (1,), (n_classes,)):
        raise ValueError(
            f"rows must be one belief, or one for each of {n_classes} classes along the first "
            f"axis; found batch shape {shape}. Give its parameters the shape "
            f"({n_classes}, n_features), or {(n_classes,)} for vectors."
        )
    return rows.spread((n_classes, *own))


class _ClassLast:
    """Statistics of rows whose last column is their class, which is how laws pass data."""

    def __init__(self, belief: Components) -> None:
        self.belief = belief

    def of(self, rows: Array, weight: ArrayLike = 1.0) -> ComponentStatistics:
        """Return the statistics of rows."""
        return self.belief.statistics_of(rows[:, :-1], rows[:, -1], weight)

    def by_group(
        self, rows: Array, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> tuple[ComponentStatistics, ...]:
        """Return the statistics of each group."""
        return self.belief.statistics_by_group(rows[:, :-1], rows[:, -1], label, k, weight)

    @staticmethod
    def read(function: Callable[[Array], Array], row: Array) -> Array:
        """Return a function of the columns, of the class that the row is in."""
        return function(row[:-1])[..., int(row[-1])]
