"""The front door: what it finds, what it says of that, and what it refuses."""

import subprocess
import sys
import time
import warnings

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import credo
from credo.data import CheckpointFile
from credo.distributions import Normal
from credo.inference import (
    BadDensity,
    GaussianVariational,
    ImproperDensity,
    NoUTurnSampling,
    Parameter,
    Pathfinder,
    SequentialMonteCarlo,
)
from credo.inference.engine.draws import mean_error
from credo.inference.engine.engine import ConvergenceWarning

SHARE = {"probability": Parameter(support="unit")}


def coin(probability, data):
    heads, tails = data
    return heads * np.log(probability) + tails * np.log1p(-probability)


def test_auto_takes_laplace_where_importance_ratios_confirm_it():
    found = credo.posterior(coin, SHARE, (30, 12), random_state=0)
    assert found.method == "Laplace approximation"
    exact = stats.beta(31, 13)
    draws = found.draws
    # Resampled draws repeat some, which adds to the error of independent ones.
    assert abs(draws.mean("probability") - exact.mean()) < 6.0 * exact.std() / np.sqrt(4000)
    assert draws.std("probability") == pytest.approx(exact.std(), rel=0.06)
    error = abs(found.log_evidence - special.betaln(31, 13))
    assert error < 4.0 * found.log_evidence_error < 0.05
    assert found.diagnose().is_sound
    assert "complex steps" in found.notes[0]
    assert found.draws["probability"].shape == (4, 1000)


def heavy(x):
    """Return the log density of a Student t distribution of three degrees of freedom."""
    return -2.0 * np.log1p(x**2 / 3.0)


def test_auto_goes_on_to_nuts_where_they_do_not_and_says_so():
    found = credo.posterior(heavy, {"x": Parameter()}, random_state=0)
    assert found.method == "no-U-turn sampling"
    assert "k-hat" in found.notes[1].lower()
    assert "followed by NUTS" in found.notes[1]
    assert abs(found.draws.mean("x")) < 4.0 * found.draws.mean_error("x")
    exact = stats.t(3).cdf([-1.0, 2.0])
    shares = [(found.draws["x"] <= q).mean() for q in (-1.0, 2.0)]
    assert_allclose(shares, exact, atol=0.04)
    assert set(found.facts) == set(credo.inference.density.trajectory.FACTS)
    assert found.facts["energy"].shape == (4, 1000)


def test_two_modes_are_no_gaussian():
    def two(x):
        return np.log(np.exp(-0.5 * (x - 2.0) ** 2) + np.exp(-0.5 * (x + 2.0) ** 2))

    found = credo.posterior(two, {"x": Parameter()}, random_state=1)
    assert found.method == "no-U-turn sampling"


def test_a_mode_is_that_of_the_values_and_not_of_free_numbers():
    found = credo.posterior(coin, SHARE, (7, 3), inference="map", random_state=0)
    assert float(found.mode["probability"]) == pytest.approx(0.7, abs=1e-4)
    assert found.draws["probability"].shape == (1, 1)
    laplace = credo.posterior(coin, SHARE, (7, 3), inference="laplace", random_state=0)
    # Free numbers have the density p^8 (1 - p)^4.
    assert float(laplace.mode["probability"]) == pytest.approx(8 / 12, abs=1e-4)


def test_the_best_of_several_searches_is_the_mode():
    def two(x):
        return np.log(0.2 * np.exp(-2.0 * (x + 2.0) ** 2) + np.exp(-2.0 * (x - 2.0) ** 2))

    start = {"x": Parameter(start=-1.5)}
    found = credo.posterior(two, start, inference="map", random_state=0)
    assert float(found.mode["x"]) == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize(
    "inference", ["laplace", "pathfinder", Pathfinder(n_pairs=3), GaussianVariational()]
)
def test_draws_of_gaussians_are_resampled_and_tell_the_evidence(inference):
    found = credo.posterior(coin, SHARE, (30, 12), inference=inference, random_state=0)
    exact = stats.beta(31, 13)
    assert found.draws["probability"].shape == (4, 1000)
    draws = found.draws
    # Resampled draws repeat some, which adds to the error of independent ones.
    assert abs(draws.mean("probability") - exact.mean()) < 6.0 * exact.std() / np.sqrt(4000)
    assert draws.std("probability") == pytest.approx(exact.std(), rel=0.06)
    error = abs(found.log_evidence - special.betaln(31, 13))
    assert error < 4.0 * found.log_evidence_error < 0.05
    assert found.diagnose().numbers["k-hat"] == found.k_hat
    # The largest ratios of the variational Gaussian lie on two sides, which no Pareto fits.
    if not isinstance(inference, GaussianVariational):
        assert found.k_hat < 0.5
        assert found.diagnose().is_sound


