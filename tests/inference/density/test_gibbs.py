"""Gibbs sampling against exact joint distributions, transition tables and quadrature."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from credo import BayesianNetwork
from credo.data import CheckpointFile
from credo.distributions import Gamma, Normal
from credo.families import BernoulliStatistics, BetaBernoulli, NormalKnownVariance
from credo.families import NormalStatistics as Rows
from credo.graphs import ConditionalLinearGaussian, LinearGaussian
from credo.inference import BlockProblem, Drawn, Gibbs, Inference, Steps, run
from credo.numerics.array import Array

JOINT = np.array([[0.1, 0.3], [0.2, 0.4]])
NUMBERS = np.array([1.3, 0.2, 2.9, 1.7, 3.4, 0.6])
ROWS = Rows.of(NUMBERS[:, None])
N_CHAINS = 20


def _table() -> BlockProblem:
    """Return two binary variables with a table, drawn by functions of a Generator."""

    def of_first(values: dict[str, Array]) -> Any:
        column = JOINT[:, int(values["b"])]
        return lambda rng: float(rng.random() < column[1] / column.sum())

    def of_second(values: dict[str, Array]) -> Any:
        row = JOINT[int(values["a"])]
        return lambda rng: float(rng.random() < row[1] / row.sum())

    return BlockProblem({"a": 0.0, "b": 0.0}, {"a": of_first, "b": of_second})


def _exact_sweep() -> Array:
    """Return the transition table over (a, b) of one sweep, first a and then b."""
    of_a, of_b = JOINT / JOINT.sum(axis=0), JOINT / JOINT.sum(axis=1, keepdims=True)
    sweep = np.zeros((4, 4))
    for b in range(2):
        for a_new in range(2):
            for b_new in range(2):
                sweep[[b, 2 + b], 2 * a_new + b_new] = of_a[a_new, b] * of_b[a_new, b_new]
    return sweep


def test_sweeps_have_the_exact_transition_table_and_keep_the_joint_one() -> None:
    stop = Drawn(4000, 10) | Steps(60)
    rng = np.random.default_rng(0)
    found = run(Gibbs(4000, 10, 2), _table(), rng, stop=stop).posterior
    code = (2 * found["a"] + found["b"]).astype(int)
    share = np.bincount(code.ravel(), minlength=4) / code.size
    np.testing.assert_allclose(share, JOINT.ravel(), atol=0.02)
    table = np.zeros((4, 4))
    np.add.at(table, (code[:, :-1], code[:, 1:]), 1.0)
    exact = _exact_sweep()
    np.testing.assert_allclose(exact.sum(axis=1), 1.0)
    np.testing.assert_allclose(JOINT.ravel() @ exact, JOINT.ravel(), atol=1e-12)
    np.testing.assert_allclose(table / table.sum(axis=1, keepdims=True), exact, atol=0.06)


def _pair(correlation: float) -> BlockProblem:
    root = np.sqrt(1 - correlation**2)
    return BlockProblem(
        lambda rng: {"x": rng.normal(), "y": rng.normal()},
        {
            "x": lambda values: Normal(correlation * values["y"], root),
            "y": lambda values: Normal(correlation * values["x"], root),
        },
        is_batched=True,
    )


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_correlated_normals_come_out_and_remember_the_square_of_their_correlation(
    scan: str,
) -> None:
    found = run(Gibbs(500, 20, 20, scan), _pair(0.8), np.random.default_rng(1)).posterior
    covariance = found.covariance("x", "y")
    np.testing.assert_allclose(covariance, [[1, 0.8], [0.8, 1]], atol=0.12)
    assert found.mean("x") == pytest.approx(0.0, abs=4 * float(found.mean_error("x")))
    if scan == "systematic":
        x = found["x"]
        lagged = np.mean(x[:, 1:] * x[:, :-1]) / np.mean(x**2)
        assert lagged == pytest.approx(0.64, abs=0.05)
        # An autoregression of coefficient 0.64 is worth (1 - 0.64) / (1 + 0.64) of its draws.
        assert float(found.effective_draws("x")) == pytest.approx(10_000 * 0.2195, rel=0.25)


def _mean_and_precision() -> BlockProblem:
    """Return normal numbers with a normal prior of their mean, a gamma one of precision."""
    n = len(NUMBERS)

    rows = Rows.of(np.repeat(NUMBERS[:, None], N_CHAINS, axis=1))

    def of_mean(values: dict[str, Array]) -> Any:
        # One belief for each chain: the same numbers, seen with its own variance.
        prior = NormalKnownVariance(0.0, 2.0, 1.0 / values["precision"])
        return prior.update(rows if len(values["precision"]) > 1 else ROWS).parameters()

    def of_precision(values: dict[str, Array]) -> Gamma:
        scatter = ((NUMBERS - values["mean"][:, None]) ** 2).sum(axis=1)
        return Gamma(2.0 + 0.5 * n, 1.5 + 0.5 * scatter)

    return BlockProblem(
        {"mean": 0.0, "precision": 1.0},
        {"mean": of_mean, "precision": of_precision},
        is_batched=True,
    )


def _log_joint(values: dict[str, Array]) -> float:
    mean, precision = float(values["mean"][0]), float(values["precision"][0])
    log_prior = stats.norm(0, 2).logpdf(mean) + stats.gamma(2, scale=1 / 1.5).logpdf(precision)
    return float(log_prior + stats.norm(mean, precision**-0.5).logpdf(NUMBERS).sum())


def _moment(power_of_mean: int, power_of_precision: int) -> float:
    """Return a moment of the joint density, by a fine grid; not normalized."""
    mean, precision = np.meshgrid(np.linspace(-4, 7, 800), np.linspace(1e-4, 8, 800))
    scatter = ((NUMBERS[:, None, None] - mean) ** 2).sum(axis=0)
    log_joint = -(mean**2) / 8 + np.log(precision) * (1 + 0.5 * len(NUMBERS))
    density = np.exp(log_joint - precision * (1.5 + 0.5 * scatter))
    return float((mean**power_of_mean * precision**power_of_precision * density).sum())


def test_conjugate_blocks_find_the_moments_of_quadrature() -> None:
    found = run(Gibbs(300, 50, N_CHAINS), _mean_and_precision(), np.random.default_rng(0))
    draws, total = found.posterior, _moment(0, 0)
    assert found.r_hat < 1.02
    for name, powers in (("mean", (1, 0)), ("precision", (0, 1))):
        error = float(draws.mean_error(name))
        assert draws.mean(name) == pytest.approx(_moment(*powers) / total, abs=4 * error)
        assert error < 0.03
    variance = _moment(2, 0) / total - (_moment(1, 0) / total) ** 2
    assert float(draws.std("mean")) == pytest.approx(np.sqrt(variance), rel=0.06)


def test_conditionals_are_checked_against_the_joint_density() -> None:
    problem = _mean_and_precision()
    problem.require_consistent(_log_joint, np.random.default_rng(0))

    def wrong(values: dict[str, Array]) -> Gamma:
        return Gamma(2.0 + 0.5 * len(NUMBERS), np.full(1, 1.5))

    blocks = {**problem.conditionals, "precision": wrong}
    broken = BlockProblem(problem.start, blocks, is_batched=True)
    with pytest.raises(ValueError, match="conditional of 'precision'"):
        broken.require_consistent(_log_joint, np.random.default_rng(0))


def test_two_levels_of_coins_with_conjugate_beliefs() -> None:
    """A shared mixture of two kinds of coins: heads of each coin, and which kind it is."""
    flips = np.array([[1, 0, 1], [1, 0, 1], [1, 1, 1], [0, 0, 1]])
    statistics = BernoulliStatistics.of(flips)

    def of_heads(values: dict[str, Array]) -> Any:
        kind = values["kind"]
        return BetaBernoulli(1.0 + 4 * kind, 5.0 - 4 * kind).update(statistics).parameters()

    def of_kind(values: dict[str, Array]) -> Any:
        odds = (values["heads"] / (1 - values["heads"])) ** 4
        return lambda rng: (rng.random(3) < odds / (1 + odds)).astype(float)

    problem = BlockProblem(
        {"heads": np.full(3, 0.5), "kind": np.zeros(3)}, {"heads": of_heads, "kind": of_kind}
    )
    draws = run(Gibbs(2500, 50, 1), problem, np.random.default_rng(0)).posterior
    one, two = (
        np.exp(BetaBernoulli(np.full(3, a), np.full(3, b)).log_evidence(statistics))
        for a, b in ((1.0, 5.0), (5.0, 1.0))
    )
    error = draws.mean_error("kind")
    assert np.all(np.abs(draws.mean("kind") - two / (one + two)) < 4 * error + 1e-3)
    assert float(error.max()) < 0.04


def test_state_then_emission_of_a_hidden_chain() -> None:
    """Ancestral draws: a state, the next one, and a number that each emits."""
    low, high = LinearGaussian(-1.0, scale=0.5), LinearGaussian(2.0, scale=1.0)
    emission = ConditionalLinearGaussian({False: low, True: high})
    net = BayesianNetwork(
        "s0 -> s1, x0; s1 -> x1",
        cpts={
            "s0": [0.3, 0.7],
            "s1": [[0.9, 0.1], [0.4, 0.6]],
            "x0": emission,
            "x1": emission,
        },
    )
    rows = net.sample(20_000, rng=np.random.default_rng(0))
    later = 0.3 * 0.1 + 0.7 * 0.6
    assert rows["s1"].astype(int).mean() == pytest.approx(later, abs=0.015)
    assert rows["x1"].mean() == pytest.approx(-1 + 3 * later, abs=0.05)
    ones = rows[rows["s0"].astype(int) == 1]
    assert ones["x0"].mean() == pytest.approx(2.0, abs=0.04)
    assert ones["s1"].astype(int).mean() == pytest.approx(0.6, abs=0.02)


def _ran(seed: int, file: CheckpointFile) -> Inference:
    return run(Gibbs(300, 150, 2), _pair(0.3), np.random.default_rng(seed), checkpoint=file)


def test_a_checkpoint_goes_on_to_the_same_bits_and_chains_are_joined(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "gibbs.credo")
    np.testing.assert_array_equal(_ran(1, file).state.draws, _ran(2, file).state.draws)
    found = run(Gibbs(200, 50, 2), _pair(0.3), np.random.default_rng(0), chains=2)
    assert found.posterior["x"].shape == (4, 200)
    assert found.effective_draws > 300


def test_bad_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="start must have a value for each block"):
        BlockProblem({"x": 0.0}, {"y": lambda values: Normal(0.0, 1.0)})
    with pytest.raises(ValueError, match="scan must be"):
        Gibbs(scan="best")
    nothing = BlockProblem({"x": 0.0}, {"x": lambda values: 3.0})
    with pytest.raises(TypeError, match="must return a distribution"):
        run(Gibbs(), nothing, np.random.default_rng(0))
    vector = BlockProblem({"x": 0.0}, {"x": lambda values: Normal(np.zeros(2), 1.0)})
    with pytest.raises(ValueError, match=r"have the shape \(\)"):
        run(Gibbs(), vector, np.random.default_rng(0))
