"""Naive Bayes classification: columns of any kind, independent in a class, integrated out.

Rows are summarized by additive statistics of each kind of column in each class; these give a
belief, and the belief the predictive of new rows. Both are products of families in components;
what stands here is how columns of text, of growing lists of categories and of sparse counts are
read into them.

Columns come from an array, a frame, or a sparse matrix. Each source can tell what its columns
are by nature, and give them as numbers, as counts, or as they are. Categories are counted by
the states that were seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Annotated, Any, Literal, Protocol, Self, cast, get_args

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special
from sklearn.utils import Tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from credo import families
from credo.distributions.categorical import Categorical, random_index
from credo.distributions.normal import Normal
from credo.distributions.parameter import positive
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.bernoulli import BernoulliStatistics, BetaBernoulli
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.component import Components, ComponentStatistics
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.families.product import Product, ProductStatistics
from credo.families.rows import as_rows, as_weight
from credo.inference.engine.diagnosis import Diagnosis
from credo.models.contract.classifier import DensityClassifier
from credo.models.contract.diagnosis import diagnose_classes
from credo.models.contract.inputs import (
    class_labels,
    generator,
    is_block,
    label_codes,
    require_choice,
    require_distinct_names,
    require_moderate,
    row_weight,
    validated,
)
from credo.numerics.array import Array, as_float, in_byte_order
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.lookup import ABSENT, places
from credo.numerics.parallel.threads import over_row_blocks
from credo.numerics.quotation import quote
from credo.numerics.special.class_score import (
    add_binary,
    add_polya,
    add_student_t,
    class_probability,
)
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "KINDS",
    "Category",
    "CategoryCount",
    "Draws",
    "Kind",
    "MixedBelief",
    "MixedPredictive",
    "MixedStatistics",
    "NaiveBayes",
    "Source",
    "TypedRows",
    "category_codes",
    "chosen_kinds",
    "log_arrangements",
    "maximum_likelihood",
    "require_mapping",
    "shares",
    "source_of",
    "typed_rows",
]


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


class NaiveBayes(DensityClassifier):
    """Naive Bayes that averages over its parameters instead of fixing them.

    ``p(class, x) = p(class) * product over columns of p(x_j | class)``. Every factor is a
    conjugate family with its parameters integrated out: Student-t for numbers, smoothed
    frequencies for truth values and categories, the Polya distribution for counts. Data
    become additive statistics in one pass; nothing else is kept.

    A missing value says nothing, at fit and at prediction, and so does a category never seen
    at fit. Counts are read together: a row with one missing count says nothing by its counts,
    and the number of words in a row is given, not modeled.

    Parameters
    ----------
    kinds
        "gaussian", "bernoulli", "categorical" or "counts" for all columns, or a mapping from
        column (name or position) to one of these. Columns not named are what their type says:
        truth values Bernoulli, text and categories categorical, other numbers Gaussian; a
        sparse matrix holds counts.
    inference
        "exact" for the integrated predictive, "map" for the most probable parameters, "ml"
        for plain counting; these can find a row impossible, which is then an error where all
        classes do.
    pseudo_count
        Imagined observations of each category, truth value and word in each class.
    class_pseudo_count
        Imagined rows of each class.
    normal_prior
        Belief about mean and variance of each Gaussian column in each class; if None, worth a
        hundredth of a row for the mean and two rows for the variance, in the units of the data.

    Attributes
    ----------
    classes_, kinds_
        Labels in rising order; kind of each column.
    statistics_, prior_, posterior_
        What is kept of the data, and what is believed without and with it.
    log_evidence_, evidence_method_, evidence_of_
        Log probability of X and y, parameters integrated out (NaN for "ml"); how; of what.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"dose": [1.0, 1.2, 3.1, 2.9], "site": ["a", "b", "b", "b"]})
    >>> model = NaiveBayes().fit(frame, ["well", "well", "ill", "ill"])
    >>> model.predict(pd.DataFrame({"dose": [1.1, None], "site": ["a", "b"]})).tolist()
    ['well', 'ill']
    """

    evidence_method_: str
    evidence_of_: str
    kinds_: Annotated[tuple[Kind, ...], Form("d")]
    log_evidence_: float
    posterior_: MixedBelief
    prior_: MixedBelief
    class_pseudo_count: Annotated[float, Form(low=SMALLEST)]
    pseudo_count: Annotated[float, Form(low=SMALLEST)]

    statistics_: MixedStatistics

    def __init__(
        self,
        kinds: str | Mapping[Any, str] | None = None,
        inference: str = "exact",
        pseudo_count: float = 1.0,
        class_pseudo_count: float = 1.0,
        normal_prior: NormalInverseGamma | None = None,
    ):
        self.kinds = kinds
        self.inference = inference
        self.pseudo_count = pseudo_count
        self.class_pseudo_count = class_pseudo_count
        self.normal_prior = normal_prior

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        prior = families.NormalInverseGamma(0.0, 0.1, 1.0, 1.0)
        return (
            cls(),
            cls(inference="map"),
            cls(inference="ml"),
            cls("categorical"),
            Example(cls("counts"), unit_free=False),
            Example(cls("counts", inference="map"), unit_free=False),
            Example(cls("counts", inference="ml"), unit_free=False),
            Example(cls(normal_prior=prior), unit_free=False),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        rows, codes, weight = self._read(X, y, sample_weight, is_first=True)
        return self._learn(self._summarized(rows, codes, weight))

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more chunk; the result equals a fit to all chunks together.

        The first chunk decides the kinds of columns, and the classes unless ``classes`` names
        them. Categories may be new in any chunk.
        """
        is_first = not hasattr(self, "statistics_")
        rows, codes, weight = self._read(X, y, sample_weight, is_first, classes)
        chunk = self._summarized(rows, codes, weight)
        return self._learn(chunk if is_first else self.statistics_ + chunk)

    def summarize_groups(
        self,
        X: ArrayLike,
        y: ArrayLike,
        label: ArrayLike,
        n_groups: int,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[MixedStatistics, ...]:
        """Return the statistics of each group of rows, in one pass.

        On a model that has seen no data yet this decides kinds and classes, after which
        `fit_statistics` can learn from any sum of groups.
        """
        is_first = not hasattr(self, "classes_")
        rows, codes, weight = self._read(X, y, sample_weight, is_first)
        k = len(self.classes_)
        by_group = np.asarray(label, dtype=np.intp) * k + codes
        parts = MixedStatistics.by_group(rows, by_group, n_groups * k, weight)
        return tuple(parts[i * k : (i + 1) * k] for i in range(n_groups))

    def fit_statistics(self, statistics: MixedStatistics) -> Self:
        """Learn from statistics alone, such as the sum of all folds but one."""
        check_is_fitted(self, "classes_")
        return self._learn(statistics)

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row, labels ``classes_``."""
        return Categorical(self.predict_proba(X), labels=self.classes_)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, parameters integrated out, shape (n, K)."""
        return self._classified(X)[0]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row, the first where several are."""
        best = self._classified(X)[1]
        return np.asarray(self.classes_[best])

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probability of each class, finite far below what floats can hold."""
        score = self._log_joint(self._typed(X))
        total = log_sum_exp(score, axis=1, keepdims=True)
        if np.isneginf(total).any():
            raise _impossible(int(np.argmin(total)))
        return np.asarray(score - total)

    def log_prob(self, X: ArrayLike) -> Array:
        """Return the log density of each row, classes summed out: low for unusual rows.

        Missing values are integrated out, so rows compare only with rows that have the same
        values present; counts are given their number in the row.
        """
        rows = self._typed(X)
        total = log_sum_exp(self._log_joint(rows), axis=1)
        return np.asarray(total + log_arrangements(rows.counts))

    def sample(
        self, n: int, random_state: Any = None, length: int | None = None
    ) -> tuple[Any, NDArray[Any]]:
        """Return ``n`` random rows and their classes, each from the predictive distribution.

        Parameters
        ----------
        length
            Number of words of a row, where columns are counts; the mean of the training rows
            if None.
        """
        check_is_fitted(self)
        known = self.statistics_
        if length is None:
            mean = known.words.counts.sum() / max(known.class_weight.sum(), 1.0)
            length = max(1, round(float(mean)))
        draws = self._predictive().sample(generator(random_state), n, length)
        names = getattr(self, "feature_names_in_", None)
        return draws.table(self.kinds_, self._states(), names), self.classes_[draws.classes]

    def diagnose(self) -> Diagnosis:
        """Return whether what was learned can be relied on, and why not."""
        check_is_fitted(self)
        n_own = 2.0 if "gaussian" in self.kinds_ else 1.0
        return diagnose_classes(self.statistics_.class_weight, n_own)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = self.kinds is None or isinstance(self.kinds, Mapping)
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self.kinds in (None, "counts")
        tags.input_tags.positive_only = self.kinds == "counts"
        # Counts tell only by their shares, which is not what numbers in general do.
        tags.classifier_tags.poor_score = self.kinds == "counts"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _read(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        is_first: bool,
        classes: ArrayLike | None = None,
    ) -> tuple[TypedRows, NDArray[np.intp], Array]:
        """Return rows by kind, codes of classes and weights; the first call decides kinds."""
        self._check_settings()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None; found rows without "
                "classes. Pass one label per row."
            )
        source = source_of(self, X, is_first)
        if is_first:
            names = getattr(self, "feature_names_in_", None)
            self.kinds_ = chosen_kinds(source, self.kinds, names)
        rows = typed_rows(source, self.kinds_)
        require_moderate("X", rows.numbers)
        if is_first and classes is None:
            weight = row_weight(sample_weight, rows.numbers)
        else:
            # A chunk of a stream may weigh nothing, a whole data set may not.
            weight = as_weight(1.0 if sample_weight is None else sample_weight, len(rows))
        return rows, self._codes(y, weight, is_first, classes), weight

    def _codes(
        self,
        y: ArrayLike,
        weight: Array,
        is_first: bool,
        classes: ArrayLike | None,
    ) -> NDArray[np.intp]:
        check_consistent_length(weight, y)
        if not is_first:
            return label_codes(y, self.classes_)
        self.classes_, codes = class_labels(y, weight, classes=classes)
        return codes

    def _classified(self, X: ArrayLike) -> tuple[Array, NDArray[np.intp]]:
        """Return class probabilities, and which is the largest."""
        probability, best, impossible = class_probability(self._log_joint(self._typed(X)))
        if impossible is not None:
            raise _impossible(impossible)
        return probability, best

    def _typed(self, X: ArrayLike) -> TypedRows:
        check_is_fitted(self)
        return typed_rows(source_of(self, X, is_first=False), self.kinds_)

    def _summarized(
        self, rows: TypedRows, codes: NDArray[np.intp], weight: Array
    ) -> MixedStatistics:
        return MixedStatistics.by_group(rows, codes, len(self.classes_), weight)

    def _learn(self, statistics: MixedStatistics) -> Self:
        prior = MixedBelief.prior(
            statistics, self.pseudo_count, self.class_pseudo_count, self.normal_prior
        )
        is_ml = self.inference == "ml"
        posterior, log_evidence = prior.learned(statistics)
        self.log_evidence_ = np.nan if is_ml else log_evidence
        self.evidence_method_ = "none" if is_ml else "exact"
        self.evidence_of_ = _subject(self.kinds_)
        self.statistics_ = statistics
        self.prior_, self.posterior_ = prior, posterior
        return self

    def _predictive(self) -> MixedPredictive:
        if self.inference == "ml":
            return maximum_likelihood(self.statistics_)
        if self.inference == "map":
            return self.posterior_.mode()
        return self.posterior_.predictive()

    def _log_joint(self, rows: TypedRows) -> Array:
        """Return the log probability of class and row; a column that never varied is silent."""
        is_flat = self.statistics_.numbers.pooled().is_constant()
        if self.normal_prior is None and is_flat.any():
            rows = replace(rows, numbers=np.where(is_flat, np.nan, rows.numbers))
        return self._predictive().log_joint(rows, self._states())

    def _states(self) -> tuple[NDArray[Any], ...]:
        return tuple(part.states for part in self.statistics_.categories)

    def _check_settings(self) -> None:
        require_choice("inference", self.inference, ("exact", "map", "ml"))
        require_mapping(self.kinds)
        for name in ("pseudo_count", "class_pseudo_count"):
            positive(name, getattr(self, name), "Smoothing needs imagined observations.")
        if not isinstance(self.normal_prior, NormalInverseGamma | None):
            raise TypeError(
                "normal_prior must be None or a NormalInverseGamma belief; found "
                f"{type(self.normal_prior).__name__}. Take one from credo.families."
            )