@pytest.mark.parametrize("inference", ["laplace", "pathfinder"])
def test_a_gaussian_far_from_the_density_is_not_sound(inference):
    def sharp(x):
        return -np.log1p(x**2)

    found = credo.posterior(sharp, {"x": Parameter()}, inference=inference, random_state=0)
    assert found.k_hat > 0.7
    assert "far from the density" in found.diagnose().findings[-1]
    assert not found.diagnose().is_sound


@pytest.mark.parametrize("inference", ["nuts", "hmc", NoUTurnSampling(n_draws=300)])
def test_engines_are_asked_for_by_name_or_as_values(inference):
    found = credo.posterior(
        coin, SHARE, (7, 3), inference=inference, chains=2, draws=300, random_state=0
    )
    assert found.draws["probability"].shape == (2, 300)
    exact = stats.beta(8, 4)
    error = found.draws.mean_error("probability")
    assert abs(found.draws.mean("probability") - exact.mean()) < 4.0 * error
    assert found.status == "drew what was asked for"
    assert np.isnan(found.log_evidence)


def test_unknown_engines_are_refused():
    with pytest.raises(ValueError, match=r"inference must be .*auto.*smc.*Did you mean 'nuts'"):
        credo.posterior(coin, SHARE, (7, 3), inference="nutz")
    with pytest.raises(ValueError, match="draws must be a whole number"):
        credo.posterior(coin, SHARE, (7, 3), draws=0)


def test_the_same_seed_gives_the_same_draws():
    first, again = (
        credo.posterior(heavy, {"x": Parameter()}, draws=200, chains=2, random_state=3)
        for _ in range(2)
    )
    assert_array_equal(first.draws["x"], again.draws["x"])


@numba.njit
def rows(values, gradient, x, y):
    total = 0.0
    for j in range(values.size):
        gradient[j] = -values[j]
        total -= 0.5 * values[j] ** 2
    for i in range(y.size):
        score = 0.0
        for j in range(values.size):
            score += x[i, j] * values[j]
        total += y[i] * score - np.log1p(np.exp(score))
        rest = y[i] - 1.0 / (1.0 + np.exp(-score))
        for j in range(values.size):
            gradient[j] += rest * x[i, j]
    return total


def in_python(beta, x, y):
    score = x @ beta
    value = y @ score - np.logaddexp(0.0, score).sum() - 0.5 * beta @ beta
    return value, x.T @ (y - special.expit(score)) - beta


def test_compiled_and_plain_functions_agree():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = (rng.random(80) < special.expit(x @ [1.0, -1.0, 0.0])).astype(float)
    parameters = {"beta": Parameter(3)}
    data = {"x": x, "y": y}
    plain, compiled = (
        credo.posterior(f, parameters, data, inference="nuts", random_state=0)
        for f in (in_python, rows)
    )
    assert "compiled" in compiled.notes[0]
    error = np.hypot(plain.draws.mean_error("beta"), compiled.draws.mean_error("beta"))
    shift = np.abs(plain.draws.mean("beta") - compiled.draws.mean("beta"))
    assert np.all(shift < 4.0 * error)
    laplace = credo.posterior(rows, parameters, data, random_state=0)
    assert laplace.method == "Laplace approximation"
    assert_allclose(laplace.draws.mean("beta"), plain.draws.mean("beta"), atol=0.05)


COLUMNS = ("mean", "std", "low", "high", "mean_error", "effective_draws", "r_hat")


def apart(x):
    """Return two peaks that no trajectory joins."""
    return np.logaddexp(-0.5 * (x - 30.0) ** 2, -0.5 * (x + 30.0) ** 2)


