"""Variational inference against exact evidence, quadrature, and its own identity."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special, stats

from credo.data import CheckpointFile
from credo.distributions import Distribution, Gamma, Normal
from credo.families import NormalStatistics
from credo.inference import (
    CoordinateAscent,
    GaussianVariational,
    LogDensity,
    NormalMeanFieldProblem,
    Parameters,
    evidence_lower_bound,
    run,
)
from credo.inference.density.variational import _negative_bound, _packed
from credo.numerics.array import Array
from credo.numerics.special.bijection import positive, real

COUPLING = 0.2
EDGES = ((0, 1), (1, 3), (3, 2), (2, 0))
FIELD = np.array([0.5, -0.3, 0.1, 0.8])
FIXED_POINT = np.array([0.5028992327, -0.0607997175, 0.3266961845, 0.6927267590])
NUMBERS = np.array([1.3, 0.2, 2.9, 1.7, 3.4, 0.6, 2.2])


def _ring() -> tuple[Array, Array]:
    """Return all states of four spins on a ring, and the log weight of each."""
    states = np.array(list(product([-1, 1], repeat=4)), dtype=float)
    pairs = sum(states[:, i] * states[:, j] for i, j in EDGES)
    return states, states @ FIELD + COUPLING * pairs


def test_bound_and_divergence_sum_to_the_log_evidence_of_a_ring_of_spins() -> None:
    states, log_weight = _ring()
    log_total = float(special.logsumexp(log_weight))
    assert log_total == pytest.approx(3.2902335863, abs=1e-9)
    posterior = np.exp(log_weight - log_total)
    q = np.prod(0.5 * (1 + states * FIXED_POINT), axis=1)
    bound = evidence_lower_bound(log_weight, q)
    assert bound == pytest.approx(3.2399131495, abs=1e-9)
    divergence = float((q * np.log(q / posterior)).sum())
    assert bound + divergence == pytest.approx(log_total, abs=1e-12)
    assert evidence_lower_bound(log_weight, posterior) == pytest.approx(log_total, abs=1e-12)
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(16), size=20):
        gap = float((other * np.log(other / posterior)).sum())
        found = evidence_lower_bound(log_weight, other)
        assert found + gap == pytest.approx(log_total, abs=1e-12)
        assert found < log_total


def test_states_of_no_probability_do_not_count() -> None:
    assert evidence_lower_bound([-1.0, -np.inf], [1.0, 0.0]) == -1.0
    with pytest.raises(ValueError, match="sum to one"):
        evidence_lower_bound([0.0, 0.0], [0.5, 0.4])


def _numbers(scale: float = 3.0, shape: float = 2.0) -> NormalMeanFieldProblem:
    rows = NormalStatistics.of(NUMBERS[:, None])
    return NormalMeanFieldProblem(rows, Normal(0.5, scale), Gamma(shape, 1.5))


def _log_joint(mean: Array, precision: Array, problem: NormalMeanFieldProblem) -> Array:
    scatter = ((NUMBERS.reshape(-1, *[1] * mean.ndim) - mean) ** 2).sum(axis=0)
    n = len(NUMBERS)
    log_likelihood = 0.5 * n * np.log(precision / (2 * np.pi)) - 0.5 * precision * scatter
    log_prior = problem.mean.log_prob(mean) + problem.precision.log_prob(precision)
    return np.asarray(log_likelihood + log_prior)


def _grid(problem: NormalMeanFieldProblem) -> tuple[Array, Array, Array, float]:
    mean, precision = np.meshgrid(np.linspace(-6, 9, 1200), np.linspace(1e-4, 9, 1200))
    cell = (15 / 1199) * ((9 - 1e-4) / 1199)
    return mean, precision, _log_joint(mean, precision, problem), cell


def test_mean_field_of_a_normal_raises_its_bound_to_the_best_product() -> None:
    problem = _numbers()
    found = run(CoordinateAscent(), problem)
    bounds = [step.objective for step in found.trace]
    assert np.all(np.diff(bounds) >= -1e-12)
    q = found.posterior
    mean, precision, log_joint, cell = _grid(problem)
    log_evidence = float(np.log((np.exp(log_joint) * cell).sum()))
    log_q = q["mean"].log_prob(mean) + q["precision"].log_prob(precision)
    weight = np.exp(log_q) * cell
    # The bound and the divergence, both by a fine grid.
    assert found.log_evidence == pytest.approx((weight * (log_joint - log_q)).sum(), abs=1e-5)
    posterior = log_joint - log_evidence
    divergence = float((weight * (log_q - posterior)).sum())
    assert found.log_evidence + divergence == pytest.approx(log_evidence, abs=1e-5)
    assert 0.001 < divergence < 0.3
    exact_mean = (np.exp(posterior) * mean * cell).sum()
    exact_std = np.sqrt((np.exp(posterior) * (mean - exact_mean) ** 2 * cell).sum())
    assert float(q["mean"].mean()) == pytest.approx(exact_mean, abs=0.05)
    # Too narrow rather than too wide.
    assert float(q["mean"].std()) < exact_std


def test_each_factor_is_the_best_given_the_other() -> None:
    """``log q_i = E_rest[log p] + constant``, and any change of a factor lowers the bound."""
    problem = _numbers()
    q: dict[str, Distribution] = run(CoordinateAscent(), problem).posterior
    at = np.array([0.3, 1.0, 2.5])
    nodes = q["precision"].sample(np.random.default_rng(0), 200_000)
    expected = np.array(
        [float(_log_joint(np.full(len(nodes), m), nodes, problem).mean()) for m in at]
    )
    gaps = q["mean"].log_prob(at) - expected
    np.testing.assert_allclose(gaps, gaps[0], atol=0.02)
    best = problem.bound(q)
    loc, scale = float(q["mean"].mean()), float(q["mean"].std())
    shape = float(q["precision"].mean() ** 2 / q["precision"].variance())
    rate = float(q["precision"].mean() / q["precision"].variance())
    for other in (
        {**q, "mean": Normal(loc + 0.05, scale)},
        {**q, "mean": Normal(loc, 1.1 * scale)},
        {**q, "precision": Gamma(1.1 * shape, 1.1 * rate)},
        {**q, "precision": Gamma(shape, 1.05 * rate)},
    ):
        assert problem.bound(other) < best - 1e-5


def test_a_posterior_that_is_a_product_is_met_with_its_evidence() -> None:
    """With a mean that is all but known, the precision alone is unknown and conjugate."""
    problem = _numbers(scale=1e-7)
    found = run(CoordinateAscent(), problem)
    scatter = float(((NUMBERS - 0.5) ** 2).sum())
    n, a, b = len(NUMBERS), 2.0, 1.5
    exact = (
        special.gammaln(a + n / 2)
        - special.gammaln(a)
        + a * np.log(b)
        - (a + n / 2) * np.log(b + scatter / 2)
        - n / 2 * np.log(2 * np.pi)
    )
    assert found.log_evidence == pytest.approx(exact, abs=1e-6)
    assert float(found.posterior["precision"].mean()) == pytest.approx(
        (a + n / 2) / (b + scatter / 2), rel=1e-6
    )


PRECISION = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, -0.3], [0.0, -0.3, 0.5]])
CENTER = np.array([1.0, -2.0, 0.5])


def _gaussian() -> LogDensity:
    def log_density(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        shift = values["x"] - CENTER
        return float(-0.5 * shift @ PRECISION @ shift), {"x": -PRECISION @ shift}

    return LogDensity(Parameters({"x": real(3)}), log_density)


def test_a_gaussian_is_met_exactly_at_full_rank() -> None:
    found = run(GaussianVariational(), _gaussian(), np.random.default_rng(0))
    covariance = np.linalg.inv(PRECISION)
    np.testing.assert_allclose(found.posterior.mean(), CENTER, atol=1e-6)
    np.testing.assert_allclose(found.posterior.form.dense(), covariance, atol=1e-5)
    exact = 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(PRECISION)[1]
    assert found.log_evidence == pytest.approx(exact, abs=1e-5)


def test_mean_field_has_the_precisions_of_the_diagonal_and_the_bound_that_they_give() -> None:
    engine = GaussianVariational(is_full_rank=False)
    found = run(engine, _gaussian(), np.random.default_rng(0))
    np.testing.assert_allclose(found.posterior.mean(), CENTER, atol=1e-5)
    covariance = found.posterior.form.dense()
    np.testing.assert_allclose(covariance, np.diag(1 / np.diagonal(PRECISION)), atol=1e-5)
    exact = 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(PRECISION)[1]
    gap = 0.5 * (np.log(np.diagonal(PRECISION)).sum() - np.linalg.slogdet(PRECISION)[1])
    assert found.state.bound == pytest.approx(exact - gap, abs=1e-6)
    assert found.log_evidence == pytest.approx(exact - gap, abs=0.1)


def _log_gamma(shape: float = 3.0) -> LogDensity:
    def log_density(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        x = values["x"]
        return float((shape - 1) * np.log(x) - x), {"x": (shape - 1) / x - 1}

    return LogDensity(Parameters({"x": positive()}), log_density)


def test_bound_of_a_skewed_density_is_the_best_and_lacks_the_divergence() -> None:
    """The logarithm of a gamma variable: the best mean and scale, by quadrature."""
    found = run(GaussianVariational(n_draws=1000), _log_gamma(), np.random.default_rng(0))
    loc, scale = float(found.posterior.mean()[0]), float(found.posterior.std()[0])
    # Of u ~ N(m, s^2), E[3 u - e^u] and entropy are largest at s^2 = 1/3, m + s^2/2 = log 3.
    assert scale**2 == pytest.approx(1 / 3, rel=0.03)
    assert loc == pytest.approx(np.log(3) - 1 / 6, abs=0.01)
    best = 3 * loc - np.exp(loc + scale**2 / 2) + 0.5 * np.log(2 * np.pi * np.e * scale**2)
    assert found.state.bound == pytest.approx(best, abs=0.01)
    assert found.log_evidence == pytest.approx(best, abs=0.06)
    law = stats.norm(loc, scale)
    divergence = integrate.quad(
        lambda u: law.pdf(u) * (law.logpdf(u) - (3 * u - np.exp(u) - np.log(2.0))), -8, 6
    )[0]
    assert best + divergence == pytest.approx(np.log(2.0), abs=1e-6)


def test_gradient_of_the_bound_is_that_of_differences() -> None:
    problem = _gaussian()
    for engine in (GaussianVariational(), GaussianVariational(is_full_rank=False)):
        state = engine.init(problem, np.random.default_rng(3))
        theta = _packed(state, engine.is_full_rank)
        theta = theta + 0.3 * np.random.default_rng(1).normal(size=theta.shape)
        gradient = _negative_bound(problem, engine, state.base, theta)[1]
        for i in range(len(theta)):
            step = np.zeros_like(theta)
            step[i] = 1e-5
            high, low = (
                _negative_bound(problem, engine, state.base, theta + s * step)[0]
                for s in (1, -1)
            )
            assert gradient[i] == pytest.approx((high - low) / 2e-5, abs=1e-5)


def test_the_same_stream_gives_the_same_fit_and_the_bound_never_falls(tmp_path: Path) -> None:
    engine = GaussianVariational(is_full_rank=False, n_draws=12)
    file = CheckpointFile(tmp_path / "fit.credo")
    one = run(engine, _log_gamma(), np.random.default_rng(4), checkpoint=file)
    two = run(engine, _log_gamma(), np.random.default_rng(4))
    again = run(engine, _log_gamma(), np.random.default_rng(5), checkpoint=file)
    np.testing.assert_array_equal(one.state.mean, two.state.mean)
    np.testing.assert_array_equal(one.state.mean, again.state.mean)
    assert np.all(np.diff([step.objective for step in one.trace]) >= 0)


def test_tails_that_no_gaussian_has_are_said() -> None:
    """A Cauchy density, whose integral is pi, lies above its bound and has a large k-hat."""

    def log_density(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        x = values["x"]
        return float(-np.log1p(x**2)), {"x": -2 * x / (1 + x**2)}

    problem = LogDensity(Parameters({"x": real()}), log_density)
    found = run(GaussianVariational(), problem, np.random.default_rng(0))
    assert found.error > 0.7
    assert found.log_evidence < np.log(np.pi)


def test_numbers_of_several_columns_are_refused() -> None:
    rows = NormalStatistics.of(np.ones((3, 2)))
    with pytest.raises(ValueError, match="one column of numbers"):
        NormalMeanFieldProblem(rows, Normal(0.0, 1.0), Gamma(1.0, 1.0))
