"""Rejection and importance sampling against integrals that are known."""

from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from credo.data import CheckpointFile
from credo.distributions import (
    Beta,
    MultivariateNormal,
    MultivariateStudentT,
    Normal,
    Uniform,
    polar_normal,
)
from credo.inference import (
    BatchedDensity,
    BrokenEnvelope,
    ConvergenceWarning,
    Drawn,
    ImportanceSampling,
    LogDensity,
    Parameters,
    ProposalProblem,
    RejectionSampling,
    Steps,
    ZeroWeights,
    pareto_smoothed,
    run,
)
from credo.numerics.array import Array
from credo.numerics.special.bijection import Interval, positive, real

X = np.array([0.0, 1.0, 2.0, 3.0])
T = np.array([0.2, 0.9, 2.1, 2.8])
LOG_EVIDENCE_OF_LINE = -4.8393921148
"""Of a line through these four points, with weight precision 0.5 and noise precision 4."""


def _beta(a: float = 2.0, b: float = 2.0, factor: float = 1.0) -> ProposalProblem:
    target = BatchedDensity(
        Parameters({"x": Interval(0.0, 1.0)}),
        lambda values: Beta(a, b).log_prob(values["x"]) + np.log(factor),
    )
    return ProposalProblem(target, {"x": Uniform(0.0, 1.0)})


def _normal(variance: float = 4.0, log_factor: float = 0.0) -> ProposalProblem:
    target = BatchedDensity(
        Parameters({"x": real()}),
        lambda values: Normal(0.0, 1.0).log_prob(values["x"]) + log_factor,
    )
    return ProposalProblem(target, {"x": Normal(0.0, np.sqrt(variance))})


def _line() -> LogDensity:
    def log_joint(values: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        a, b = values["a"], values["b"]
        left = T - a - b * X
        log_prior = -0.25 * (a**2 + b**2) + np.log(0.5) - np.log(2 * np.pi)
        value = log_prior - 2.0 * left @ left + 2.0 * np.log(4.0 / (2 * np.pi))
        return float(value), {"a": -0.5 * a + 4 * left.sum(), "b": -0.5 * b + 4 * left @ X}

    return LogDensity(Parameters({"a": real(), "b": real()}), log_joint)


def test_beta_is_accepted_two_times_in_three_and_its_draws_are_beta() -> None:
    engine = RejectionSampling(float(np.log(1.5)), n_draws=20_000, block_size=5000)
    stop = Drawn(20_000) | Steps(20)
    found = run(engine, _beta(), np.random.default_rng(0), stop=stop)
    acceptance = found.trace[-1].acceptance
    n_proposed = found.state.n_proposed
    assert acceptance == len(found.state.free) / n_proposed
    assert acceptance == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / n_proposed))
    assert found.log_evidence == pytest.approx(np.log(1.5 * acceptance), abs=1e-12)
    assert abs(found.log_evidence) < 4 * found.error
    x = found.posterior["x"].ravel()
    assert stats.kstest(x, "beta", (2, 2)).pvalue > 1e-3
    assert stats.kstest(x, "beta", (2, 3)).pvalue < 1e-10
    assert found.error == pytest.approx(np.sqrt((1 - acceptance) / len(x)))


def test_acceptance_is_the_integral_over_the_bound() -> None:
    """A target of integral 3 under the bound 6 is accepted half the time."""
    engine = RejectionSampling(float(np.log(6.0)), n_draws=10_000, block_size=5000)
    found = run(engine, _beta(factor=3.0), np.random.default_rng(1))
    assert found.trace[-1].acceptance == pytest.approx(0.5, abs=0.015)
    assert found.log_evidence == pytest.approx(np.log(3.0), abs=4 * found.error)


def test_a_broken_envelope_is_an_error_that_names_the_bound() -> None:
    with pytest.raises(BrokenEnvelope, match=r"Raise log_bound to at least 0\.40"):
        run(RejectionSampling(float(np.log(1.4))), _beta(), np.random.default_rng(0))


def test_chains_of_rejection_are_pooled() -> None:
    engine = RejectionSampling(float(np.log(1.5)), 500, 200)
    found = run(engine, _beta(), np.random.default_rng(0), chains=3)
    assert found.posterior["x"].shape == (1, found.effective_draws)
    assert found.effective_draws >= 1500


