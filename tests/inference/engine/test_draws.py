"""Draws: their table, weights against many equal draws, and what ArviZ takes."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from credo.inference.engine import draws as markov_chain
from credo.inference.engine.draws import Draws
from naive import peer

RNG = np.random.default_rng(0)
DRAWS = Draws(
    {"level": RNG.normal(2.0, 3.0, (4, 400)), "slope": RNG.standard_t(3, (4, 400, 2, 3))}
)


def test_the_table_has_a_row_for_each_number() -> None:
    table = DRAWS.summary(coverage=0.8)
    slopes = [f"slope[{i}, {j}]" for i in range(2) for j in range(3)]
    assert list(table.index) == ["level", *slopes]
    one = DRAWS["slope"][:, :, 1, 2]
    row = table.loc["slope[1, 2]"]
    expected = {
        "mean": one.mean(),
        "std": one.std(ddof=1),
        "low": np.quantile(one, 0.1),
        "high": np.quantile(one, 0.9),
        "mean_error": markov_chain.mean_error(one),
        "std_error": markov_chain.std_error(one),
        "effective_draws": markov_chain.effective_draws(one),
        "tail_effective_draws": markov_chain.tail_effective_draws(one),
        "r_hat": markov_chain.r_hat(one),
    }
    assert list(table.columns) == list(expected)
    for name, value in expected.items():
        assert row[name] == pytest.approx(float(value), rel=1e-12), name
    assert "slope[1, 2]" in DRAWS._repr_html_()


def test_weights_of_two_are_draws_twice() -> None:
    x = RNG.normal(size=(1, 50))
    twice = np.concatenate([x, x[:, :20]], axis=1)
    logs = np.log(np.where(np.arange(50) < 20, 2.0, 1.0))[None] - 700.0
    weighted, repeated = Draws({"x": x}, logs), Draws({"x": twice})
    assert weighted.mean("x") == pytest.approx(repeated.mean("x"))
    moment = np.square(twice - twice.mean()).mean()
    worth = weighted.effective_draws("x")
    assert float(worth) == pytest.approx(70**2 / (20 * 4 + 30))
    assert weighted.std("x") ** 2 == pytest.approx(moment * worth / (worth - 1))
    assert weighted.quantile("x", 0.3) == np.quantile(twice, 0.3, method="inverted_cdf")
    assert np.isnan(weighted.r_hat("x"))


def test_errors_of_weighted_draws_are_the_spread_of_repetitions() -> None:
    n, repeats = 500, 300
    x = RNG.normal(size=(repeats, n))
    logs = 0.8 * x
    each = [Draws({"x": x[i][None]}, logs[i][None]) for i in range(repeats)]
    means = np.array([float(draws.mean("x")) for draws in each])
    assert means.mean() == pytest.approx(0.8, abs=0.03)
    told = np.mean([float(draws.mean_error("x")) for draws in each])
    assert told == pytest.approx(means.std(), rel=0.15)
    spread = np.std([float(draws.std("x")) for draws in each])
    assert np.mean([float(draws.std_error("x")) for draws in each]) == pytest.approx(
        spread, rel=0.2
    )


def test_resampled_draws_follow_the_weights() -> None:
    values, logs = np.arange(3.0)[None], np.log([[0.2, 0.3, 0.5]])
    picked = Draws({"x": values}, logs).resampled(100_000, np.random.default_rng(1))
    share = np.bincount(picked.pooled("x").astype(int)) / 100_000
    np.testing.assert_allclose(share, [0.2, 0.3, 0.5], atol=0.006)


def test_a_warm_up_is_left_out_and_chains_are_joined() -> None:
    late = DRAWS.after(100)
    assert (late.n_chains, late.n_draws) == (4, 300)
    np.testing.assert_array_equal(late["slope"], DRAWS["slope"][:, 100:])
    parts = [Draws({"x": np.full((1, 5), i)}, np.full((1, 5), -i)) for i in (0.0, 1.0)]
    both = Draws.joined(parts)
    assert both.n_chains == 2
    assert both.log_weight is not None
    np.testing.assert_array_equal(both["x"][:, 0], [0.0, 1.0])
    assert both.mean("x") == pytest.approx(np.exp(-1) / (1 + np.exp(-1)))


def test_axes_and_names_are_asked_for() -> None:
    with pytest.raises(ValueError, match="share the axes"):
        Draws({"x": np.zeros((2, 5)), "y": np.zeros((2, 6))})
    with pytest.raises(ValueError, match="share the axes"):
        Draws({"x": np.zeros(5)})
    with pytest.raises(KeyError, match="level"):
        DRAWS["levle"]


@pytest.mark.comparison
def test_arviz_takes_them_and_finds_the_same() -> None:
    arviz = peer("arviz")
    handed = DRAWS.to_arviz()
    table = DRAWS.summary()
    r_hat = arviz.rhat(handed)
    found = np.asarray(r_hat["slope"] if "slope" in r_hat else r_hat["posterior"]["slope"])
    np.testing.assert_allclose(found.ravel(), table["r_hat"].iloc[1:], rtol=1e-8)


def test_weights_have_no_place_in_arviz() -> None:
    with pytest.raises(ValueError, match="count alike"):
        Draws({"x": np.zeros((1, 4))}, np.zeros((1, 4))).to_arviz()


def test_weighted_and_plain_draws_are_not_mixed() -> None:
    plain = Draws({"x": np.zeros((1, 4))})
    with pytest.raises(ValueError, match="all have weights, or none; found 1"):
        Draws.joined([plain, Draws({"x": np.zeros((1, 4))}, np.zeros((1, 4)))])
    with pytest.raises(ValueError, match="found 0"):
        Draws.joined([])


def test_lists_and_truth_values_become_numbers() -> None:
    lists: Any = {"is_on": [[True, False, True, True]]}
    draws = Draws(lists)
    assert float(draws.mean("is_on")) == 0.75
    assert draws.summary().loc["is_on", "std"] == pytest.approx(0.5)


def test_draws_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one draw"):
        DRAWS.after(400)
    with pytest.raises(ValueError, match="finite for some draw"):
        Draws({"x": np.zeros((1, 2))}, np.full((1, 2), -np.inf))


def test_summary_of_draws_of_a_regression_has_its_posterior_moments() -> None:
    """Weights of the worked line: mean, covariance, standard errors, effective number."""
    mean = np.array([0.1684210526, 0.8842105263])
    covariance = np.array([[0.1585964912, -0.0673684211], [-0.0673684211, 0.0463157895]])
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(mean, covariance, size=(4, 5000))
    draws = Draws({"intercept": x[..., 0], "slope": x[..., 1]})
    table = draws.summary(coverage=0.9)
    spread = np.sqrt(np.diagonal(covariance))
    assert np.all(np.abs(table["mean"] - mean) < 4 * table["mean_error"])
    np.testing.assert_allclose(table["mean"], x.mean(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose(table["mean_error"], spread / np.sqrt(20_000), rtol=0.1)
    np.testing.assert_allclose(table["std"], x.reshape(-1, 2).std(axis=0, ddof=1), rtol=1e-12)
    assert np.all(np.abs(table["std"] - spread) < 4 * table["std_error"])
    np.testing.assert_allclose(table["std_error"], spread / np.sqrt(40_000), rtol=0.1)
    np.testing.assert_allclose(table["effective_draws"], 20_000, rtol=0.1)
    np.testing.assert_allclose(table["high"] - table["mean"], 1.6449 * spread, rtol=0.03)
    np.testing.assert_allclose(draws.covariance(), np.cov(x.reshape(-1, 2).T), rtol=1e-12)
    np.testing.assert_allclose(draws.covariance("slope"), [[np.var(x[..., 1], ddof=1)]])
    np.testing.assert_allclose(draws.covariance(), covariance, rtol=0.05)


def test_covariance_of_weighted_draws_counts_weights() -> None:
    rng = np.random.default_rng(1)
    x = 2.0 * rng.normal(size=(1, 40_000, 2))
    log_weight = -0.5 * (x**2).sum(axis=2) * (1 - 0.25)
    found = Draws({"x": x}, log_weight).covariance("x")
    np.testing.assert_allclose(found, np.eye(2), atol=0.05)
    weight = np.exp(log_weight[0]) / np.exp(log_weight[0]).sum()
    plain = np.cov(x[0].T, aweights=weight, ddof=0)
    np.testing.assert_allclose(found, plain, rtol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_nothing_is_known_of_a_few_draws(n: int) -> None:
    x = np.random.default_rng(0).normal(size=(4, n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            markov_chain.r_hat(x),
            markov_chain.effective_draws(x),
            markov_chain.tail_effective_draws(x),
            *markov_chain.worth_and_ratio(x),
        ]
    assert np.isnan(found).all()


@pytest.mark.parametrize("n_values", [2, 5, 1000])
def test_r_hat_is_that_of_mean_ranks_of_draws_and_of_distances(n_values):
    rng = np.random.default_rng(n_values)
    draws = rng.integers(0, n_values, size=(3, 40)) * np.array([[1.0], [1.0], [1.3]])

    def ratio(x):
        score = stats.norm.ppf((stats.rankdata(x) - 0.375) / (x.size + 0.25)).reshape(x.shape)
        between, within = score.mean(axis=1).var(ddof=1), score.var(axis=1, ddof=1).mean()
        return np.sqrt((19.0 / 20.0 * within + between) / within)

    halves = draws.reshape(6, 20)
    expected = max(ratio(halves), ratio(np.abs(halves - np.median(halves))))
    assert markov_chain.r_hat(draws) == pytest.approx(expected, rel=1e-12)


def test_effective_draws_of_slow_chains_sum_over_all_of_their_memory():
    """A chain with a memory of hundreds of draws is worth (1 - r) / (1 + r) of its length."""
    rng, r = np.random.default_rng(3), 0.99
    noise = rng.normal(size=(20_000, 8))
    chain = np.zeros_like(noise)
    for t in range(1, len(noise)):
        chain[t] = r * chain[t - 1] + np.sqrt(1 - r**2) * noise[t]
    found = markov_chain.effective_draws(chain.T, is_ranked=False)
    assert found == pytest.approx(8 * 20_000 * (1 - r) / (1 + r), rel=0.25)
