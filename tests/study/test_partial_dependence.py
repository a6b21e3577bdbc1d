import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data.table.preparation import TablePreparation
from credo.models import LinearRegression, ModelAverage
from credo.study.partial_dependence import profiles

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "slope": RNG.uniform(0, 4, 90),
        "nothing": RNG.normal(size=90),
        "site": np.resize(["a", "b", "c"], 90),
        "flag": np.resize([0.0, 1.0], 90),
    }
)
FRAME.loc[::9, "slope"] = np.nan
PREPARATION = TablePreparation.learn(FRAME)
PREPARED = PREPARATION.prepare(FRAME)
PREPARED = PREPARED._replace(X=np.nan_to_num(PREPARED.X, nan=2.0))


@pytest.fixture(scope="module")
def average():
    slope, flag = PREPARED.X[:, 0], FRAME["flag"].to_numpy()
    y = 3 * slope + 5 * (FRAME["site"] == "b") + flag + 0.01 * RNG.normal(size=90)
    return ModelAverage([("linear", LinearRegression())]).fit(PREPARED.frame, y)


@pytest.fixture(scope="module")
def found(average):
    return {profile.name: profile for profile in profiles(average, PREPARATION, PREPARED.X, 9)}


def test_a_profile_of_a_line_is_the_line(average, found):
    slope = found["slope"]
    weight = average.estimators_[0].coef_[0]
    assert_allclose(np.diff(slope.predictive.mean()), weight * np.diff(slope.x))
    ends = np.quantile(PREPARED.X[:, 0], [0.025, 0.975])
    assert slope.reach == pytest.approx(weight * np.ptp(ends))
    assert_allclose(slope.x[[0, -1]], ends)


def test_columns_are_ordered_by_how_far_they_move_the_prediction_if_they_surely_do(
    average, found
):
    assert list(found) == ["slope", "site", "flag", "nothing"]
    sure = [profile.reach for profile in found.values() if profile.sure_reach > 0]
    assert sure == sorted(sure, reverse=True)
    assert found["nothing"].sure_reach == pytest.approx(0, abs=0.01)
    assert len(profiles(average, PREPARATION, PREPARED.X, 2)) == 2


def test_a_category_moves_from_level_to_level_and_is_never_two_at_once(found):
    site = found["site"]
    assert site.labels == ("a", "b", "c")
    mean = site.predictive.mean()
    assert_allclose(mean - mean[0], [0, 5, 0], atol=0.02)
    assert site.sure_reach == pytest.approx(5, abs=0.1)


def test_an_indicator_is_tried_at_its_two_values_only(found):
    assert found["flag"].x.tolist() == [0, 1]
    assert found["flag"].reach == pytest.approx(1, abs=0.02)


def test_the_band_is_the_doubt_about_the_mean_without_the_noise(found):
    slope = found["slope"]
    half = 1.6448536269514722 * slope.predictive.epistemic_std
    assert_allclose(np.diff(slope.band(0.9), axis=1)[:, 0], 2 * half)


def test_a_column_that_tells_only_by_its_absence_is_tried_both_ways():
    y = np.resize([0.0, 1.0, 0.1, 0.9], 40)
    frame = pd.DataFrame({"gap": np.where(y < 0.5, 7.0, np.nan), "z": RNG.normal(size=40)})
    preparation = TablePreparation.learn(frame)
    prepared = preparation.prepare(frame)
    average = ModelAverage([("linear", LinearRegression())]).fit(prepared.frame, y)
    first = profiles(average, preparation, prepared.X, 2)[0]
    assert (first.name, first.labels) == ("gap", ("present", "missing"))
    assert_allclose(first.predictive.mean(), [0.05, 0.95], atol=0.1)


def test_walks_predicted_a_few_at_a_time_are_those_predicted_together(
    average, found, monkeypatch
):
    monkeypatch.setattr("credo.study.partial_dependence.BLOCK_ENTRIES", 1)
    for profile in profiles(average, PREPARATION, PREPARED.X, 9):
        assert_allclose(profile.predictive.mean(), found[profile.name].predictive.mean())


class Told(ModelAverage):
    """Remembers how many numbers it was asked about at once."""

    most = 0

    def predict_dist(self, X):
        self.most = max(self.most, X.size)
        return super().predict_dist(X)


def test_of_many_columns_those_that_move_most_are_found_in_little_memory(monkeypatch):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 120)), columns=[f"x{i}" for i in range(120)])
    y = 5 * frame["x7"] - 4 * frame["x110"] + 0.1 * rng.normal(size=60)
    preparation = TablePreparation.learn(frame)
    prepared = preparation.prepare(frame)
    wide = Told([("linear", LinearRegression())]).fit(prepared.frame, y)
    few_walks = 3 * 41 * 120
    monkeypatch.setattr("credo.study.partial_dependence.BLOCK_ENTRIES", few_walks)
    moved = profiles(wide, preparation, prepared.X, 2)
    assert {profile.name for profile in moved} == {"x7", "x110"}
    assert {len(profile.x) for profile in moved} == {41}
    assert wide.most < few_walks + 41 * 120


def test_columns_whose_middle_is_one_value_are_no_movers():
    rare = np.zeros(90)
    rare[0] = 8.0
    many = np.where(np.arange(90) < 2, np.arange(90.0) + 5, 0.0)
    frame = FRAME[["flag", "nothing"]].assign(rare=rare, many=many)
    preparation = TablePreparation.learn(frame)
    prepared = preparation.prepare(frame)
    y = 100 * rare + 50 * many + FRAME["flag"].to_numpy() + 0.01 * RNG.normal(size=90)
    model = ModelAverage([("linear", LinearRegression())]).fit(prepared.frame, y)
    assert {p.name for p in profiles(model, preparation, prepared.X, 9)} == {"flag", "nothing"}
    alone = frame[["rare"]]
    preparation = TablePreparation.learn(alone)
    prepared = preparation.prepare(alone)
    model = ModelAverage([("linear", LinearRegression())]).fit(prepared.frame, y)
    (only,) = profiles(model, preparation, prepared.X, 9)
    assert only.x.tolist() == [0.0, 8.0]