def test_chains_that_do_not_mix_have_no_mean_and_say_so():
    def slope(x):
        weight = special.expit(60.0 * x)
        return {"x": weight * (30.0 - x) - (1.0 - weight) * (30.0 + x)}

    with pytest.warns(ConvergenceWarning, match="chains must agree"):
        found = credo.posterior(
            (apart, slope), {"x": Parameter()}, inference="nuts", draws=200, random_state=0
        )
    table = found.summary()
    assert np.isnan(table.loc["x", ["mean", "std", "low", "high"]].astype(float)).all()
    assert table.loc["x", "verdict"] == "chains do not agree"
    assert table.loc["x", "r_hat"] > 1.5
    verdict = found.diagnose()
    assert not verdict.is_sound
    assert "The chains do not agree about x" in verdict.findings[0]
    assert "doubtful" in repr(found)
    assert "doubtful" in str(found)


def test_peaks_that_no_chain_joins_are_drawn_by_particles_and_that_is_said():
    found = credo.posterior(apart, {"x": Parameter()}, draws=500, random_state=0)
    assert found.method == "sequential Monte Carlo"
    assert "did not agree about x" in " ".join(found.notes)
    assert found.draws["x"].shape == (4, 500)
    assert (found.draws["x"] > 0.0).mean() == pytest.approx(0.5, abs=0.15)
    exact = np.log(2.0 * np.sqrt(2.0 * np.pi))
    assert found.log_evidence == pytest.approx(exact, abs=4.0 * found.log_evidence_error)


def test_particles_whose_runs_see_different_things_are_not_sound():
    def narrow(x):
        return -5e3 * np.sum(x**2)

    few, many = (
        credo.posterior(
            narrow,
            {"x": Parameter(8)},
            inference=SequentialMonteCarlo(n_particles=n),
            random_state=1,
        ).diagnose()
        for n in (15, 1000)
    )
    assert not few.is_sound
    assert "more particles" in few.findings[-1]
    assert many.is_sound


def test_a_single_draw_has_no_mean_and_says_so():
    with pytest.warns(ConvergenceWarning, match="read diagnose"):
        found = credo.posterior(
            coin, SHARE, (7, 3), chains=1, draws=1, inference="nuts", random_state=0
        )
    assert np.isnan(found.summary().loc["probability", "mean"])
    assert found.summary().loc["probability", "verdict"] == "too few draws"
    assert "at least 4 draws" in found.diagnose().findings[0]


def test_what_is_printed_fits_a_terminal():
    found = credo.posterior(coin, SHARE, (7, 3), random_state=0)
    table = str(found).splitlines()[-2:]
    assert table[0].split() == list(COLUMNS)
    assert table[1].startswith("probability 0.66")
    assert max(map(len, table)) <= 96


def test_a_run_that_was_cut_short_is_not_sound():
    with pytest.warns(ConvergenceWarning):
        found = credo.posterior(
            heavy,
            {"x": Parameter()},
            inference="nuts",
            random_state=0,
            stop=credo.inference.Steps(3),
        )
    assert "cut short" in found.diagnose().findings[0]


@pytest.mark.parametrize("inference", ["auto", "nuts", "hmc"])
def test_a_limit_of_time_holds_for_everything(inference):
    def slow(x):
        time.sleep(0.002)
        return heavy(x)

    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = credo.posterior(
            slow, {"x": Parameter()}, inference=inference, random_state=0, seconds=1.0
        )
    # A step that has begun is ended; chains take turns.
    assert time.monotonic() - begin < 6.0
    assert found.status == "reached max_seconds"
    assert not found.diagnose().is_sound
    assert ("k-hat" if inference == "auto" else "warm-up") in found.notes[-1]
    with pytest.raises(ValueError, match="seconds must be a positive number; found 0"):
        credo.posterior(heavy, {"x": Parameter()}, seconds=0)


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
import credo
from credo.inference import Parameter

calls = iter(range(10**9))

def counted(x):
    if next(calls) == 20_000:
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    return -2.0 * np.log1p(x**2 / 3.0)

