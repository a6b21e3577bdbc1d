import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.calibration import calibration_curve

from credo.evaluation import proportion_interval, reliability_curve
from credo.evaluation.classes.reliability import equal_mass_bins


def drawn(n, slope, rng):
    """Return probabilities whose logits are too large by a factor, and what came true."""
    logit = 1.5 * rng.normal(size=n)
    said, true = (1 / (1 + np.exp(-factor * logit)) for factor in (slope, 1.0))
    return said, rng.uniform(size=n) < true, true


def test_the_curve_is_that_of_scikit_learn():
    said, came, _ = drawn(1000, 2.0, np.random.default_rng(0))
    curve = reliability_curve(came, said)
    observed, predicted = calibration_curve(came, said, n_bins=10, strategy="quantile")
    assert_allclose(curve.observed, observed)
    assert_allclose(curve.predicted, predicted)
    assert_array_equal(curve.mass, 100)
    expected = np.mean(np.abs(observed - predicted))
    assert_allclose(curve.error.value, expected)
    hits = np.round(observed * 100)
    ends = proportion_interval(hits, 100, 0.9)
    assert_allclose(np.stack([curve.low, curve.high], axis=1), ends, rtol=1e-9)
    assert_array_equal(curve.histogram, np.histogram(said, 20, (0, 1))[0])


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_bins_keep_equal_values_together_in_rising_order(values, n_bins):
    values = np.array(values, dtype=float)
    place = equal_mass_bins(values, np.ones(len(values)), n_bins)
    assert_array_equal(np.unique(place), np.arange(place.max() + 1))
    assert place.max() < n_bins
    order = np.argsort(values)
    assert (np.diff(place[order]) >= 0).all()
    for value in set(values):
        assert len(set(place[values == value])) == 1


def test_rows_of_no_weight_make_no_bin():
    values, weight = np.arange(10.0), np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 0.0])
    place = equal_mass_bins(values, weight, 5)
    assert (np.bincount(place, weight) > 0).all()


def test_weights_count_as_repeated_rows():
    said, came, _ = drawn(200, 2.0, np.random.default_rng(1))
    times = np.random.default_rng(2).integers(1, 4, 200)
    heavy = reliability_curve(came, said, sample_weight=times)
    repeated = reliability_curve(np.repeat(came, times), np.repeat(said, times))
    assert_allclose(heavy.observed, repeated.observed)
    assert_allclose(heavy.error.value, repeated.error.value)
    assert (heavy.high - heavy.low > repeated.high - repeated.low).all()


def test_chance_is_what_calibrated_predictions_show():
    rng = np.random.default_rng(0)
    said = rng.uniform(size=500)
    errors, notes = [], set()
    for _ in range(200):
        score = reliability_curve(rng.uniform(size=500) < said, said).error
        errors.append(score.value)
        notes.add(score.note)
    (note,) = notes
    # Three standard errors of the mean of 200 draws.
    reach = 3 * stats.sem(errors) + 5e-4
    assert abs(float(note.split()[0]) - np.mean(errors)) < reach + 5e-4


@pytest.mark.parametrize(("n", "slope"), [(200, 1.0), (200, 3.0), (2000, 1.5)])
def test_intervals_of_the_error_hold_the_truth_about_as_often_as_they_say(n, slope):
    rng = np.random.default_rng(0)
    said, _, true = drawn(200_000, slope, rng)
    place = equal_mass_bins(said, np.ones(said.size), 10)
    truth = np.mean(np.abs(np.bincount(place, said - true) / np.bincount(place)))
    hits = 0
    for _ in range(200):
        given, came, _ = drawn(n, slope, rng)
        error = reliability_curve(came, given).error
        hits += error.low <= truth <= error.high
    # 0.84 is three standard errors of 200 trials below the nominal 0.9.
    assert hits / 200 >= 0.84


@pytest.mark.parametrize(
    ("share", "hit", "n_bins", "message"),
    [
        ([0.5, 1.2], [0, 1], 10, r"y_prob must be in \[0, 1\]; found 1.2"),
        ([0.5], [0, 1], 10, r"found shapes \(2,\) and \(1,\)"),
        ([], [], 10, "at least one row"),
        ([0.5], [1], 0, "n_bins must be at least 1; found 0"),
    ],
)
def test_what_is_no_probability_of_an_event_is_refused(share, hit, n_bins, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve(hit, share, n_bins=n_bins)