def _impossible(row: int) -> ValueError:
    return ValueError(
        "each row must be possible in some class; found log probability -inf in all classes "
        f"at row {row}. Use inference='exact', which rules nothing out."
    )


def _subject(kinds: tuple[str, ...]) -> str:
    """Return what the evidence is about; densities and probabilities do not compare."""
    if set(kinds) <= {"gaussian"}:
        return "X and y"
    runs = [(kind, len(list(run))) for kind, run in groupby(kinds)]
    return "X and y, X as " + ", ".join(f"{n} {kind}" for kind, n in runs)


@dataclass(frozen=True, eq=False)
class MixedBelief:
    """Belief about classes and their columns by kind; prior and posterior alike.

    It names the parts of `Components` of a `Product`, which know the rules of probability.

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

    def components(self, statistics: MixedStatistics) -> Components:
        """Return the same as a product of families in each class, for such statistics."""
        numbers, binary = statistics.n_columns
        parts: list[Belief] = [self.numbers] * (numbers > 0) + [self.binary] * (binary > 0)
        pairs = zip(self.categories, statistics.is_known, strict=True)
        columns = [part for part, is_known in pairs if is_known]
        columns += [] if self.words is None else [self.words]
        # A categorical column is one column, and the words of a row together are one.
        parts += [part[..., None] for part in columns]
        sizes = [n for n in (numbers, binary) if n] + [1] * len(columns)
        ends = np.cumsum([0, *sizes])
        return Components(
            self.classes, Product(parts, [range(*edge) for edge in pairwise(ends)])
        )

    def learned(self, statistics: MixedStatistics) -> tuple[MixedBelief, float]:
        """Return the posterior, and the log probability of rows and classes.

        The posterior has a leading axis of classes in all but ``classes``; the lengths of
        counts are given.
        """
        joint, seen = self.components(statistics), statistics.components()
        ordered = joint.log_evidence(seen)
        log_evidence = ordered + float(statistics.log_arrangements.sum())
        return self._named(joint.update(seen), statistics), log_evidence

    def _named(self, joint: Any, statistics: MixedStatistics) -> MixedBelief:
        """Return the parts of a product by their kinds; what has no columns has no part."""
        parts, k = iter(joint.rows.parts), len(statistics.class_weight)
        n_numbers, n_binary = statistics.n_columns
        numbers = next(parts) if n_numbers else self.numbers.spread((k, 0))
        binary = next(parts) if n_binary else self.binary.spread((k, 0))
        categories = tuple(
            next(parts)[..., 0] if is_known else part
            for part, is_known in zip(self.categories, statistics.is_known, strict=True)
        )
        words = None if self.words is None else next(parts)[..., 0]
        return MixedBelief(joint.classes, numbers, binary, categories, words)

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


FLOOR = 1e-9
"""Least variance of a column in a class, as a share of its variance in all rows."""


@dataclass(frozen=True, eq=False)
class MixedStatistics:
    """All that naive Bayes keeps of its data; ``a + b`` is the pooled sample.

    Attributes
    ----------
    class_weight
        Summed weight of the rows of each class, shape (K,).
    numbers, binary, categories, words
        Statistics of Gaussian, Bernoulli and categorical columns and of counts, by class.
    log_arrangements
        Weighted sum of the log number of orders in which the words of a row can stand, (K,).
    """

    class_weight: Annotated[Array, Form("k", 0.0)]
    numbers: NormalStatistics
    binary: BernoulliStatistics
    categories: tuple[CategoryCount, ...]
    words: CategoricalStatistics
    log_arrangements: Annotated[Array, Form("k")]

    @classmethod
    def by_group(
        cls, rows: TypedRows, label: NDArray[np.intp], k: int, weight: Array
    ) -> MixedStatistics:
        """Summarize each of ``k`` groups in one pass over the rows."""
        words, arranged = _word_counts(rows, label, k, weight)
        return cls(
            np.bincount(label, weight, k).astype(np.float64),
            NormalStatistics.by_group(rows.numbers, label, k, weight),
            BernoulliStatistics.by_group(rows.binary, label, k, weight),
            tuple(CategoryCount.by_group(c, label, k, weight) for c in rows.categories),
            words,
            arranged,
        )

    @property
    def is_known(self) -> tuple[bool, ...]:
        """Which categorical columns have states: one that was always missing has none."""
        return tuple(len(part.states) > 0 for part in self.categories)

    @property
    def n_columns(self) -> tuple[int, int]:
        """Number of Gaussian and of Bernoulli columns."""
        return self.numbers.weight.shape[-1], self.binary.successes.shape[-1]

    def components(self) -> ComponentStatistics:
        """Return the same as statistics of a product of families in each class."""
        numbers, binary = self.n_columns
        parts: list[Any] = [self.numbers] * (numbers > 0) + [self.binary] * (binary > 0)
        columns = [part.statistics for part in self.categories if len(part.states)]
        columns += [self.words] if self.words.counts.shape[-1] else []
        parts += [CategoricalStatistics(part.counts[..., None, :]) for part in columns]
        return ComponentStatistics(
            CategoricalStatistics(self.class_weight), ProductStatistics(tuple(parts))
        )

    def __add__(self, other: MixedStatistics) -> MixedStatistics:
        return MixedStatistics(
            self.class_weight + other.class_weight,
            self.numbers + other.numbers,
            self.binary + other.binary,
            tuple(a + b for a, b in zip(self.categories, other.categories, strict=True)),
            self.words + other.words,
            self.log_arrangements + other.log_arrangements,
        )

    def __getitem__(self, groups: Any) -> MixedStatistics:
        """Return the statistics of some groups."""
        return MixedStatistics(
            self.class_weight[groups],
            self.numbers[groups],
            self.binary[groups],
            tuple(part[groups] for part in self.categories),
            self.words[groups],
            self.log_arrangements[groups],
        )


def _word_counts(
    rows: TypedRows, label: NDArray[np.intp], k: int, weight: Array
) -> tuple[CategoricalStatistics, Array]:
    """Return word counts and log arrangements by group; rows with a gap have no weight."""
    if rows.counts.shape[1] == 0:
        return CategoricalStatistics(np.zeros((k, 0))), np.zeros(k)
    kept = np.where(rows.is_counted, weight, 0.0)
    member = sparse.csr_array((kept, (label, np.arange(len(rows)))), shape=(k, len(rows)))
    arranged = np.bincount(label, kept * log_arrangements(rows.counts), k)
    words = CategoricalStatistics((member @ rows.counts).toarray())
    return words, arranged.astype(np.float64)


def maximum_likelihood(statistics: MixedStatistics) -> MixedPredictive:
    """Return the distribution at the observed frequencies, means and variances.

    Where nothing was seen of a class, shares are even and numbers as in all rows; a variance
    is at least `FLOOR` of the pooled one.
    """
    binary, numbers, pooled = statistics.binary, statistics.numbers, statistics.numbers.pooled()
    usual = pooled.usual_variance()
    variance = np.where(numbers.weight > 0, numbers.variance(), usual)
    floored = np.maximum(variance, np.where(pooled.is_constant(), 1.0, FLOOR) * usual)
    return MixedPredictive(
        shares(statistics.class_weight),
        Normal(np.where(numbers.weight > 0, numbers.mean, pooled.mean), np.sqrt(floored)),
        shares(np.stack([binary.successes, binary.failures], axis=-1))[..., 0],
        tuple(shares(part.statistics.counts) for part in statistics.categories),
        shares(statistics.words.counts) if statistics.words.counts.shape[-1] else None,
    )


Kind = Literal["gaussian", "bernoulli", "categorical", "counts"]

_BY_CONTENT: dict[str, Kind] = {
    "boolean": "bernoulli",
    "integer": "gaussian",
    "floating": "gaussian",
    "mixed-integer-float": "gaussian",
    "decimal": "gaussian",
    "empty": "categorical",
    "string": "categorical",
    "categorical": "categorical",
}


@dataclass(frozen=True, eq=False)
class Category:
    """A column of labels as it came, and the labels that its type declares beforehand."""

    values: Any
    declared: NDArray[Any]


class Source(Protocol):
    """A table that can be read by column."""

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""

    def category(self, column: int) -> Category:
        """Return a column of labels."""

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Columns of a NumPy array of two dimensions, of one type or of Python objects."""

    x: NDArray[Any]

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""
        if self.x.dtype.kind == "O":
            return tuple(_kind_by_content(column, i) for i, column in enumerate(self.x.T))
        if self.x.dtype.kind in "US":
            return _repeated("categorical", self.x.shape[1])
        kind: Kind = "bernoulli" if self.x.dtype.kind == "b" else "gaussian"
        return _repeated(kind, self.x.shape[1])

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""
        is_all = len(columns) == self.x.shape[1]
        chosen = self.x if is_all else self.x[:, list(columns)]
        if chosen.dtype.kind not in "OUS":
            return as_float(chosen)
        return _stacked([_floats(self.x[:, i], i) for i in columns], len(self.x))

    def category(self, column: int) -> Category:
        """Return a column of labels."""
        return Category(self.x[:, column], np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        return sparse.csr_array(self.numbers(columns))


@dataclass(frozen=True, eq=False)
class FrameSource:
    """Columns of a pandas or polars frame, each of its own type."""

    frame: nw.DataFrame[Any]

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature."""
        return tuple(self._kind(i) for i in range(self.frame.shape[1]))

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return columns as floats, NaN where missing, shape (n, len(columns))."""
        series = [self.frame[:, i] for i in columns]
        return _stacked([_floats(s.to_numpy(), s.name) for s in series], len(self.frame))

    def category(self, column: int) -> Category:
        """Return a column of labels, with those that its type declares."""
        series = self.frame[:, column]
        native = series.to_native()
        if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
            return Category(native.to_numpy(), native.cat.categories.to_numpy())
        if isinstance(series.dtype, nw.Enum):
            return Category(series.to_numpy(), np.array(series.dtype.categories, dtype=object))
        return Category(series.to_numpy(), np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        return sparse.csr_array(self.numbers(columns))

    def _kind(self, column: int) -> Kind:
        series = self.frame[:, column]
        if series.dtype.is_numeric():
            return "gaussian"
        if series.dtype == nw.Boolean:
            return "bernoulli"
        if series.dtype in (nw.String, nw.Categorical, nw.Enum):
            return "categorical"
        return _kind_by_content(series.to_numpy(), series.name)


@dataclass(frozen=True, eq=False)
class SparseSource:
    """Columns of a compressed sparse matrix, such as the counts of words."""

    x: sparse.csr_array

    def kinds(self) -> tuple[Kind, ...]:
        """Return what each column is by nature: counts."""
        return _repeated("counts", self.x.shape[1])

    def numbers(self, columns: Sequence[int]) -> Array:
        """Return no columns; a sparse matrix is never filled up."""
        if columns:
            raise ValueError(
                f"columns of a sparse matrix must be counts; found {len(columns)} columns of "
                "another kind. Pass X.toarray(), or leave kinds to the data."
            )
        return np.empty((self.x.shape[0], 0))

    def category(self, column: int) -> Category:
        """Return a column of labels, which a sparse matrix does not have."""
        return Category(self.numbers([column]), np.empty(0))

    def counts(self, columns: Sequence[int]) -> sparse.csr_array:
        """Return columns of counts, shape (n, len(columns))."""
        is_all = len(columns) == self.x.shape[1]
        chosen = self.x if is_all else self.x[:, list(columns)]
        if (chosen.data == 0).any():
            chosen = chosen.copy()
            chosen.eliminate_zeros()
        return sparse.csr_array(chosen)


def source_of(estimator: Any, X: Any, is_first: bool) -> Source:
    """Return the table that ``X`` is; shape and names are checked, and kept if it is first."""
    if sparse.issparse(X):
        x = validated(
            estimator,
            X,
            reset=is_first,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite="allow-nan",
        )
        return SparseSource(sparse.csr_array(x))
    if nw.dependencies.is_into_dataframe(X):
        require_distinct_names(X)
        frame = nw.from_native(X, eager_only=True)
        if 0 in frame.shape:
            raise ValueError(
                f"X must have at least one row and one column; found shape {frame.shape}. "
                "Check how the table was read or filtered."
            )
        validated(estimator, X, reset=is_first, skip_check_array=True)
        return ArraySource(X.to_numpy()) if is_block(X) else FrameSource(frame)
    # Statistics and scores refuse infinity themselves, so that no extra pass is needed.
    x = validated(estimator, X, reset=is_first, dtype=None, ensure_all_finite=False)
    return ArraySource(x)


def _repeated(kind: Kind, n: int) -> tuple[Kind, ...]:
    return tuple(kind for _ in range(n))


def _kind_by_content(values: Any, name: Any) -> Kind:
    """Return the kind of a column of Python objects, from what they are."""
    content = pd.api.types.infer_dtype(values, skipna=True)
    if content in _BY_CONTENT:
        return _BY_CONTENT[content]
    strange = {type(v).__name__ for v in values if not isinstance(v, str | float | int | None)}
    if content not in ("mixed", "mixed-integer") or strange:
        raise TypeError(
            "each argument must be a string or a number, a truth value or a category; found "
            f"{content} values {sorted(strange)[:3]} in column {quote(name)}. Turn them into "
            "numbers or text."
        )
    return "categorical"


def _floats(values: NDArray[Any], name: Any) -> Array:
    """Return a column as floats, NaN where missing."""
    if values.dtype.kind in "biuf":
        return as_float(values)
    is_missing = np.asarray(pd.isna(values))
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~is_missing] = values[~is_missing].astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"column {quote(name)} must hold numbers, as it did at the first fit or as kinds "
            f"says; found {error}. Turn it into numbers, or name it 'categorical' in kinds."
        ) from error
    return numbers


