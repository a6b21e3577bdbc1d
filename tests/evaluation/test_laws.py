"""Every class of the rooms obeys the laws, and the laws catch classes that do not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from credo import distributions as d
from credo import families as f
from credo.evaluation import laws
from credo.evaluation.laws.kind import check_example, examples_of, kind_of
from credo.inference import FactorProblem
from credo.numerics.example import Example
from rooms import classes_with_laws, every_example, named

RNG = np.random.default_rng(0)
SPREAD = np.array([[2.0, 0.6], [0.6, 1.0]])


REAL = RNG.normal(size=(7, 2)) @ SPREAD
FAMILIES = {
    cls.__name__: examples_of(cls)[0]
    for cls in classes_with_laws("families")
    if kind_of(cls).name == "belief" and hasattr(cls, "examples")
}


@pytest.mark.parametrize("cls", classes_with_laws(), ids=lambda cls: cls.__name__)
def test_every_public_class_of_a_kind_gives_examples_of_itself(cls):
    assert examples_of(cls)


@pytest.mark.parametrize("example", every_example("distributions"), ids=named)
def test_every_distribution_of_the_room_obeys_the_laws(example):
    run = check_example(example)
    assert "entropy_is_the_mean_of_minus_log_prob" in run
    if isinstance(example.it, d.Univariate):
        assert "crps_is_the_integrated_squared_error_of_cdf" in run
        assert "nothing_lies_beyond_the_support" in run


def test_every_divergence_of_the_room_is_checked():
    found = [laws.examples_of(cls) for cls in classes_with_laws("distributions")]
    have_kl = [examples for examples in found if has_kl(examples[0].it)]
    assert len(have_kl) > 15
    assert all(len(examples) > 1 for examples in have_kl)


def has_kl(distribution):
    try:
        distribution.kl(distribution)
    except TypeError:
        return False
    return True


def of_kind(kind):
    return [e for e in every_example("families") if kind_of(type(e.it)).name == kind]


@pytest.mark.parametrize("example", of_kind("belief"), ids=named)
def test_every_belief_of_the_room_obeys_the_laws(example):
    assert {
        "evidence_is_the_product_of_predictives",
        "evidence_is_fit_minus_divergence",
        "much_data_overrules_the_prior",
    } <= set(check_example(example))


@pytest.mark.parametrize("example", of_kind("statistics"), ids=named)
def test_every_statistics_of_the_room_obeys_the_laws(example):
    run, name = check_example(example), type(example.it).__name__
    refuses_missing = name in {"MultivariateNormalStatistics", "LinearStatistics"}
    assert ("missing_is_absent" in run) is not refuses_missing
    assert "groups_are_separate" in run
    assert ("shares_are_weights" in run) is hasattr(example.it, "by_share")


@pytest.mark.parametrize("example", every_example("graphs"), ids=named)
def test_every_node_of_the_room_obeys_the_laws(example):
    run = check_example(example)
    assert {"probabilities_sum_to_one", "draws_follow_the_density"} <= set(run)


@pytest.mark.parametrize("example", every_example("inference"), ids=named)
def test_every_engine_of_the_room_obeys_the_laws(example):
    run = set(check_example(example))
    assert {"settings_are_a_value", "steps_are_pure", "a_limit_of_one_step_is_said"} <= run
    about_tables = {
        "marginals": "marginals_are_within_their_error",
        "total": "the_log_partition_is_within_its_error",
        "bound": "the_log_partition_is_within_its_error",
        "mode": "the_mode_is_the_densest_state",
    }
    if isinstance(example.arguments.get("problem"), FactorProblem | None):
        assert {about_tables[question] for question in example.it.answers} <= run


NUMBERS = {
    "BetaBernoulli": st.integers(0, 1),
    "DirichletCategorical": st.integers(0, 2),
    "StickBreakingCategorical": st.integers(0, 2),
    "GammaPoisson": st.integers(0, 1000),
    "GammaExponential": st.floats(0, 100, allow_subnormal=False),
}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize(
    "name", sorted(set(FAMILIES) - {"TiedNormalInverseWishart", "Components", "Product"})
)
def test_laws_that_are_exact_hold_for_arbitrary_rows(name, data):
    example = FAMILIES[name]
    elements = NUMBERS.get(name, st.floats(-100, 100, allow_subnormal=False))
    shape = (data.draw(st.integers(6, 12)), 2)
    rows = data.draw(arrays(float, shape, elements=elements.map(float)))
    laws.check_family(example.it, **{**example.arguments, "rows": rows}, n_draws=0)


class Silent(d.Normal):
    """A distribution that gives no examples."""

    examples = None


def test_a_class_without_examples_is_told_what_to_add():
    with pytest.raises(
        TypeError,
        match=r"Silent must have examples.*found none\. Add a classmethod examples\(\) that "
        r"returns distributions",
    ):
        laws.check_class(Silent)


class Borrowed(d.Normal):
    """A distribution that gives examples of another class."""

    @classmethod
    def examples(cls):
        return d.Normal.examples()


def test_examples_of_another_class_do_not_count():
    with pytest.raises(TypeError, match=r"Borrowed must have examples.*found Normal\."):
        laws.check_class(Borrowed)


def test_what_has_no_laws_is_refused():
    with pytest.raises(TypeError, match=r"of a kind that has laws, engine, .*found a dict"):
        check_example(Example({}))


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


class SharesSwapped(f.NormalStatistics):
    """Shares that go to the wrong components."""

    @classmethod
    def by_share(cls, x, share):
        return f.NormalStatistics.by_share(x, share[:, ::-1])


class SharesRounded(f.NormalStatistics):
    """Shares that are whole or nothing."""

    @classmethod
    def by_share(cls, x, share):
        return f.NormalStatistics.by_share(x, np.round(share))


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (SharesSwapped, "by_share equals one summary per component"),
        (SharesRounded, "by_share equals one summary per component"),
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
