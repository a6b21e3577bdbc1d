"""Metropolis and Metropolis-Hastings against exact transition matrices and known targets."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from credo.data import CheckpointFile
from credo.distributions import MultivariateNormal
from credo.inference import (
    BatchedDensity,
    ConvergenceWarning,
    Drawn,
    Inference,
    Metropolis,
    MetropolisHastings,
    MoveProblem,
    Parameters,
    Seconds,
    Steps,
    run,
)
from credo.numerics.array import Array
from credo.numerics.special.bijection import Interval, positive, real
from credo.numerics.status import Status

TARGET = np.array([0.2, 0.3, 0.5])
EVEN = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
EVEN_MOVES = np.array([[0, 0.5, 0.5], [1 / 3, 1 / 6, 1 / 2], [0.2, 0.3, 0.5]])
UNEVEN = np.array([[0, 0.8, 0.2], [0.3, 0, 0.7], [0.5, 0.5, 0]])
UNEVEN_MOVES = np.array([[0.35, 0.45, 0.2], [0.3, 0, 0.7], [0.08, 0.42, 0.5]])
WITHOUT_FACTOR = np.array([0.1666666667, 0.3194444444, 0.5138888889])


def _states(proposal: Array, sign: float = 1.0) -> MoveProblem:
    """Return three states with moves by a table; sign 0 or -1 breaks Hastings' factor."""

    def log_density(values: dict[str, Array]) -> Array:
        code = values["s"]
        is_state = np.isin(code, [0.0, 1.0, 2.0])
        found = TARGET[np.where(is_state, code, 0).astype(int)]
        return np.where(is_state, np.log(found), -np.inf)

    def moved(values: dict[str, Array], rng: Generator) -> tuple[dict[str, Array], Array]:
        at = values["s"].astype(int)
        to = (rng.random((len(at), 1)) > proposal[at].cumsum(axis=1)).sum(axis=1)
        factor = np.log(proposal[to, at]) - np.log(proposal[at, to])
        return {"s": to.astype(float)}, sign * factor

    return MoveProblem(BatchedDensity(Parameters({"s": real()}), log_density), moved)


def _visited(problem: MoveProblem) -> Inference:
    # Starts at the guess itself, which is a state.
    engine = MetropolisHastings(200, 20, 200, spread=0.0)
    stop = Drawn(200, 20) | Steps(10)
    return run(engine, problem, np.random.default_rng(0), stop=stop)


def _counted_moves(states: Array) -> Array:
    table = np.zeros((3, 3))
    codes = states.astype(int)
    np.add.at(table, (codes[:, :-1], codes[:, 1:]), 1.0)
    return table / table.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("proposal", "expected"), [(EVEN, EVEN_MOVES), (UNEVEN, UNEVEN_MOVES)])
def test_moves_have_the_worked_transition_probabilities(
    proposal: Array, expected: Array
) -> None:
    states = _visited(_states(proposal)).posterior["s"]
    np.testing.assert_allclose(_counted_moves(states), expected, atol=0.025)
    share = np.bincount(states.astype(int).ravel()) / states.size
    np.testing.assert_allclose(share, TARGET, atol=0.012)


def test_without_hastings_factor_or_with_its_inverse_the_target_is_missed() -> None:
    without = _visited(_states(UNEVEN, sign=0.0)).posterior["s"].astype(int).ravel()
    share = np.bincount(without) / without.size
    np.testing.assert_allclose(share, WITHOUT_FACTOR, atol=0.012)
    inverse = _visited(_states(UNEVEN, sign=-1.0)).posterior["s"].astype(int).ravel()
    assert np.abs(np.bincount(inverse) / inverse.size - TARGET).max() > 0.03


def test_a_refused_move_records_the_place_once_more() -> None:
    engine = MetropolisHastings(500, 0, 2, spread=0.0, keeps_proposals=True)
    found = run(engine, _states(UNEVEN), np.random.default_rng(0))
    state = found.state
    before = np.concatenate([np.zeros((2, 1, 1)), state.draws[:, :-1]], axis=1)
    expected = np.where(state.is_accepted[..., None], state.proposals, before)
    np.testing.assert_array_equal(state.draws, expected)
    assert 0 < state.acceptance_rate < 1
    assert state.acceptance_rate == pytest.approx(state.is_accepted.mean(), abs=1e-15)
    logs = np.log(TARGET[state.draws[..., 0].astype(int)])
    np.testing.assert_allclose(state.log_densities, logs)


