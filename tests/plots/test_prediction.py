import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Normal
from credo.evaluation import coverage_curve as coverage_of
from credo.evaluation import reliability_curve as reliability_of
from credo.plots import coverage_plot, predictions_against_truth, reliability_plot, residuals

PREDICTIVE = Normal([0.0, 1.0, 2.0], [1.0, 2.0, 0.1])
Y = np.array([0.5, -1.0, 3.0])


def test_hits_and_misses_have_points_and_intervals_of_their_own(ax):
    assert predictions_against_truth(Y, PREDICTIVE, ax) is ax
    _, inside, outside = ax.lines
    assert_allclose(inside.get_data(), [[0.5, -1.0], [0.0, 1.0]])
    assert_allclose(outside.get_data(), [[3.0], [2.0]])
    segments = np.concatenate([lines.get_segments() for lines in ax.collections])
    low, high = PREDICTIVE.interval(0.9).T
    assert_allclose(segments[:, 0, 1], low)
    assert_allclose(segments[:, 1, 1], high)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["as predicted", "inside 90 % interval: 2", "outside: 1"]


def test_the_diagonal_spans_outcomes_and_predictions(ax):
    predictions_against_truth(Y, PREDICTIVE, ax)
    assert_allclose(ax.lines[0].get_data(), [[-1.0, 3.0], [-1.0, 3.0]])


def test_of_many_rows_some_are_shown_and_all_are_counted(ax):
    y = np.random.default_rng(0).normal(size=5000)
    predictions_against_truth(y, Normal(np.zeros(5000), 1.0), ax)
    assert sum(len(line.get_xdata()) for line in ax.lines[1:]) == 1000
    n_inside = (np.abs(y) <= stats.norm.ppf(0.95)).sum()
    assert ax.get_legend().get_texts()[1].get_text() == f"inside 90 % interval: {n_inside:,}"
    assert ax.get_xlabel() == "outcome (1,000 of 5,000 rows shown)"


def test_residuals_are_in_predictive_standard_deviations(ax):
    residuals(Y, PREDICTIVE, ax, coverage=0.8)
    points = ax.lines[1]
    assert_allclose(points.get_data(), [[0.0, 1.0, 2.0], [0.5, -1.0, 10.0]])
    band = ax.patches[0]
    assert_allclose(
        [band.get_y(), band.get_y() + band.get_height()], stats.norm.ppf([0.1, 0.9])
    )
    assert ax.get_ylim()[1] > 10.0
    assert ax.get_ylabel() == "residual / predictive sd"


def test_the_interval_of_one_odd_row_does_not_flatten_the_picture(ax):
    y = np.linspace(0, 10, 40)
    predictive = Normal(y, np.append(np.full(39, 0.5), 1e6))
    predictions_against_truth(y, predictive, ax)
    low, high = ax.get_ylim()
    assert -5 < low < 0
    assert 10 < high < 15


def test_the_curve_is_drawn_with_its_band_against_the_diagonal(ax):
    y = np.random.default_rng(0).normal(size=30)
    curve = coverage_of(y, Normal(np.zeros(30), 1.0))
    assert coverage_plot(curve, ax) is ax
    diagonal, observed = ax.lines
    assert_allclose(diagonal.get_data(), [[0, 1], [0, 1]])
    assert_allclose(observed.get_data(), [curve.levels, curve.observed])
    band = ax.collections[0].get_paths()[0].vertices
    for level, low, high in zip(curve.levels, curve.low, curve.high, strict=True):
        heights = band[np.isclose(band[:, 0], level), 1]
        assert_allclose([heights.min(), heights.max()], [low, high])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["calibrated", "observed, 30 rows"]


def test_shares_are_drawn_with_their_intervals_over_a_histogram(ax):
    rng = np.random.default_rng(0)
    share = rng.uniform(size=300) ** 2
    curve = reliability_of(rng.uniform(size=300) < share, share, n_bins=5, label="ill")
    assert reliability_plot(curve, ax) is ax
    (bars,) = ax.containers
    points, _, (sticks,) = bars.lines
    assert_allclose(points.get_data(), [curve.predicted, curve.observed])
    ends = np.array([stick[:, 1] for stick in sticks.get_segments()])
    assert_allclose(ends, np.stack([curve.low, curve.high], axis=1))
    heights = ax.patches[0].get_data().values
    assert_allclose(heights / heights.sum(), curve.histogram / 300)
    assert heights.max() < 0.2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"ill, error {curve.error.value:.3f}" in labels


def test_the_class_called_needs_no_label(ax):
    curve = reliability_of([0, 1, 1, 1], [0.6, 0.6, 0.9, 0.9])
    reliability_plot(curve, ax)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"class called, error {curve.error.value:.3f}" in labels


@pytest.mark.parametrize("draw", [predictions_against_truth, residuals])
def test_predictions_before_what_came_true_work_for_one_release_with_a_warning(draw):
    new = draw(Y, PREDICTIVE, Figure().subplots())
    with pytest.warns(FutureWarning, match="takes y_true first and y_pred second"):
        old = draw(PREDICTIVE, Y, Figure().subplots())
    with pytest.warns(FutureWarning, match="predictive is now y_pred"):
        named = draw(predictive=PREDICTIVE, y=Y, ax=Figure().subplots())
    for one in (old, named):
        for a, b in zip(one.lines, new.lines, strict=True):
            assert_allclose(a.get_xydata(), b.get_xydata())