def _stacked(columns: list[Array], n_rows: int) -> Array:
    table = np.empty((n_rows, len(columns)))
    for i, column in enumerate(columns):
        table[:, i] = column
    return table


KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, eq=False)
class TypedRows:
    """Rows by the kind of their columns, in the order of the columns.

    Attributes
    ----------
    numbers, binary
        Gaussian and Bernoulli columns, floats with NaN where missing.
    categories
        Categorical columns as they came.
    counts
        Columns of counts; ``is_counted`` is False for rows with a missing count.
    """

    numbers: Array
    binary: Array
    categories: tuple[Category, ...]
    counts: sparse.csr_array
    is_counted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)


def chosen_kinds(source: Source, kinds: Any, names: NDArray[Any] | None) -> tuple[Kind, ...]:
    """Return the kind of each column: what the user says, else what the column is by nature.

    Parameters
    ----------
    kinds
        None, one kind for all columns, or a mapping from name or position to kind.
    names
        Names of the columns, if they have any.
    """
    if isinstance(kinds, str):
        require_choice("kinds", kinds, KINDS)
        return (cast(Kind, kinds),) * len(source.kinds())
    found = list(source.kinds())
    for column, kind in (kinds or {}).items():
        require_choice(f"kinds[{column!r}]", kind, KINDS)
        found[_position(column, names, len(found))] = kind
    return tuple(found)


