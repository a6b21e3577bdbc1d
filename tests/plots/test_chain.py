import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference import Draws, Inference, Posterior
from credo.plots import (
    autocorrelation_plot,
    chain_rank_plot,
    energy_plot,
    pair_plot,
    trace_plot,
)

RNG = np.random.default_rng(0)
SLOPE = RNG.normal(size=(2, 300, 2))
LEVEL = np.cumsum(RNG.normal(size=(2, 300)), axis=1)
IS_DIVERGENT = np.zeros((2, 300))
IS_DIVERGENT[1, 7] = 1.0
DRAWS = Draws({"level": LEVEL, "slope": SLOPE})
FOUND = Posterior(
    DRAWS,
    Inference(DRAWS),
    "no-U-turn sampling",
    facts={"is_divergent": IS_DIVERGENT, "energy": RNG.normal(10.0, 2.0, size=(2, 300))},
)


def test_a_trace_shows_each_chain_and_marks_what_diverged(ax):
    assert trace_plot(FOUND, "slope[1]", ax) is ax
    assert_allclose(ax.lines[1].get_ydata(), SLOPE[1, :, 1])
    assert_allclose(ax.lines[2].get_xdata(), [7])


def test_ranks_of_chains_that_agree_are_even(ax):
    chain_rank_plot(FOUND, "slope[0]", ax)
    counts = np.array([patch.get_data().values for patch in ax.patches])
    assert_allclose(counts.sum(axis=0), 30.0)
    # Fifteen of thirty, with a standard deviation of about 2.7.
    assert np.all(np.abs(counts - 15.0) < 11.0)


def test_ranks_of_chains_that_lie_apart_are_not(ax):
    apart = Draws({"x": np.stack([np.arange(100.0), 100.0 + np.arange(100.0)])})
    chain_rank_plot(Posterior(apart, Inference(apart), "chains"), "x", ax)
    counts = np.array([patch.get_data().values for patch in ax.patches])
    assert_allclose(counts[0], [10.0] * 10 + [0.0] * 10)


def test_pairs_show_divergent_draws_over_others(ax):
    pair_plot(FOUND, "level", "slope[0]", ax)
    assert_allclose(ax.lines[0].get_xdata(), LEVEL.ravel())
    assert_allclose(ax.lines[1].get_ydata(), [SLOPE[1, 7, 0]])


def test_autocorrelations_fall_from_one(ax):
    autocorrelation_plot(FOUND, "level", ax)
    heights = [line[1, 1] for line in ax.collections[0].get_segments()]
    assert heights[0] == 1.0
    assert heights[1] > 0.9
    assert len(heights) == 51


def test_energies_are_shown_beside_their_changes(ax):
    energy_plot(FOUND, ax)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["energy, less its mean", "change from draw to draw"]
    spread = [
        np.sqrt(np.sum(p.get_data().values * (p.get_data().edges[:-1] + 0.1) ** 2))
        for p in ax.patches
    ]
    # Changes of independent energies are wider by the root of two.
    assert spread[1] / spread[0] == pytest.approx(np.sqrt(2.0), rel=0.15)


def test_what_cannot_be_drawn_is_refused(ax):
    with pytest.raises(ValueError, match="energies must be those of trajectories"):
        energy_plot(Posterior(DRAWS, Inference(DRAWS), "Laplace approximation"), ax)
    with pytest.raises(ValueError, match="name must be that of a single number"):
        trace_plot(FOUND, "slope", ax)