def test_polar_points_are_normal_and_kept_in_the_share_of_the_circle() -> None:
    x, share = polar_normal(np.random.default_rng(0), 40_001)
    assert x.shape == (40_001,)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    assert share == pytest.approx(
        np.pi / 4, abs=4 * np.sqrt(np.pi / 4 * (1 - np.pi / 4) / 40_001)
    )
    again, _ = polar_normal(np.random.default_rng(0), 40_001)
    points = np.random.default_rng(0).uniform(-1, 1, size=(40_001, 2))
    first = points[(points**2).sum(axis=1) < 1][0]
    s = float(first @ first)
    assert again[:2] == pytest.approx(first * np.sqrt(-2 * np.log(s) / s), abs=1e-12)


def test_plain_weights_of_a_wider_normal_have_the_worked_moments() -> None:
    """E w = 1, E w^2 = 4 / sqrt(7); one term of the mean of x^2 has variance 0.4810036493."""
    n = 40_000
    engine = ImportanceSampling(n, n, is_smoothed=False)
    found = run(engine, _normal(), np.random.default_rng(0))
    weight, x = np.exp(found.posterior.raw_log_weight), found.posterior.draws["x"].ravel()
    expected = stats.norm.logpdf(x) - stats.norm(0, 2).logpdf(x)
    np.testing.assert_allclose(found.posterior.raw_log_weight, expected, atol=1e-12)
    assert weight.mean() == pytest.approx(1.0, abs=4 * np.sqrt(0.5119 / n))
    assert (weight**2).mean() == pytest.approx(4 / np.sqrt(7), rel=0.02)
    plain = found.posterior.expectation(lambda values: values["x"] ** 2, is_normalized=True)
    assert plain.value == pytest.approx(float((weight * x**2).mean()), abs=1e-12)
    assert plain.standard_error == pytest.approx(0.6935442663 / np.sqrt(n), rel=0.02)
    assert abs(plain.value - 1.0) < 4 * plain.standard_error


def test_weights_over_their_sum_do_not_know_the_units_of_either_density() -> None:
    n = 40_000
    engine = ImportanceSampling(n, n, is_smoothed=False)
    found, other = (
        run(engine, _normal(log_factor=shift), np.random.default_rng(0))
        for shift in (0.0, -700.0)
    )
    one, two = (f.posterior.expectation(lambda v: v["x"] ** 2) for f in (found, other))
    assert one.value == pytest.approx(float(two.value), abs=1e-9)
    weight, x = np.exp(found.posterior.raw_log_weight), found.posterior.draws["x"].ravel()
    mean = float(weight @ x**2 / weight.sum())
    assert one.value == pytest.approx(mean, abs=1e-12)
    share = weight / weight.sum()
    assert one.standard_error == pytest.approx(np.sqrt(share**2 @ (x**2 - mean) ** 2))
    assert found.effective_draws / n == pytest.approx(0.6614378278, rel=0.01)
    assert found.effective_draws == pytest.approx(1 / (share @ share))
    assert other.log_evidence - found.log_evidence == pytest.approx(-700.0)


def test_smoothed_weights_are_those_of_pareto_smoothing() -> None:
    found = run(ImportanceSampling(3000), _normal(0.7), np.random.default_rng(2))
    smoothed, k_hat = pareto_smoothed(found.posterior.raw_log_weight)
    assert found.posterior.k_hat == float(k_hat)
    np.testing.assert_array_equal(found.posterior.draws.log_weight, smoothed[None])
    log_mean = float(special.logsumexp(smoothed)) - np.log(3000)
    assert found.log_evidence == pytest.approx(log_mean, abs=1e-12)
    assert found.posterior.is_trusted
    with pytest.warns(ConvergenceWarning, match="k-hat"):
        narrow = run(ImportanceSampling(3000), _normal(0.1), np.random.default_rng(2))
    assert not narrow.posterior.is_trusted


