"""Ranks of the truth are uniform for engines that are right, and for no others."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from calibration.cases import line, log_likelihood_of_given, log_likelihood_of_line, machine
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from credo.distributions import MultivariateNormal
from credo.evaluation.laws import LawBroken, RankCalibration, check_calibration, simulated_ranks
from credo.inference import (
    Draws,
    FactorProblem,
    Inference,
    LikelihoodWeighting,
    Move,
    Settled,
    TableGibbs,
    WeightedDraws,
)
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.discrete.factor_problem import table_of

WEIGHTING = {"block_size": 2000, "tolerance": 0.02}


class NarrowLaplace(LaplaceApproximation):
    """Standard deviations that are 0.6 of the right ones."""

    def posterior(self, problem, state):
        return super().posterior(problem, replace(state, curvature=state.curvature / 0.36))


class WideLaplace(LaplaceApproximation):
    """Standard deviations that are 1.6 times the right ones."""

    def posterior(self, problem, state):
        return super().posterior(problem, replace(state, curvature=state.curvature / 2.56))


class HighLaplace(LaplaceApproximation):
    """A slope that is too high by half its standard deviation."""

    def posterior(self, problem, state):
        scale = np.sqrt(np.linalg.inv(state.curvature)[1, 1])
        moved = state.parameters + np.array([0.0, 0.5 * scale])
        return super().posterior(problem, replace(state, parameters=moved))


class PriorLaplace(LaplaceApproximation):
    """What was believed before the data."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        prior = MultivariateNormal.from_precision(np.zeros(2), np.eye(2))
        return replace(found, posterior=prior)


@dataclass(frozen=True)
class PowerWeighting(LikelihoodWeighting):
    """Weights to a power: the data count too much or too little, or not at all."""

    power: float = 1.0

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        draws = found.posterior
        return replace(
            found, posterior=WeightedDraws(draws.columns, self.power * draws.log_weight)
        )