def _stretched(values: dict[str, Array], rng: Generator) -> tuple[dict[str, Array], Array]:
    log_factor = rng.normal(size=values["x"].shape)
    return {"x": values["x"] * np.exp(log_factor)}, log_factor


def test_an_uneven_move_of_a_positive_number_keeps_its_distribution() -> None:
    """Without the factor x' / x the draws of Gamma(3, 1) would be of Gamma(2, 1)."""
    target = BatchedDensity(
        Parameters({"x": positive()}), lambda v: 2 * np.log(v["x"]) - v["x"]
    )
    engine = MetropolisHastings(500, 100, 40)
    found = run(engine, MoveProblem(target, _stretched), np.random.default_rng(1))
    mean, error = found.posterior.mean("x"), found.posterior.mean_error("x")
    assert mean == pytest.approx(3.0, abs=4 * float(error))
    assert float(error) < 0.1
    x = found.posterior["x"][:, ::10].ravel()
    assert stats.kstest(x, "gamma", (3,)).pvalue > 1e-4


def test_values_outside_the_support_are_refused_not_an_error() -> None:
    target = BatchedDensity(
        Parameters({"x": Interval(0.0, 1.0)}), lambda v: np.zeros(len(v["x"]))
    )

    def moved(values: dict[str, Array], rng: Generator) -> tuple[dict[str, Array], float]:
        return {"x": values["x"] + rng.uniform(-0.7, 0.7, size=values["x"].shape)}, 0.0

    engine = MetropolisHastings(400, 100, 40, keeps_proposals=True)
    found = run(engine, MoveProblem(target, moved), np.random.default_rng(0))
    x = found.posterior["x"][:, ::10].ravel()
    assert stats.kstest(x, "uniform").pvalue > 1e-4
    is_outside = np.isnan(found.state.proposals[..., 0])
    assert is_outside.any()
    assert not found.state.is_accepted[is_outside].any()


def _normal(scale: float = 1.0) -> tuple[BatchedDensity, Array]:
    covariance = scale**2 * np.array([[4.0, 1.8], [1.8, 1.0]])
    law = MultivariateNormal(scale * np.array([1.0, -2.0]), covariance)
    target = BatchedDensity(Parameters({"x": real(2)}), lambda v: law.log_prob(v["x"]))
    return target, covariance


def _quiet(engine: Metropolis, target: BatchedDensity, seed: int, **more: Any) -> Inference:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(engine, target, np.random.default_rng(seed), **more)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_adapted_walks_find_a_normal_in_any_unit(scale: float) -> None:
    target, covariance = _normal(scale)
    found = run(Metropolis(800, 500, 20), target, np.random.default_rng(0))
    draws = found.posterior
    error = draws.mean_error("x")
    assert np.all(np.abs(draws.mean("x") - scale * np.array([1.0, -2.0])) < 4 * error)
    np.testing.assert_allclose(np.cov(draws.pooled("x").T), covariance, rtol=0.25)
    assert 0.15 < found.state.acceptance_rate < 0.5
    assert found.r_hat < 1.02
    assert found.effective_draws > 500
    # What was learned has the shape of the target.
    learned = found.state.factor @ found.state.factor.T
    assert learned[0, 1] / np.sqrt(learned[0, 0] * learned[1, 1]) == pytest.approx(0.9, abs=0.1)


def test_nothing_adapts_after_the_warm_up() -> None:
    target, _ = _normal()
    short = _quiet(Metropolis(100, 500), target, 0)
    long = _quiet(Metropolis(700, 500), target, 0)
    np.testing.assert_array_equal(short.state.scale, long.state.scale)
    np.testing.assert_array_equal(short.state.factor, long.state.factor)
    assert long.posterior["x"].shape == (4, 700, 2)
    fixed = _quiet(Metropolis(300, 0, scale=0.7), target, 0)
    assert fixed.state.scale.tolist() == [0.7] * 4
    np.testing.assert_array_equal(fixed.state.factor, np.eye(2))