def typed_rows(source: Source, kinds: Sequence[Kind]) -> TypedRows:
    """Return rows by kind; counts must not be negative."""
    places = {kind: [i for i, k in enumerate(kinds) if k == kind] for kind in KINDS}
    numbers = source.numbers(places["gaussian"])
    counts = source.counts(places["counts"])
    is_counted = np.ones(len(numbers), dtype=bool)
    if np.isnan(counts.data).any():
        with_gap = np.repeat(np.arange(len(numbers)), np.diff(counts.indptr))
        is_counted[with_gap[np.isnan(counts.data)]] = False
        counts = sparse.csr_array(counts.multiply(is_counted[:, None]))
        counts.data[np.isnan(counts.data)] = 0.0
        counts.eliminate_zeros()
    _require_counts(counts.data)
    return TypedRows(
        numbers,
        source.numbers(places["bernoulli"]),
        tuple(source.category(i) for i in places["categorical"]),
        counts,
        is_counted,
    )


def require_mapping(kinds: Any) -> None:
    """Refuse kinds that are neither absent, nor one kind, nor a mapping."""
    if not (kinds is None or isinstance(kinds, str | Mapping)):
        raise TypeError(
            "kinds must be None, one kind for all columns, or a mapping from columns to kinds; "
            f"found {type(kinds).__name__}. Pass a dict such as {{'age': 'gaussian'}}."
        )


