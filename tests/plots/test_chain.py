import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference import (
    Draws,
    ImportanceSampling,
    Inference,
    Metropolis,
    MetropolisHastings,
    Posterior,
    PredictiveCheck,
    run,
)
from credo.plots import (
    autocorrelation_plot,
    chain_rank_plot,
    energy_plot,
    importance_weight_plot,
    metropolis_path_plot,
    pair_plot,
    predictive_check_plot,
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


@pytest.mark.parametrize("example", ImportanceSampling.examples(), ids=["smoothed", "raw"])
def test_weights_fall_from_the_largest_and_average_to_one(example, ax):
    problem = example.arguments["problem"]
    found = run(example.it, problem, np.random.default_rng(0)).posterior
    importance_weight_plot(found, ax)
    for line in ax.lines[:2]:
        heights = line.get_ydata()
        assert np.all(np.diff(heights) <= 0.0)
        assert np.mean(heights) == pytest.approx(1.0)
    weight = np.exp(found.raw_log_weight)
    assert ax.lines[0].get_ydata()[0] == pytest.approx(weight.max() / weight.mean())
    assert "can be trusted" in ax.get_xlabel()


def quietly(engine, problem):
    """Return what few draws tell, which engines warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(engine, problem, np.random.default_rng(0))


def test_a_path_shows_where_it_was_and_what_it_refused(ax):
    example = Metropolis.examples()[1]
    problem = example.arguments["problem"]
    found = quietly(example.it, problem)
    metropolis_path_plot(found, problem.parameters, "x[0]", "x[1]", 50, ax)
    state = found.state
    by_label = {line.get_label(): line for line in ax.lines}
    assert_allclose(by_label["taken"].get_xdata(), state.draws[0, :50, 0])
    refused = ~state.is_accepted[0, :50]
    assert 0 < refused.sum() < 50
    assert_allclose(by_label["refused"].get_ydata(), state.proposals[0, :50][refused, 1])
    assert f"{1.0 - refused.mean():.0%} of moves taken" in ax.get_xlabel()
    kept = quietly(Metropolis.examples()[0].it, problem)
    with pytest.raises(ValueError, match="proposals must have been kept"):
        metropolis_path_plot(kept, problem.parameters, "x[0]", "x[1]", ax=ax)


def test_a_path_of_positive_numbers_is_drawn_in_their_units(ax):
    example = next(e for e in MetropolisHastings.examples() if e.it.keeps_proposals)
    problem = example.arguments["problem"]
    found = quietly(example.it, problem)
    name = next(iter(problem.parameters.names))
    metropolis_path_plot(found, problem.parameters, name, name, 30, ax)
    taken = next(line for line in ax.lines if line.get_label() == "taken")
    assert_allclose(taken.get_xdata(), found.posterior[name][0, :30])


def test_a_check_shows_the_data_among_simulated_ones(ax):
    check = PredictiveCheck("prior", {"mean": 2.0}, {"mean": np.arange(10.0)})
    predictive_check_plot(check, "mean", ax)
    assert_allclose(ax.lines[0].get_xdata(), [2.0, 2.0])
    assert ax.patches[0].get_data().values.sum() == 10
    assert "75% above" in ax.get_xlabel()
    with pytest.raises(ValueError, match="must be a statistic of the check"):
        predictive_check_plot(check, "median", ax)