def test_a_chain_started_far_away_needs_its_warm_up() -> None:
    """Draws from the way there spoil the mean, and R-hat says so; after it, they do not."""
    target, _ = _normal()
    engine = Metropolis(600, 0, 20, scale=1.5, spread=60.0)
    with pytest.warns(ConvergenceWarning, match="R-hat"):
        found = run(engine, target, np.random.default_rng(3))
    assert found.r_hat > 1.05
    later = found.posterior.after(300)
    assert later["x"].shape == (20, 300, 2)
    np.testing.assert_array_equal(later["x"], found.posterior["x"][:, 300:])
    assert float(later.r_hat("x").max()) < float(found.posterior.r_hat("x").max())
    gap = np.abs(later.mean("x") - [1.0, -2.0])
    assert np.all(gap < 4 * later.mean_error("x"))
    # Draws are correlated: worth far fewer than there are.
    assert later.effective_draws("x").max() < 0.5 * 20 * 300


def test_steps_of_metropolis_follow_the_rule_of_acceptance() -> None:
    """Every decision is repeated from the log densities that were kept."""
    target, _ = _normal()
    engine = Metropolis(200, 0, 3, scale=1.2, keeps_proposals=True)
    state = _quiet(engine, target, 5).state
    proposed = target.log_densities(state.proposals.reshape(-1, 2)).reshape(3, 200)
    rise = proposed[:, 1:] - state.log_densities[:, :-1]
    assert state.is_accepted[:, 1:][rise >= 0].all()
    fall = rise < 0
    chance = np.exp(rise[fall])
    taken = state.is_accepted[:, 1:][fall]
    z = (taken - chance).sum() / np.sqrt((chance * (1 - chance)).sum())
    assert abs(z) < 4
    np.testing.assert_allclose(
        state.log_densities, target.log_densities(state.draws.reshape(-1, 2)).reshape(3, 200)
    )
    gaps = state.proposals[:, 1:] - state.draws[:, :-1]
    assert gaps.std() == pytest.approx(1.2, rel=0.1)


def test_chains_of_the_driver_stand_side_by_side(tmp_path: Path) -> None:
    target, _ = _normal()
    found = _quiet(Metropolis(300, 150, 2), target, 0, chains=2)
    assert found.posterior["x"].shape == (4, 300, 2)
    file = CheckpointFile(tmp_path / "chain.credo")
    engine = Metropolis(300, 150, 2, keeps_proposals=True)
    first = _quiet(engine, target, 1, checkpoint=file)
    again = _quiet(engine, target, 2, checkpoint=file)
    np.testing.assert_array_equal(first.state.draws, again.state.draws)


def test_a_run_that_is_stopped_in_its_warm_up_says_that_nothing_is_known() -> None:
    target, _ = _normal()
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        found = run(
            Metropolis(1000, 100_000), target, np.random.default_rng(0), stop=Seconds(0.0)
        )
    assert found.status is Status.MAX_SECONDS
    assert found.error == np.inf


def test_chains_that_never_move_are_said_loudly() -> None:
    target, _ = _normal()
    with pytest.warns(ConvergenceWarning, match="3 of 3 that never did"):
        found = run(Metropolis(50, 0, 3, scale=1e9), target, np.random.default_rng(0))
    assert found.error == np.inf
    assert found.effective_draws == 0.0


def test_bad_problems_and_settings_are_refused() -> None:
    nowhere = BatchedDensity(Parameters({"x": real()}), lambda v: np.full(len(v["x"]), -np.inf))
    with pytest.raises(ValueError, match="4 of 4 chains in 100 tries"):
        run(Metropolis(), nowhere, np.random.default_rng(0))
    with pytest.raises(ValueError, match="scale must be positive"):
        Metropolis(scale=0.0)
    target, _ = _normal()
    lacking = MoveProblem(target, lambda values, rng: ({}, 0.0))
    with pytest.raises(ValueError, match="propose must return values of the shapes"):
        run(MetropolisHastings(), lacking, np.random.default_rng(0))