def _position(column: Any, names: NDArray[Any] | None, n_columns: int) -> int:
    if isinstance(column, str) and names is not None and column in names:
        return int(np.flatnonzero(names == column)[0])
    if isinstance(column, int | np.integer) and 0 <= column < n_columns:
        return int(column)
    known = f"0 to {n_columns - 1}" if names is None else quote(names[:8].tolist())
    raise ValueError(
        f"kinds must name columns of X, {known}; found {quote(column)}. Use the name of a "
        "column of a frame, or its position."
    )


def _require_counts(values: Array) -> None:
    if ((values < 0) | np.isinf(values)).any():
        raise ValueError(
            "counts must be non-negative and finite; found Negative values in data or "
            f"infinity, such as {values.min():g}. Choose another kind for columns that are no "
            "counts."
        )


@dataclass(frozen=True, eq=False)
class CategoryCount:
    """Weight of each category in each group.

    Attributes
    ----------
    states
        Categories in rising order, all text or all numbers, shape (S,).
    statistics
        Their weights, counts of shape (n_groups, S).
    """

    states: Annotated[NDArray[Any], Form("m", is_rising=True)]
    statistics: CategoricalStatistics = field(repr=False)

    @classmethod
    def by_group(
        cls, column: Category, label: NDArray[np.intp], k: int, weight: Array
    ) -> CategoryCount:
        """Count the categories of each of ``k`` groups; missing values carry no weight."""
        codes, found = _numbered(column)
        names = _labels(found)
        # A category that only rows without weight hold is not known.
        is_held = np.bincount(codes[(codes >= 0) & (weight > 0)], minlength=len(names)) > 0
        states = _union(np.unique(names[is_held]), np.unique(_labels(column.declared)))
        code = _placed(codes, names, states)
        counts = CategoricalStatistics.by_group(
            code[:, None], label, k, weight, n_states=max(len(states), 1)
        )
        return cls(states, CategoricalStatistics(counts.counts[:, 0, : len(states)]))

    def __add__(self, other: CategoryCount) -> CategoryCount:
        states = _union(self.states, other.states)
        return CategoryCount(
            states, self._spread(states).statistics + other._spread(states).statistics
        )

    def __sub__(self, other: CategoryCount) -> CategoryCount:
        states = _union(self.states, other.states)
        return CategoryCount(
            states, self._spread(states).statistics - other._spread(states).statistics
        )

    def __getitem__(self, index: Any) -> CategoryCount:
        return CategoryCount(self.states, self.statistics[index])

    def _spread(self, states: NDArray[Any]) -> CategoryCount:
        counts = np.zeros((len(self.statistics.counts), len(states)))
        counts[:, np.searchsorted(states, self.states)] = self.statistics.counts
        return CategoryCount(states, CategoricalStatistics(counts))


