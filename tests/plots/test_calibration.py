""""""

import numpy as np
from numpy.testing import assert_allclose

from credo.distributions import Normal
from credo.evaluation import coverage_curve as coverage_of
from credo.evaluation import reliability_curve as reliability_of
from credo.plots import coverage_plot, reliability_plot


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
