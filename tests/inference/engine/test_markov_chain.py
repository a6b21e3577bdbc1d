"""Measures of Markov chains against ArviZ, theory, and chains that are known to be bad."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from credo.inference.engine import draws as markov_chain
from credo.numerics.array import Array
from inference.engine.chains import awkward_chains

STORED = json.loads((Path(__file__).parent / "arviz.json").read_text())["chains"]
CHAINS = awkward_chains()
FOUND: dict[str, Callable[[Array], Array]] = {
    "r_hat": markov_chain.r_hat,
    "effective_draws": markov_chain.effective_draws,
    "mean_effective_draws": lambda x: markov_chain.effective_draws(x, is_ranked=False),
    "tail_effective_draws": markov_chain.tail_effective_draws,
    "mean_error": markov_chain.mean_error,
    "std_error": markov_chain.std_error,
    "quantile_error": lambda x: markov_chain.quantile_error(x, 0.25),
}


@pytest.mark.parametrize("measure", FOUND)
def test_every_measure_is_that_of_arviz(measure: str) -> None:
    for name, chain in CHAINS.items():
        # ArviZ takes what spreads by less than 1e-15 for constant, whatever its unit is.
        if name.startswith("tiny"):
            continue
        stored = STORED[name][measure]
        if measure == "std_error" and name.startswith("huge"):
            continue
        expected = np.nan if stored is None else float(stored)
        found = float(FOUND[measure](chain))
        np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"{measure} of {name}")


@pytest.mark.parametrize("measure", [name for name in FOUND if name != "r_hat"])
def test_units_do_not_matter(measure: str) -> None:
    for name, chain in CHAINS.items():
        unit = {"huge": 1e150, "tiny": 1e-20}.get(name.split()[0])
        if unit is not None:
            one = CHAINS[name.replace(name.split()[0], "independent")]
            factor = unit if measure.endswith("_error") else 1.0
            expected = factor * float(FOUND[measure](one))
            assert float(FOUND[measure](chain)) == pytest.approx(expected, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("by", [-0.9, -0.5, 0.0, 0.9])
def test_errors_are_the_spread_of_repetitions_of_slow_and_jumping_chains(by: float) -> None:
    rng = np.random.default_rng(5)
    chains = rng.normal(size=(4, 500, 300))
    for t in range(1, 500):
        chains[:, t] = by * chains[:, t - 1] + np.sqrt(1 - by**2) * chains[:, t]
    spread = chains.std(axis=(0, 1)).std()
    assert markov_chain.std_error(chains).mean() == pytest.approx(spread, rel=0.25)


@pytest.mark.parametrize("measure", FOUND)
def test_quantities_of_an_array_are_measured_one_by_one(measure: str) -> None:
    chains = [chain for name, chain in CHAINS.items() if name.endswith(" 4x100")]
    together = np.stack(chains, axis=-1).reshape(4, 100, 2, len(chains) // 2)
    each = np.array([float(FOUND[measure](chain)) for chain in chains])
    found = FOUND[measure](together)
    np.testing.assert_allclose(found, each.reshape(2, -1), rtol=1e-10)


def test_a_slow_chain_is_worth_what_its_autocorrelation_says() -> None:
    rng = np.random.default_rng(0)
    by, n = 0.8, 20_000
    chain = np.empty((4, n))
    chain[:, 0] = rng.normal(size=4)
    for t in range(1, n):
        chain[:, t] = by * chain[:, t - 1] + np.sqrt(1 - by**2) * rng.normal(size=4)
    expected = 4 * n * (1 - by) / (1 + by)
    assert float(markov_chain.effective_draws(chain)) == pytest.approx(expected, rel=0.1)
    error = np.sqrt((1 + by) / (1 - by) / (4 * n))
    assert float(markov_chain.mean_error(chain)) == pytest.approx(error, rel=0.1)


def test_the_error_of_a_mean_is_the_spread_of_means() -> None:
    rng = np.random.default_rng(1)
    independent = rng.normal(size=(2, 200, 400))
    spread = independent.mean(axis=(0, 1)).std()
    stated = markov_chain.mean_error(independent).mean()
    assert stated == pytest.approx(spread, rel=0.1)
    spread = np.quantile(independent, 0.25, axis=(0, 1)).std()
    assert markov_chain.quantile_error(independent, 0.25).mean() == pytest.approx(
        spread, rel=0.15
    )
    spread = independent.std(axis=(0, 1)).std()
    assert markov_chain.std_error(independent).mean() == pytest.approx(spread, rel=0.15)


def test_chains_of_different_spread_are_found_out() -> None:
    rng = np.random.default_rng(2)
    chains = rng.normal(size=(4, 1000)) * np.array([[1.0], [1.0], [1.0], [4.0]])
    assert float(markov_chain.r_hat(chains)) > 1.1


def test_a_single_chain_is_compared_by_its_halves() -> None:
    rng = np.random.default_rng(3)
    steady = rng.normal(size=(1, 1000))
    assert float(markov_chain.r_hat(steady)) < 1.02
    assert float(markov_chain.r_hat(steady + np.linspace(0, 3, 1000))) > 1.2


def test_a_draw_that_is_no_number_makes_the_result_none() -> None:
    chain = np.zeros((2, 10))
    chain[0, 3] = np.nan
    assert all(np.isnan(measure(chain)) for measure in FOUND.values())


def test_axes_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"axes \(chains, draws"):
        markov_chain.r_hat(np.zeros(5))