def test_evidence_of_a_coin_drawn_from_its_prior_is_a_beta_function() -> None:
    """Seven heads in ten flips: ln B(8, 4), with the prior as proposal."""
    coin = BatchedDensity(
        Parameters({"p": Interval(0.0, 1.0)}),
        lambda v: 7 * np.log(v["p"]) + 3 * np.log1p(-v["p"]),
    )
    problem = ProposalProblem(coin, {"p": Uniform(0.0, 1.0)})
    found = run(ImportanceSampling(20_000, 20_000), problem, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(special.betaln(8, 4), abs=4 * found.error)
    assert found.error < 0.01
    smoothed, _ = pareto_smoothed(found.state.log_weight)
    assert found.log_evidence == pytest.approx(
        float(special.logsumexp(smoothed)) - np.log(20_000), abs=1e-12
    )
    p = problem.parameters.constrain(found.state.free)["p"]
    likelihood = 7 * np.log(p) + 3 * np.log1p(-p)
    np.testing.assert_allclose(found.state.log_weight, likelihood, atol=1e-9)


def test_errors_of_the_evidence_are_honest() -> None:
    coin = _beta(8.0, 4.0)
    z = []
    for rng in np.random.default_rng(0).spawn(60):
        found = run(ImportanceSampling(500, 500, is_smoothed=False), coin, rng)
        z.append(found.log_evidence / found.error)
    assert abs(np.mean(z)) < 0.6
    assert 0.7 < np.std(z) < 1.35


def test_evidence_of_the_worked_line_by_student_t_about_the_mode() -> None:
    problem = ProposalProblem.by_laplace(_line())
    found = run(ImportanceSampling(8000, 8000), problem, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(LOG_EVIDENCE_OF_LINE, abs=4 * found.error)
    assert found.error < 0.02
    assert found.posterior.is_trusted
    draws = found.posterior.draws
    assert draws.mean("a") == pytest.approx(0.1684210526, abs=0.03)
    assert draws.mean("b") == pytest.approx(0.8842105263, abs=0.02)


def test_resampled_draws_count_alike_and_have_the_posterior() -> None:
    """Sampling, importance weights, resampling."""
    found = run(ImportanceSampling(20_000, 20_000), _normal(), np.random.default_rng(0))
    draws = found.posterior.draws.resampled(4000, np.random.default_rng(1))
    assert draws.log_weight is None
    assert stats.kstest(draws["x"].ravel(), "norm").pvalue > 1e-4
    assert stats.kstest(draws["x"].ravel(), "norm", (0, 2)).pvalue < 1e-20


def test_a_proposal_of_values_counts_in_the_units_of_values() -> None:
    """Gamma(3, 2) of a positive number, proposed by value, or by its logarithm."""
    target = BatchedDensity(
        Parameters({"x": positive()}), lambda v: 2 * np.log(v["x"]) - 2 * v["x"]
    )
    by_log = ProposalProblem(target, MultivariateNormal([0.3], [[1.0]]))
    found = run(ImportanceSampling(20_000, 20_000), by_log, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(np.log(2 / 8), abs=4 * found.error)
    by_value = ProposalProblem(target, {"x": Uniform(0.0, 20.0)})
    found = run(ImportanceSampling(20_000, 20_000), by_value, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(np.log(2 / 8), abs=4 * found.error)


def test_chains_pool_their_draws_and_a_checkpoint_goes_on_to_the_same_bits(
    tmp_path: Path,
) -> None:
    whole = run(ImportanceSampling(900, 300), _beta(), np.random.default_rng(4), chains=2)
    assert whole.posterior.draws["x"].shape == (1, 1800)
    engine, file = ImportanceSampling(600, 200), CheckpointFile(tmp_path / "run.credo")
    first = run(engine, _beta(), np.random.default_rng(4), checkpoint=file)
    again = run(engine, _beta(), np.random.default_rng(9), checkpoint=file)
    np.testing.assert_array_equal(first.state.log_weight, again.state.log_weight)


def test_bad_proposals_and_densities_are_refused() -> None:
    target = BatchedDensity(Parameters({"x": real(2)}), lambda v: -(v["x"] ** 2).sum(axis=1))
    with pytest.raises(ValueError, match="values of the shapes"):
        ProposalProblem(target, {"x": Normal(0.0, 1.0)})
    with pytest.raises(ValueError, match="2 free numbers"):
        ProposalProblem(target, MultivariateStudentT(3.0, [0.0], [[1.0]]))
    bad = BatchedDensity(Parameters({"x": real()}), lambda v: v["x"] * np.nan)
    with pytest.raises(ValueError, match="log density must be a number below infinity"):
        run(
            ImportanceSampling(),
            ProposalProblem(bad, {"x": Normal(0.0, 1.0)}),
            np.random.default_rng(0),
        )
    nowhere = BatchedDensity(Parameters({"x": real()}), lambda v: np.full(len(v["x"]), -np.inf))
    with pytest.raises(ZeroWeights):
        run(
            ImportanceSampling(),
            ProposalProblem(nowhere, {"x": Normal(0.0, 1.0)}),
            np.random.default_rng(0),
        )
    summed = BatchedDensity(Parameters({"x": real()}), lambda v: v["x"].sum())
    with pytest.raises(ValueError, match="one log density for each"):
        summed.log_densities(np.zeros((3, 1)))
