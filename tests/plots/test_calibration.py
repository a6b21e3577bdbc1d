import numpy as np
from numpy.testing import assert_allclose

from credo.distributions import Normal
from credo.evaluation import coverage_curve as coverage_of
from credo.plots import coverage_curve


def test_the_curve_is_drawn_with_its_band_against_the_diagonal(ax):
    y = np.random.default_rng(0).normal(size=30)
    curve = coverage_of(y, Normal(np.zeros(30), 1.0))
    assert coverage_curve(curve, ax) is ax
    diagonal, observed = ax.lines
    assert_allclose(diagonal.get_data(), [[0, 1], [0, 1]])
    assert_allclose(observed.get_data(), [curve.levels, curve.observed])
    band = ax.collections[0].get_paths()[0].vertices
    for level, low, high in zip(curve.levels, curve.low, curve.high, strict=True):
        heights = band[np.isclose(band[:, 0], level), 1]
        assert_allclose([heights.min(), heights.max()], [low, high])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["calibrated", "observed, 30 rows"]
