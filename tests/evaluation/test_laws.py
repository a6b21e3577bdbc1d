"""Every class of the rooms obeys the laws, and the laws catch classes that do not."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import credo.distributions
import credo.families
from credo import distributions as d
from credo import families as f
from credo.evaluation import laws

RNG = np.random.default_rng(0)
SPREAD = np.array([[2.0, 0.6], [0.6, 1.0]])


def distribution_examples() -> dict[str, tuple[Any, Any]]:
    """Return, for each class by name, one instance and another member of its family."""
    draws = np.random.default_rng(0).integers(0, 9, size=(30, 2))
    return {
        "Bernoulli": (d.Bernoulli([0.3, 0.8]), d.Bernoulli(0.5)),
        "Beta": (d.Beta([2.0, 0.8], 3.0), d.Beta(1.0, 1.5)),
        "Binomial": (d.Binomial([5, 12], 0.3), d.Binomial([5, 12], 0.6)),
        "Categorical": (
            d.Categorical([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]),
            d.Categorical([0.4, 0.4, 0.2]),
        ),
        "Dirichlet": (d.Dirichlet([[2.0, 1.5, 3.0]]), d.Dirichlet([1.0, 1.0, 1.0])),
        "Empirical": (d.Empirical(draws), None),
        "Exponential": (d.Exponential([0.5, 4.0]), d.Exponential(1.0)),
        "Gamma": (d.Gamma([0.7, 3.0], 2.0), d.Gamma(1.0, 1.0)),
        "InverseGamma": (d.InverseGamma([5.5, 7.0], 2.0), d.InverseGamma(3.0, 1.0)),
        "InverseWishart": (d.InverseWishart(9.0, SPREAD), d.InverseWishart(7.0, np.eye(2))),
        "Laplace": (d.Laplace([0.0, 1.0], 2.0), d.Laplace(0.5, 1.0)),
        "Lomax": (d.Lomax([5.0, 6.0], 2.0), None),
        "Mixture": (
            d.Mixture([0.3, 0.7], (d.Normal([-1.0, 0.0], 1.0), d.Normal(3.0, 0.5))),
            None,
        ),
        "Multinomial": (
            d.Multinomial(4, [[0.2, 0.5, 0.3]]),
            d.Multinomial(4, [[0.4, 0.4, 0.2]]),
        ),
        "MultivariateNormal": (
            d.MultivariateNormal([[0.0, 1.0], [2.0, 0.0]], SPREAD),
            d.MultivariateNormal([0.0, 0.0], np.eye(2)),
        ),
        "MultivariateStudentT": (d.MultivariateStudentT(7.0, [0.0, 1.0], SPREAD), None),
        "NegativeBinomial": (
            d.NegativeBinomial([0.8, 3.0], 0.3),
            d.NegativeBinomial([0.8, 3.0], 0.5),
        ),
        "Normal": (d.Normal([0.0, 1.0], 2.0), d.Normal(1.0, 1.0)),
        "Poisson": (d.Poisson([0.5, 7.0]), d.Poisson(2.0)),
        "Predictive": (
            d.Predictive(d.Normal([0.0, 1.0], 5.0), 3.0, 4.0),
            d.Predictive(d.Normal(1.0, 1.0), 0.6, 0.8),
        ),
        "StudentT": (d.StudentT([6.0, 9.0], 1.0, 2.0), None),
        "Uniform": (d.Uniform([0.0, 1.0], 3.0), d.Uniform(-1.0, 4.0)),
        "Wishart": (d.Wishart(5.0, SPREAD), d.Wishart(4.0, np.eye(2))),
    }


@dataclass(frozen=True)
class TiedRows:
    """Statistics of rows whose last column is their group."""

    @staticmethod
    def of(rows, weight=1.0):
        groups = rows[:, -1].astype(int)
        return f.MultivariateNormalStatistics.by_group(rows[:, :-1], groups, 2, weight)


@dataclass(frozen=True)
class LinearRows:
    """Statistics of rows whose last column is their output; a column of ones is put first."""

    @staticmethod
    def of(rows, weight=1.0):
        return f.LinearStatistics.of(with_ones(rows), rows[:, -1], weight)

    @staticmethod
    def by_group(rows, label, k, weight=1.0):
        return f.LinearStatistics.by_group(with_ones(rows), rows[:, -1], label, k, weight)


def with_ones(rows):
    return np.hstack([np.ones((len(rows), 1)), rows[:, :-1]])


def read_output(function, row):
    return np.squeeze(function(with_ones(row[None])[0], row[-1]))


def read_group(function, row):
    return function(row[:-1])[..., int(row[-1])]


REAL = RNG.normal(size=(7, 2)) @ SPREAD
GROUPED = np.column_stack([REAL, [0, 1, 0, 0, 1, 1, 0]])
BINARY = np.array([[0, 1], [1, 1], [1, 0], [0, 1], [1, 0], [1, 1], [0, 0]], dtype=float)
CODES = np.array([[0, 2], [1, 1], [2, 0], [0, 1], [1, 2], [1, 1], [2, 0]], dtype=float)
COUNTS = np.array([[0, 4], [3, 1], [2, 7], [0, 5], [1, 2], [1, 9], [2, 3]], dtype=float)
STATES = {"n_states": 3}

FAMILIES = {
    "BetaBernoulli": (f.BetaBernoulli(1.5, [2.0, 0.7]), f.BernoulliStatistics, BINARY, {}),
    "DirichletCategorical": (
        f.DirichletCategorical([0.5, 1.0, 2.5]),
        f.CategoricalStatistics,
        CODES,
        {"settings": STATES},
    ),
    "GammaPoisson": (f.GammaPoisson(2.5, [1.3, 0.2]), f.PoissonStatistics, COUNTS, {}),
    "GammaExponential": (
        f.GammaExponential([2.5, 3.0], 1.3),
        f.ExponentialStatistics,
        np.abs(REAL),
        {},
    ),
    "NormalKnownVariance": (
        f.NormalKnownVariance(0.3, 0.7, [2.0, 1.0]),
        f.NormalStatistics,
        REAL,
        {"maximum_likelihood": False},
    ),
    "NormalInverseGamma": (
        f.NormalInverseGamma([0.3, -1.0], 0.7, 1.5, 2.0),
        f.NormalStatistics,
        REAL,
        {},
    ),
    "SphericalNormalInverseGamma": (
        f.SphericalNormalInverseGamma([0.3, -1.0], [0.7, 1.1], 1.5, 2.0),
        f.NormalStatistics,
        REAL,
        {"maximum_likelihood": False},
    ),
    "NormalInverseWishart": (
        f.NormalInverseWishart([0.3, -1.0], 0.7, 4.5, SPREAD),
        f.MultivariateNormalStatistics,
        REAL,
        {},
    ),
    "TiedNormalInverseWishart": (
        f.TiedNormalInverseWishart([[0.3, -1.0], [0.0, 0.5]], [0.7, 1.1], 4.5, SPREAD),
        TiedRows,
        GROUPED,
        {"read": read_group, "maximum_likelihood": False},
    ),
}
FAMILIES |= {
    "LinearGaussianBelief": (
        f.LinearGaussianBelief(np.array([0.4, -0.3]), SPREAD, 2.5),
        LinearRows,
        REAL,
        {"read": read_output, "maximum_likelihood": False},
    ),
    "LinearGaussianGamma": (
        f.LinearGaussianGamma(np.array([0.4, -0.3]), SPREAD, d.Gamma(3.0, 2.0)),
        LinearRows,
        REAL,
        {"read": read_output},
    ),
}
STATISTICS = {
    "BernoulliStatistics": (f.BernoulliStatistics, BINARY, {}),
    "CategoricalStatistics": (f.CategoricalStatistics, CODES, STATES),
    "PoissonStatistics": (f.PoissonStatistics, COUNTS, {}),
    "ExponentialStatistics": (f.ExponentialStatistics, np.abs(REAL), {}),
    "NormalStatistics": (f.NormalStatistics, REAL, {}),
    "MultivariateNormalStatistics": (f.MultivariateNormalStatistics, REAL, {}),
    "LinearStatistics": (LinearRows, REAL, {}),
}


def classes(room, is_kind):
    found = [name for name in room.__all__ if is_kind(getattr(room, name))]
    assert found, f"no classes found in {room.__name__}"
    return found


def is_distribution(kind):
    return (
        inspect.isclass(kind)
        and issubclass(kind, d.Distribution)
        and not inspect.isabstract(kind)
    )


def is_belief(kind):
    return inspect.isclass(kind) and hasattr(kind, "update") and hasattr(kind, "log_evidence")


def is_statistics(kind):
    return inspect.isclass(kind) and hasattr(kind, "of") and hasattr(kind, "__sub__")


@pytest.mark.parametrize("name", classes(credo.distributions, is_distribution))
def test_every_distribution_of_the_room_obeys_the_laws(name):
    examples = distribution_examples()
    assert name in examples, f"give {name} an example in {__name__}"
    subject, other = examples[name]
    run = laws.check_distribution(subject, np.random.default_rng(0), other)
    assert "entropy_is_the_mean_of_minus_log_prob" in run
    if isinstance(subject, d.Univariate):
        assert "crps_is_the_integrated_squared_error_of_cdf" in run
        assert "nothing_lies_beyond_the_support" in run
    if other is not None:
        assert "kl_is_an_expected_log_ratio" in run


@pytest.mark.parametrize("name", classes(credo.families, is_belief))
def test_every_belief_of_the_room_obeys_the_laws(name):
    assert name in FAMILIES, f"give {name} an example in {__name__}"
    prior, statistics, rows, options = FAMILIES[name]
    run = laws.check_family(prior, statistics, rows, **options)
    assert {
        "evidence_is_the_product_of_predictives",
        "evidence_is_fit_minus_divergence",
        "much_data_overrules_the_prior",
    } <= set(run)


@pytest.mark.parametrize("name", sorted({*classes(credo.families, is_statistics), *STATISTICS}))
def test_every_statistics_of_the_room_obeys_the_laws(name):
    assert name in STATISTICS, f"give {name} an example in {__name__}"
    statistics, rows, options = STATISTICS[name]
    run = laws.check_statistics(statistics, rows, options)
    refuses_missing = name in {"MultivariateNormalStatistics", "LinearStatistics"}
    assert ("missing_is_absent" in run) is not refuses_missing
    assert "groups_are_separate" in run


NUMBERS = {
    "BetaBernoulli": st.integers(0, 1),
    "DirichletCategorical": st.integers(0, 2),
    "GammaPoisson": st.integers(0, 1000),
    "GammaExponential": st.floats(0, 100, allow_subnormal=False),
}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"TiedNormalInverseWishart"}))
def test_laws_that_are_exact_hold_for_arbitrary_rows(name, data):
    prior, statistics, _, options = FAMILIES[name]
    elements = NUMBERS.get(name, st.floats(-100, 100, allow_subnormal=False))
    shape = (data.draw(st.integers(6, 12)), 2)
    rows = data.draw(arrays(float, shape, elements=elements.map(float)))
    laws.check_family(prior, statistics, rows, **options, n_draws=0)


class UpsideDownNormal(d.Normal):
    """A density that grows towards the tails."""

    def log_prob(self, x):
        return 2 * super().log_prob(self.loc) - super().log_prob(x)


class NormalWithForeignCdf(d.Normal):
    """A distribution function with the wrong scale."""

    def cdf(self, x):
        return d.Normal(self.loc, 1.1 * self.scale).cdf(x)


class NormalWithoutSquare(d.Normal):
    """A variance that is a standard deviation."""

    def variance(self):
        return self._full(self.scale)


class NormalWithNarrowDraws(d.Normal):
    """Draws that are too close to the center."""

    def _draw(self, rng, shape):
        return 0.9 * super()._draw(rng, shape)


class NormalWithNegativeEntropy(d.Normal):
    """An entropy with the wrong sign."""

    def entropy(self):
        return -super().entropy()


class NormalWithWrongMode(d.Normal):
    """A mode beside the peak."""

    def mode(self):
        return self.loc + self.scale


class NormalWithReversedKl(d.Normal):
    """A divergence with its arguments exchanged."""

    def _kl(self, other):
        return d.Normal(other.loc, other.scale).kl(d.Normal(self.loc, self.scale))


class NormalWithHalfCrps(d.Normal):
    """A score without its second term."""

    def crps(self, y):
        return self.expected_distance(y)


class NormalWithoutEnds(d.Normal):
    """A density that is unknown at infinity."""

    def log_prob(self, x):
        return np.where(np.isinf(x), np.nan, super().log_prob(x))


class UniformThatLeaks(d.Uniform):
    """A distribution function that goes on beyond the support."""

    def cdf(self, x):
        return np.where(np.isinf(x), super().cdf(x), (x - self.low) / (self.high - self.low))


class NormalWithWideInterval(d.Normal):
    """An interval of more than its coverage."""

    def interval(self, coverage=0.9):
        return 1.2 * super().interval(coverage)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (UpsideDownNormal, "the density integrates to one"),
        (NormalWithForeignCdf, "the slope of cdf is the density"),
        (NormalWithoutSquare, r"variance\(\) is the second moment"),
        (NormalWithNarrowDraws, r"draws average|squared deviations"),
        (NormalWithNegativeEntropy, "entropy is the mean of -log_prob"),
        (NormalWithWrongMode, r"no outcome beats mode\(\)"),
        (NormalWithReversedKl, "kl is the expected log ratio"),
        (NormalWithHalfCrps, "crps is the integrated squared error"),
        (NormalWithoutEnds, "nothing lies beyond the support"),
        (NormalWithWideInterval, r"interval\(0.5\) covers 0.5"),
    ],
)
def test_a_broken_distribution_is_caught(broken, law):
    subject, other = broken([0.5, 1.0], 2.0), broken(1.0, 1.0)
    with pytest.raises(laws.LawBroken, match=f"law broken: {law}.*Expected .*; found "):
        laws.check_distribution(subject, np.random.default_rng(0), other)


def test_a_distribution_function_that_leaves_the_support_is_caught():
    with pytest.raises(laws.LawBroken, match="nothing lies beyond the support"):
        laws.check_distribution(UniformThatLeaks([0.0, 1.0], 3.0), np.random.default_rng(0))


class WeightForgotten(f.NormalStatistics):
    """Statistics that ignore weights."""

    @classmethod
    def of(cls, x, weight=1.0):
        plain = f.NormalStatistics.of(x)
        return cls(plain.weight, plain.mean, plain.scatter)


class BetweenForgotten(f.NormalStatistics):
    """A sum that forgets the scatter between the two means."""

    def __add__(self, other):
        right = super().__add__(other)
        return replace(right, scatter=self.scatter + other.scatter)


class MissingIsZero(f.NormalStatistics):
    """Statistics that take a missing value for zero."""

    @classmethod
    def of(cls, x, weight=1.0):
        return f.NormalStatistics.of(np.nan_to_num(x), weight)


class GroupsMixed(f.NormalStatistics):
    """Groups that lose their last row."""

    @classmethod
    def by_group(cls, x, label, k, weight=1.0):
        return f.NormalStatistics.by_group(x[:-1], label[:-1], k, weight[:-1])


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (WeightForgotten, "statistics of pooled rows|a weight of two is the row twice"),
        (BetweenForgotten, "statistics of pooled rows are the sum"),
        (MissingIsZero, "a missing value is an absent value"),
        (GroupsMixed, "by_group equals one summary per group"),
    ],
)
def test_broken_statistics_are_caught(broken, law):
    with pytest.raises(laws.LawBroken, match=law):
        laws.check_statistics(broken, REAL)


class NarrowPredictive(f.NormalInverseGamma):
    """A predictive that forgets that the mean is unknown."""

    def predictive(self):
        return d.StudentT(2 * self.shape, self.location, np.sqrt(self.rate / self.shape))

    def update(self, statistics):
        return NarrowPredictive(*vars_of(super().update(statistics)))


class NegativeKl(f.NormalInverseGamma):
    """A divergence with the wrong sign."""

    def kl(self, other):
        return -super().kl(other)

    def update(self, statistics):
        return NegativeKl(*vars_of(super().update(statistics)))


class CountedTwice(f.NormalInverseGamma):
    """An update that gives the prior the weight of the data."""

    def update(self, statistics):
        return CountedTwice(*vars_of(super().update(statistics + statistics)))


class WrongMode(f.NormalInverseGamma):
    """A mode with the wrong denominator."""

    def mode(self):
        return d.Normal(self.location, np.sqrt(self.rate / (0.5 * self.shape)))

    def update(self, statistics):
        return WrongMode(*vars_of(super().update(statistics)))


class FixedDraws(f.NormalInverseGamma):
    """Draws that do not vary with the belief."""

    def sample(self, rng, n=None):
        return d.Normal(rng.normal(size=(n or 1, 2)), 1.0)

    def update(self, statistics):
        return FixedDraws(*vars_of(super().update(statistics)))


class LostType(f.NormalInverseGamma):
    """A posterior of another type than its prior."""


def vars_of(belief):
    return belief.location, belief.strength, belief.shape, belief.rate


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (NarrowPredictive, "evidence is the product of one-step predictives"),
        (NegativeKl, "evidence is expected log likelihood minus divergence"),
        (CountedTwice, "evidence is the product of one-step predictives"),
        (WrongMode, r"with plenty of data mode\(\)"),
        (FixedDraws, "the predictive is the average"),
        (LostType, "prior and posterior are one type"),
    ],
)
def test_a_broken_belief_is_caught(broken, law):
    with pytest.raises(laws.LawBroken, match=law):
        laws.check_family(broken([0.3, -1.0], 0.7, 1.5, 2.0), f.NormalStatistics, REAL)


class FirstRowCounts(LinearRegression):
    """A fit that takes its intercept from the first row."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ = self.intercept_ + 0.01 * np.asarray(y)[0]
        return self


