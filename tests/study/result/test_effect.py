import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import RadialBasis
from credo.models import LinearRegression, ModelAverage
from credo.study.regression import regression_slate
from credo.study.result.effect import strongest_effects

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) * [1.0, 10.0, 0.1]


def test_effects_are_weights_times_the_spread_of_their_columns():
    y = X @ [2.0, -0.5, 0.0] + 0.1 * RNG.normal(size=200)
    average = ModelAverage(list(regression_slate(X).candidates)).fit(X, y)
    told = strongest_effects(average, 2, coverage=0.8)
    assert told.candidate == "linear"
    assert [effect.term for effect in told.effects] == ["x1", "x0"]
    table = average.named_estimators_["linear"].coefficients(0.8)
    for effect in told.effects:
        row = table.loc[effect.term]
        scaled = row * X[:, int(effect.term[1])].std()
        assert_allclose(effect[1:], scaled[["mean", "sd", "low", "high"]])


@pytest.mark.parametrize(("share", "n_told"), [(0.01, 1), (1e-3, 1), (9e-4, 0)])
def test_where_terms_cannot_be_read_the_linear_candidate_speaks_if_it_may_be_true(
    share, n_told
):
    candidates = [("linear", LinearRegression()), ("radial", LinearRegression(RadialBasis(30)))]
    average = ModelAverage(candidates).fit(X[:, :1], np.cos(3 * X[:, 0]))
    assert average.probability_[1] > 0.99
    average.probability_ = np.array([share, 1 - share])
    told = strongest_effects(average, 3)
    assert told.candidate == "linear"
    assert len(told.effects) == n_told


def test_the_constant_has_no_effects():
    average = ModelAverage(list(regression_slate(X).candidates)).fit(X, RNG.normal(size=200))
    told = strongest_effects(average, 3)
    assert told.candidate == "constant"
    assert told.effects == ()


@pytest.mark.parametrize("at_most", [1, 2])
def test_no_more_effects_than_asked_for(at_most):
    y = X @ [2.0, -0.5, 1.0]
    average = ModelAverage([("linear", LinearRegression())]).fit(X, y)
    assert len(strongest_effects(average, at_most).effects) == at_most