class LowHeat(LikelihoodWeighting):
    """Draws of the heat that are too low by 0.4."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        columns = {**found.posterior.columns, "heat": found.posterior.columns["heat"] - 0.4}
        return replace(found, posterior=replace(found.posterior, columns=columns))


class FlatGibbs(TableGibbs):
    """Marginals half way to even ones."""

    def posterior(self, problem, state):
        found = super().posterior(problem, state)
        flat = tuple(0.5 * p + 0.5 / len(p) for p in found.posterior.probability)
        return replace(found, posterior=replace(found.posterior, probability=flat))


@dataclass(frozen=True)
class Answering:
    """An engine for problems that are their own answers."""

    is_random = False
    stop = Settled()

    def init(self, problem, rng):
        return 0

    def step(self, problem, state, rng):
        return state, Move(0.0, 0.0)

    def posterior(self, problem, state):
        return Inference(problem)


PRIOR = np.array([0.7, 0.2, 0.1])
SEEN = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])


def cause(rng):
    """A cause with three states, of which an effect with two is seen."""
    state = int(rng.choice(3, p=PRIOR))
    effect = int(rng.random() < SEEN[state, 1])
    tables = (table_of((0,), PRIOR), table_of((0,), SEEN[:, effect]))
    return {"cause": state}, FactorProblem((3,), tables)


def drawn_states(inference, n, rng):
    return {"cause": rng.choice(3, n, p=inference.posterior.probability[0])}


def uniform_ranks(n, n_quantities, n_draws=99, seed=0):
    ranks = np.random.default_rng(seed).integers(n_draws + 1, size=(n, n_quantities))
    return RankCalibration(tuple(map(str, range(n_quantities))), ranks, n_draws)


@pytest.mark.parametrize(("n", "n_draws"), [(100, 99), (200, 99), (400, 59)])
def test_p_values_of_uniform_ranks_are_uniform(n, n_draws):
    n_tests = 16_000
    found = uniform_ranks(n, n_tests, n_draws)
    p = np.array([found.p_value(name) for name in found.names])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    for level in (0.9, 0.5, 0.1, 0.01, 0.001):
        error = np.sqrt(level * (1 - level) / n_tests)
        assert abs((p <= level).mean() - level) < 4 * error
    parts = found.summary()[["p_mean", "p_spread", "p_shape"]].to_numpy()
    assert all(stats.kstest(part, "uniform").pvalue > 0.01 for part in parts.T)
    assert np.abs(np.corrcoef(parts.T) - np.eye(3)).max() < 4 / np.sqrt(n_tests)


def test_p_values_of_a_right_engine_are_uniform():
    streams = np.random.default_rng(0).spawn(30)
    p = [
        simulated_ranks(LaplaceApproximation(), line, None, 100, 99, rng).p_value("slope")
        for rng in streams
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.05


def test_the_shape_is_what_a_parabola_through_the_counts_leaves_of_chi_square():
    ranks = np.random.default_rng(1).integers(100, size=(300, 1))
    ranks[:20] = 60
    found = RankCalibration(("a",), ranks, 99)
    counts = found.counts("a")
    assert found.n_bins == len(counts) == 20
    assert_array_equal(counts, np.histogram(ranks, bins=20, range=(0, 100))[0])
    parts = found.summary().loc["a", ["p_mean", "p_spread", "p_shape"]].to_numpy(float)
    error = np.sqrt((100**2 - 1) / 12 / 300)
    assert_allclose(parts[0], 2 * stats.norm.sf(abs(ranks.mean() - 49.5) / error))
    squares = (np.arange(100) - 49.5) ** 2
    distance = ((ranks - 49.5) ** 2).mean() - squares.mean()
    assert_allclose(parts[1], 2 * stats.norm.sf(abs(distance) / (squares.std() / np.sqrt(300))))
    bins = np.arange(20.0)
    parabola = np.polynomial.Polynomial.fit(bins, counts, 2)(bins)
    left = ((counts - parabola) ** 2).sum() / 15
    assert_allclose(parts[2], stats.chi2.sf(left, 17))
    assert_allclose(found.p_value("a"), 1 - (1 - parts.min()) ** 3)


def test_of_several_quantities_one_is_called_wrong_as_seldom_as_said():
    n = 4000
    all_ranks = uniform_ranks(200, 3 * n, seed=3).ranks
    rows = np.split(all_ranks, n, axis=1)
    wrong = [not RankCalibration(("a", "b", "c"), r, 99).is_calibrated(0.06) for r in rows]
    # Three quantities at 0.02 each; four standard errors.
    expected = 1 - 0.98**3
    assert abs(np.mean(wrong) - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_the_band_holds_as_many_bins_as_it_says():
    found = uniform_ranks(1000, 500, seed=4)
    low, high = found.band(0.9)
    counts = np.concatenate([found.counts(name) for name in found.names])
    exact = stats.binom.cdf(high, 1000, 0.05) - stats.binom.cdf(low - 1, 1000, 0.05)
    assert 0.9 <= exact < 0.93
    assert abs(((counts >= low) & (counts <= high)).mean() - exact) < 0.012
    assert_allclose([low, high], stats.binom.interval(0.9, 1000, 0.05))


RIGHT = {
    "Laplace": (LaplaceApproximation(), line, None, log_likelihood_of_line),
    "weighting": (LikelihoodWeighting(**WEIGHTING), machine, None, log_likelihood_of_given),
    "Gibbs": (TableGibbs(n_draws=1000), cause, drawn_states, None),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_engines_pass(name):
    engine, simulate, draw, derive = RIGHT[name]
    found = check_calibration(engine, simulate, draw, derive=derive)
    assert found.is_calibrated()
    assert found.ranks.shape == (200, len(found.names))
    assert "log likelihood" in found.names or derive is None


BROKEN = {
    "narrow Laplace": (NarrowLaplace(), line, None, None, "slope too narrow"),
    "wide Laplace": (WideLaplace(), line, None, None, "slope too wide"),
    "high Laplace": (HighLaplace(), line, None, None, "slope too high"),
    "prior Laplace": (
        PriorLaplace(),
        line,
        None,
        log_likelihood_of_line,
        "log likelihood too low",
    ),
    "narrow weighting": (
        PowerWeighting(**WEIGHTING, power=3.0),
        machine,
        None,
        None,
        "heat too narrow",
    ),
    "wide weighting": (
        PowerWeighting(**WEIGHTING, power=0.3),
        machine,
        None,
        log_likelihood_of_given,
        "log likelihood too low",
    ),
    "low weighting": (LowHeat(**WEIGHTING), machine, None, None, "heat too low"),
    "prior weighting": (
        PowerWeighting(**WEIGHTING, power=0.0),
        machine,
        None,
        log_likelihood_of_given,
        "log likelihood too low",
    ),
    "flat Gibbs": (FlatGibbs(n_draws=1000), cause, drawn_states, None, "cause too high"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_engines_are_caught(name):
    engine, simulate, draw, derive, fault = BROKEN[name]
    with pytest.raises(LawBroken, match=f"posteriors rank the truth evenly.*{fault}"):
        check_calibration(engine, simulate, draw, derive=derive)


@pytest.mark.parametrize(
    ("engine", "simulate"),
    [(PriorLaplace(), line), (PowerWeighting(**WEIGHTING, power=0.0), machine)],
)
def test_only_a_quantity_that_depends_on_the_data_tells_the_prior_from_a_posterior(
    engine, simulate
):
    assert check_calibration(engine, simulate).is_calibrated()


def test_each_simulation_has_a_stream_of_its_own():
    few, many, other = [], [], []

    def simulated(kept, n, engine):
        def simulate(rng):
            truth, problem = machine(rng)
            kept.append(truth)
            return truth, problem

        return simulated_ranks(engine, simulate, None, n, 19, np.random.default_rng(7))

    first = simulated(few, 50, LikelihoodWeighting(**WEIGHTING))
    second = simulated(many, 70, LikelihoodWeighting(**WEIGHTING))
    simulated(other, 50, LikelihoodWeighting(block_size=3000, tolerance=0.02))
    assert_array_equal(first.ranks, second.ranks[:50])
    assert first.names == ("mode", "heat")
    assert few == many[:50]
    # An engine that draws more has the same truths to find.
    assert few == other


def test_a_truth_equal_to_draws_has_any_place_among_them():
    def simulate(rng):
        return {"a": 1.0}, WeightedDraws({"a": np.array([0, 1, 1, 2])}, np.zeros(4))

    def draw(inference, n, rng):
        return {"a": np.repeat([0.0, 1.0, 3.0], [5, 10, 4])}

    found = simulated_ranks(Answering(), simulate, draw, 2200, 19, np.random.default_rng(0))
    counts = np.bincount(found.ranks[:, 0], minlength=20)
    assert set(np.flatnonzero(counts)) == set(range(5, 16))
    assert stats.chisquare(counts[5:16]).pvalue > 0.001


def test_draws_of_vectors_are_ranked_part_by_part():
    values = {"level": np.full((2, 50), 3.0), "slope": np.full((2, 50, 2), [1.0, -1.0])}

    def simulate(rng):
        return {"slope[1]": -2.0, "level": 4.0, "slope[0]": 0.5}, Draws(values)

    found = simulated_ranks(Answering(), simulate, None, 50, 19, np.random.default_rng(0))
    assert found.names == ("slope[1]", "level", "slope[0]")
    assert_array_equal(found.ranks, np.tile([0, 19, 0], (50, 1)))


def test_the_summary_says_how_far_off_ranks_are():
    ranks = np.stack([np.arange(200) % 100, np.arange(200) % 100 // 2], axis=1)
    found = RankCalibration(("right", "low"), ranks, 99)
    table = found.summary()
    assert_allclose(table["mean"], [1.0, 24.5 / 49.5])
    assert_allclose(table["spread"]["right"], 1.0)
    assert list(table["verdict"]) == ["calibrated", "too high"]
    assert_allclose(table["p_value"]["right"], 1.0)
    assert found.worst == "low"
    assert not found.is_calibrated()
    assert repr(found) == (
        "RankCalibration(right: calibrated, p = 1; low: too high, p < 1e-6; "
        "200 simulations of 99 draws)"
    )
    assert "too high" in found._repr_html_()


def test_ranks_that_are_only_oddly_shaped_are_misshapen():
    ranks = np.random.default_rng(0).integers(50, size=(400, 1)) * 2 + 1
    place = ranks // 10 % 2
    found = RankCalibration(("a",), ranks - 10 * place, 99)
    assert found.verdict("a") == "misshapen"


@pytest.mark.parametrize(
    ("names", "ranks", "n_draws", "message"),
    [
        (("a", "b"), np.zeros((50, 1), int), 19, "a column for each name; found shape"),
        (("a",), np.full((50, 1), 20), 19, "from 0 to n_draws=19; found int64 from 0 to 20"),
        (("a",), np.zeros((50, 1)), 19, "whole numbers"),
        (("a",), np.zeros((50, 1), int), 100, "n_draws=100 and 50 simulations. Take 99"),
        (("a",), np.zeros((49, 1), int), 19, "n_draws=19 and 49 simulations"),
    ],
)
def test_ranks_that_cannot_be_judged_are_refused(names, ranks, n_draws, message):
    with pytest.raises(ValueError, match=message):
        RankCalibration(names, ranks, n_draws)


def test_an_unknown_quantity_is_refused():
    with pytest.raises(KeyError, match=r"one of \['0'\]; found 'slope'"):
        uniform_ranks(50, 1).p_value("slope")


NUMBERS = WeightedDraws({"a": np.array([1.0, 2.0])}, np.zeros(2))


@pytest.mark.parametrize(
    ("truth", "posterior", "error", "message"),
    [
        ({"b": 1.0}, NUMBERS, ValueError, r"each of \['b'\]; found shapes {'a': \(99,\)}"),
        ({"a": float("nan")}, NUMBERS, ValueError, "true values must be numbers; found NaN"),
        ({"a": 1.0}, "nothing", ValueError, "draw must be given .* found a str"),
        (
            {"a": 1.0},
            MultivariateNormal.from_precision(np.zeros(2), np.eye(2)),
            ValueError,
            r"found \['a'\] and draws of 2 numbers",
        ),
        (
            {"a": 1.0},
            WeightedDraws({"a": np.array([np.nan])}, np.zeros(1)),
            LawBroken,
            "draws are numbers. Expected numbers; found NaN for a",
        ),
    ],
)
def test_draws_that_do_not_fit_the_truth_are_refused(truth, posterior, error, message):
    with pytest.raises(error, match=message):
        check_calibration(Answering(), lambda rng: (truth, posterior))