parameters = {"x": Parameter()}
found = credo.posterior(counted, parameters, inference="nuts", draws=10**6, random_state=0)
print(found)
print(found.draws["x"].shape[1] < 10**6, found.status)
"""


def test_an_interrupted_process_goes_on_with_what_it_has():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no-U-turn sampling: was interrupted" in ended.stdout
    assert "The run was cut short: it was interrupted." in ended.stdout
    assert ended.stdout.splitlines()[-1] == "True was interrupted"


def test_checkpoints_pass_through(tmp_path):
    settings = {"inference": "nuts", "draws": 200, "chains": 2}
    kept = CheckpointFile(tmp_path / "run.credo", seconds=0.0)
    first, again = (
        credo.posterior(coin, SHARE, (7, 3), random_state=seed, checkpoint=kept, **settings)
        for seed in (0, 1)
    )
    assert_array_equal(first.draws["probability"], again.draws["probability"])
    with pytest.raises(ValueError, match="checkpoint must be of the problem"):
        credo.posterior(coin, SHARE, (8, 3), random_state=0, checkpoint=kept, **settings)


@pytest.mark.comparison
def test_arviz_reads_draws_and_what_the_sampler_tells():
    arviz = pytest.importorskip("arviz")
    found = credo.posterior(heavy, {"x": Parameter()}, draws=100, random_state=0)
    read = found.to_arviz()
    assert_array_equal(np.asarray(read["posterior"]["x"]), found.draws["x"])
    assert np.asarray(read["sample_stats"]["diverging"]).dtype == bool
    expected = np.asarray(arviz.bfmi(read))
    numbers = found.diagnose().numbers
    assert numbers["least energy share"] == pytest.approx(float(np.min(expected)), rel=1e-6)


ROWS = np.array([0.9, 1.7, 0.2, 2.4, 1.1])


def level_of_rows(level, data):
    """Return the log density of a level, N(0, 2^2) before, of rows with noise of one."""
    return -0.5 * np.sum((data - level) ** 2) - 0.125 * level**2


def simulated(level, rng):
    return rng.normal(level, 1.0, 5)


def test_predictive_checks_have_the_shares_of_the_closed_form():
    found = credo.posterior(level_of_rows, {"level": Parameter()}, ROWS, random_state=0)
    precision = 5.0 + 0.25
    law = stats.norm(ROWS.sum() / precision, np.sqrt(1.0 / precision + 0.2))
    check = found.predictive_check(simulated, ROWS, n=4000, random_state=0)
    assert check.share_above("mean") == pytest.approx(law.sf(ROWS.mean()), abs=0.035)
    assert check.simulated["mean"].std() == pytest.approx(law.std(), rel=0.05)
    assert check.surprises == ()
    assert "look like simulated ones" in str(check)
    spread = check.table().loc["std"]
    assert spread["observed"] == pytest.approx(ROWS.std())
    assert spread["low"] < spread["mean"] < spread["high"]
    before = found.predictive_check(
        simulated, ROWS + 6.0, prior={"level": Normal(0.0, 2.0)}, n=4000, random_state=0
    )
    assert before.source == "prior"
    exact = stats.norm(0.0, np.sqrt(4.2))
    assert before.share_above("mean") == pytest.approx(exact.sf(ROWS.mean() + 6.0), abs=0.004)
    assert before.surprises == ("mean", "smallest", "largest")
    assert "hardly ever have the mean" in str(before)


def test_predictive_checks_take_dictionaries_and_statistics_of_ones_own():
    found = credo.posterior(level_of_rows, {"level": Parameter()}, ROWS, random_state=0)
    check = found.predictive_check(
        lambda values, rng: np.ones(5) + 0.0 * values["level"],
        np.ones(5),
        {"first": lambda rows: rows[0]},
        n=50,
        random_state=0,
    )
    # All are tied with the data.
    assert check.share_above("first") == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; found 0"),
        ({"observed": ROWS[:3]}, r"shape of observed, \(3,\); found \(5,\)"),
        ({"prior": {}}, r"a distribution for each of \['level'\]; found \[\]"),
        ({"prior": {"level": Normal([0.0, 1.0], 1.0)}}, r"of shape \(\); found \(2,\)"),
    ],
)
def test_predictive_checks_of_other_things_are_refused(settings, message):
    found = credo.posterior(level_of_rows, {"level": Parameter()}, ROWS, random_state=0)
    with pytest.raises(ValueError, match=message):
        found.predictive_check(**({"simulate": simulated, "observed": ROWS} | settings))


def test_a_mode_has_no_spread_and_says_so():
    found = credo.posterior(
        lambda x, s: -((x - 2.0) ** 2).sum() + np.log(s) - s,
        {"x": Parameter(2), "s": Parameter(support="positive")},
        inference="map",
        random_state=0,
    )
    table = found.summary()
    assert list(table.index) == ["x[0]", "x[1]", "s"]
    assert list(table.columns) == ["mode"]
    assert_allclose(table["mode"], [2.0, 2.0, 1.0], atol=1e-4)
    assert found.diagnose().findings[0].startswith("This is a mode and no draw")
    assert "nan" not in str(found)


@pytest.mark.parametrize("inference", ["auto", "map", "nuts"])
def test_settings_that_are_misspelled_are_refused(inference):
    with pytest.raises(TypeError, match="Did you mean 'seconds'"):
        credo.posterior(lambda x: -(x**2), {"x": Parameter()}, inference=inference, secnds=1)


def test_a_checkpoint_of_another_function_is_refused(tmp_path):
    path = tmp_path / "run.credo"

    def drawn(factor):
        return credo.posterior(
            lambda x: -factor * x**2,
            {"x": Parameter()},
            inference="nuts",
            draws=200,
            random_state=0,
            checkpoint=CheckpointFile(path),
        )

    first = drawn(1.0)
    assert np.array_equal(drawn(1.0).draws["x"], first.draws["x"])
    with pytest.raises(ValueError, match="checkpoint must be of the problem"):
        drawn(5.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_constant_slope_on_one_side_is_not_flat(seed):
    found = credo.posterior(
        lambda x: -abs(x - 1.0), {"x": Parameter()}, inference="nuts", random_state=seed
    )
    assert_allclose(found.draws.mean("x"), 1.0, atol=5.0 * found.draws.mean_error("x"))
    assert_allclose(found.draws.std("x"), 2.0**0.5, rtol=0.1)


def test_a_flat_density_with_ends_is_told_how_to_give_them():
    with pytest.raises(ImproperDensity, match=r"support=\(0, 1\)"):
        credo.posterior(
            lambda x: 0.0 if 0.0 < x < 1.0 else -np.inf,
            {"x": Parameter(start=0.5)},
            inference="nuts",
            random_state=0,
        )


def test_particles_find_both_modes_and_the_evidence():
    def two(x):
        return np.logaddexp(-0.5 * (x - 20.0) ** 2, np.log(3.0) - 0.5 * (x + 20.0) ** 2)

    found = credo.posterior(two, {"x": Parameter()}, inference="smc", random_state=0)
    assert found.draws["x"].shape == (4, 1000)
    assert found.log_evidence == pytest.approx(
        np.log(4.0 * np.sqrt(2.0 * np.pi)), abs=4.0 * found.log_evidence_error
    )
    assert found.log_evidence_error < 0.1
    assert (found.draws["x"] < 0.0).mean() == pytest.approx(0.75, abs=0.1)
    assert found.diagnose().is_sound


@pytest.mark.parametrize("inference", ["metropolis", "variational"])
def test_other_engines_are_asked_for_by_name(inference):
    def density(level, scale):
        return -0.5 * (level - 3.0) ** 2 + 4.0 * np.log(scale) - 2.0 * scale

    parameters = {"level": Parameter(), "scale": Parameter(support="positive")}
    found = credo.posterior(density, parameters, inference=inference, random_state=0)
    assert found.draws["level"].shape == (4, 1000)
    assert found.draws.mean("level") == pytest.approx(3.0, abs=0.25)
    assert found.draws.mean("scale") == pytest.approx(2.5, abs=0.3)


@pytest.mark.parametrize("inference", ["auto", "nuts"])
def test_a_density_that_rises_without_end_is_improper(inference):
    y = np.array([1.0, 4.0, 2.5])

    def density(x, level):
        return 0.5 * np.sum((y - level) ** 2) - 0.5 * x**2

    with pytest.raises(ImproperDensity, match="does not along level"):
        credo.posterior(
            density,
            {"x": Parameter(), "level": Parameter()},
            inference=inference,
            random_state=0,
        )


def test_a_density_in_steps_is_no_flat_one():
    def steps(x):
        return -0.5 * np.round(x) ** 2

    with pytest.raises(
        BadDensity, match="slopes of zero by x, along which it changes in steps"
    ):
        credo.posterior(steps, {"x": Parameter()}, random_state=0)


def test_probabilities_near_zero_are_reached():
    def sparse(p):
        return -0.9 * np.sum(np.log(p))

    found = credo.posterior(sparse, {"p": Parameter(3, "simplex")}, random_state=0)
    error = found.draws.mean_error("p")
    assert np.all(np.abs(found.draws.mean("p") - 1.0 / 3.0) < 4.0 * error)
    exact = stats.beta(0.1, 0.2).cdf(1e-20)
    small = (found.draws["p"] < 1e-20).astype(float)
    assert np.all(np.abs(small.mean(axis=(0, 1)) - exact) < 4.0 * mean_error(small))