class ForgetfulStream(GaussianNB):
    """A stream that keeps the last chunk only."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        keep = getattr(self, "classes_", classes)
        return self._partial_fit(X, y, keep, _refit=True, sample_weight=sample_weight)


class BoastfulRegression(LinearRegression):
    """Intervals that are not those of the predictive distribution."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.scale_ = np.sqrt(np.average((y - self.predict(X)) ** 2, weights=sample_weight))
        return self

    def predict_dist(self, X):
        return d.Normal(self.predict(X), self.scale_)

    def predict_interval(self, X, coverage=0.9):
        return self.predict_dist(X).interval(0.5 * coverage)


class Deaf(LinearRegression):
    """A fit that does not listen to weights."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


class Eager(LinearRegression):
    """A constructor that sets more than its arguments."""

    def __init__(self):
        super().__init__()
        self.is_ready = True


class NamesMatter(LinearRegression):
    """Predictions that depend on the kind of table."""

    def predict(self, X):
        return super().predict(X) + (0.1 if hasattr(X, "iloc") else 0.0)


class TrustsRounding(LinearRegression):
    """A fit in units of the spread, however small a rounding error that is."""

    def fit(self, X, y):
        spread = np.std(X, axis=0)
        self.pull_ = np.mean(np.where(spread > 0, np.mean(X, axis=0) / spread > 1e9, 0.0))
        return super().fit(X, y)

    def predict(self, X):
        return super().predict(X) * (1.0 + self.pull_)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (TrustsRounding(), "a constant column, of 0.1, says nothing"),
        (FirstRowCounts(), "the order of rows is irrelevant"),
        (ForgetfulStream(), "partial_fit by chunks equals fit"),
        (BoastfulRegression(), "predict_interval is the interval"),
        (NamesMatter(), "a pandas table equals its array"),
        (Ridge(alpha=10.0), "units and origins of X are irrelevant"),
        (Deaf(), "a sample weight counts copies of a row"),
        (Eager(), "scikit-learn's checks pass.*check_no_attributes_set_in_init"),
    ],
)
def test_a_broken_estimator_is_caught(broken, law):
    with pytest.raises(laws.LawBroken, match=law):
        laws.check_estimator(broken)


def test_sound_estimators_of_scikit_learn_obey_the_laws():
    assert "units_of_y_are_irrelevant" in laws.check_estimator(LinearRegression())
    run = laws.check_estimator(GaussianNB())
    assert {"chunks_equal_the_batch", "predicted_class_is_the_most_probable"} <= set(run)


def test_laws_about_units_can_be_left_out_for_settings_with_units():
    assert "units_of_x_are_irrelevant" not in laws.check_estimator(
        LinearRegression(), unit_free=False
    )


def test_shapes_that_do_not_fit_break_a_law():
    class Lengthy(d.Normal):
        def std(self):
            return np.ones(5)

    with pytest.raises(laws.LawBroken, match=r"Expected shape \(2,\); found shape \(5,\)"):
        laws.check_distribution(Lengthy([0.0, 1.0], 2.0), np.random.default_rng(0))


def test_discrete_outcomes_that_are_not_whole_numbers_are_not_accused():
    draws = np.random.default_rng(0).normal(size=(30, 2))
    run = laws.check_distribution(d.Empirical(draws), np.random.default_rng(0))
    assert "integrates_to_one" not in run
    assert "draws_follow_cdf" in run