def category_codes(column: Category, states: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each value among the states; -1 if missing or none of them."""
    codes, found = _numbered(column)
    place = _placed(codes, _labels(found), states)
    return np.where(np.isnan(place), -1, place).astype(np.intp)


def _numbered(column: Category) -> tuple[NDArray[np.intp], Any]:
    """Return the number of each row's label, -1 where it is missing, and the labels."""
    values = column.values
    is_plain = isinstance(values, np.ndarray)
    return pd.factorize(in_byte_order(values) if is_plain else values)


def _placed(codes: NDArray[np.intp], found: NDArray[Any], states: NDArray[Any]) -> Array:
    """Return places among the states as floats, NaN where there is none."""
    if len(found) == 0 or len(states) == 0:
        return np.full(len(codes), np.nan)
    _require_same_type(found, states)
    place = places(found, states)
    known = np.where(place == ABSENT, np.nan, place)
    # Missing values have the code -1 and take the NaN at the end.
    return np.append(known, np.nan)[codes]


def _labels(values: Any) -> NDArray[Any]:
    """Return labels as floats if all are numbers, else as text."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf" or all(isinstance(v, int | float | np.number) for v in array):
        return array.astype(np.float64)
    return array.astype(str)


def _union(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    if not (len(a) and len(b)):
        return a if len(a) else b
    _require_same_type(b, a)
    return np.union1d(a, b)


def _require_same_type(found: NDArray[Any], states: NDArray[Any]) -> None:
    if (found.dtype.kind == "U") != (states.dtype.kind == "U"):
        raise ValueError(
            "categories of a column must stay all text or all numbers; found "
            f"{quote(found[:3].tolist())} where {quote(states[:3].tolist())} were learned. "
            "Turn the column into the type it had."
        )
