import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.app.profile import profiles
from credo.app.table_regression import named_inputs
from credo.data.preparation import PreparedTable
from credo.models import LinearRegression, ModelAverage

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(0, 4, 80), RNG.normal(size=80), RNG.random(80) < 0.5])
TRAINING = PreparedTable(X, ("slope", "nothing", "flag"), ())


@pytest.fixture(scope="module")
def average():
    y = 3 * X[:, 0] + 5 * X[:, 2] + 0.1 * RNG.normal(size=80)
    return ModelAverage([("linear", LinearRegression())]).fit(named_inputs(TRAINING), y)


def test_a_profile_of_a_line_is_the_line(average):
    slope = profiles(average, TRAINING, 3)[0]
    assert slope.name == "slope"
    weight = average.estimators_[0].coef_[0]
    assert_allclose(np.diff(slope.predictive.mean()), weight * np.diff(slope.x))
    assert slope.reach == pytest.approx(weight * np.ptp(X[:, 0]))
    assert_allclose(slope.x[[0, -1]], [X[:, 0].min(), X[:, 0].max()])


def test_columns_are_ordered_by_how_surely_they_move_the_prediction(average):
    found = profiles(average, TRAINING, 3)
    assert [profile.name for profile in found] == ["slope", "flag", "nothing"]
    assert found[1].reach == pytest.approx(5, abs=0.2)
    assert found[2].sure_reach == 0
    assert len(profiles(average, TRAINING, 2)) == 2


def test_an_indicator_is_tried_at_its_two_values_only(average):
    flag = profiles(average, TRAINING, 3)[1]
    assert flag.x.tolist() == [0, 1]


def test_the_band_is_the_doubt_about_the_mean_without_the_noise(average):
    profile = profiles(average, TRAINING, 1)[0]
    half = 1.6448536269514722 * profile.predictive.epistemic_std
    assert_allclose(np.diff(profile.band(0.9), axis=1)[:, 0], 2 * half)
