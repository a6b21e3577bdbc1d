import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics
from credo.families.ridge import Spectrum, log_evidence
from credo.inference.engine.engine import run
from credo.inference.linear.precision_learning import (
    EvidenceMaximization,
    PrecisionProblem,
    log_ratio_prior,
)

X = np.array([[0.0], [1.0], [2.0], [3.0]])
T = np.array([0.2, 0.9, 2.1, 2.8])
RNG = np.random.default_rng(0)
WIDE_X = RNG.normal(size=(40, 6))
WIDE_Y = WIDE_X @ RNG.normal(size=6) + RNG.normal(size=40)


def spectrum(x=WIDE_X, y=WIDE_Y, intercept="flat"):
    size = x.shape[1] + (intercept == "penalized")
    return Spectrum.of(LinearStatistics.of(x, y), np.ones(size), intercept)


def test_type_two_maximum_matches_the_worked_example():
    found = run(
        EvidenceMaximization(), PrecisionProblem(spectrum(X, T, "penalized"), None, None)
    )
    belief = found.posterior
    assert_allclose(belief.ratio * belief.noise_precision, 2.3730823, rtol=1e-7)
    assert_allclose(belief.noise_precision, 40.748605, rtol=1e-7)
    top = log_evidence(belief.spectra[0], 0, belief.ratio, float(belief.noise_precision[0]))
    assert_allclose(top, -2.6276325542, atol=1e-9)


@pytest.mark.parametrize("intercept", ["flat", "none", "penalized"])
def test_maximum_agrees_with_a_general_optimizer_over_both_log_precisions(intercept):
    s = spectrum(intercept=intercept)

    def negative(logs):
        return -float(log_evidence(s, 0, np.exp(logs[0] - logs[1]), float(np.exp(logs[1]))))

    best = optimize.minimize(
        negative, [0.0, 0.0], method="Nelder-Mead", options={"fatol": 1e-12}
    )
    belief = run(EvidenceMaximization(), PrecisionProblem(s, None, None)).posterior
    found = np.log([belief.ratio[0] * belief.noise_precision[0], belief.noise_precision[0]])
    assert_allclose(found, best.x, atol=1e-4)


@pytest.mark.parametrize(
    ("weight_precision", "noise"),
    [
        (None, None),
        (None, 2.0),
        (1.5, None),
        (None, Gamma(2.0, 1.0)),
        (Gamma(3.0, 0.5), None),
        (Gamma(3.0, 0.5), 2.0),
        (Gamma(3.0, 0.5), Gamma(2.0, 1.0)),
    ],
)
def test_slope_is_the_derivative_of_the_objective(weight_precision, noise):
    problem = PrecisionProblem(spectrum(), weight_precision, noise)
    for t in (-3.0, 0.2, 2.5):
        ends = problem.objective(0, np.array([t - 1e-5, t + 1e-5]))
        assert_allclose(problem.slope(0, t), (ends[1] - ends[0]) / 2e-5, rtol=1e-5, atol=1e-5)


def test_integrated_evidence_matches_adaptive_quadrature_over_both_precisions():
    s = spectrum()
    found = run(EvidenceMaximization(), PrecisionProblem(s, None, None))
    signal = s.eigenvalues.sum() / s.weight
    shift = found.log_evidence

    def integrand(log_noise, t):
        ratio = np.array(signal * np.exp(-t))
        value = log_evidence(s, 0, ratio, float(np.exp(log_noise))) + log_ratio_prior(
            np.array(t)
        )
        return float(np.exp(value - shift))

    total, _ = integrate.dblquad(integrand, -15, 25, -6, 6, epsabs=1e-7)
    assert_allclose(total, 1.0, rtol=1e-5)
    assert found.evidence_method == "grid"


@pytest.mark.parametrize("noise", [None, 2.0, Gamma(2.0, 1.0)])
def test_evidence_under_a_belief_about_the_weight_precision_matches_quadrature(noise):
    s, believed = spectrum(), Gamma(3.0, 0.5)
    found = run(EvidenceMaximization(), PrecisionProblem(s, believed, noise))

    def joint(log_weights, log_noise):
        weights, precision = np.exp(log_weights), float(np.exp(log_noise))
        ratio = weights if isinstance(noise, Gamma) else weights / precision
        value = log_evidence(s, 0, np.array(ratio), precision)
        value = value + believed.log_prob(weights) + log_weights
        if isinstance(noise, Gamma):
            value = value + noise.log_prob(precision) + log_noise
        return float(np.exp(value - found.log_evidence))

    if noise == 2.0:
        total, _ = integrate.quad(lambda logs: joint(logs, np.log(2.0)), -10, 8)
    else:
        total, _ = integrate.dblquad(joint, -3, 3, -10, 8, epsabs=1e-8)
    assert_allclose(total, 1.0, rtol=1e-5)
    assert found.evidence_method == "grid"


def test_belief_about_the_weight_precision_tends_to_a_number_and_to_the_usual_evidence():
    s = spectrum()
    sure = run(EvidenceMaximization(), PrecisionProblem(s, Gamma(1.5e9, 1e9), 2.0))
    given = run(EvidenceMaximization(), PrecisionProblem(s, 1.5, 2.0))
    assert_allclose(sure.posterior.ratio, 0.75, rtol=1e-4)
    assert_allclose(sure.log_evidence, given.log_evidence, atol=1e-4)
    vague = run(EvidenceMaximization(), PrecisionProblem(s, Gamma(1e-9, 1e-9), None)).posterior
    learned = run(EvidenceMaximization(), PrecisionProblem(s, None, None)).posterior
    assert_allclose(vague.ratio, learned.ratio, rtol=1e-6)
    assert_allclose(vague.noise_precision, learned.noise_precision, rtol=1e-6)
    assert_allclose(vague.noise_shape, learned.noise_shape, rtol=1e-6)


def test_integrated_evidence_over_the_noise_alone_matches_quadrature():
    s = spectrum()
    found = run(EvidenceMaximization(), PrecisionProblem(s, 1.5, None))

    def integrand(t):
        value = log_evidence(s, 0, np.array(1.5 * np.exp(-t)), float(np.exp(t)))
        return float(np.exp(value - found.log_evidence))

    assert_allclose(integrate.quad(integrand, -10, 10)[0], 1.0, rtol=1e-6)


def test_prior_of_the_ratio_is_uniform_on_explained_share():
    t = np.linspace(-40, 40, 8001)
    density = np.exp(log_ratio_prior(t))
    assert_allclose(np.trapezoid(density, t), 1.0, rtol=1e-9)
    share = 1 / (1 + np.exp(-t))
    assert_allclose(np.trapezoid(density * share**2, t), 1 / 3, rtol=1e-6)


def test_given_precisions_are_not_searched_and_evidence_is_exact():
    s = spectrum()
    found = run(EvidenceMaximization(), PrecisionProblem(s, 1.5, 2.0))
    assert found.evidence_method == "exact"
    assert_allclose(found.log_evidence, log_evidence(s, 0, np.array(0.75), 2.0))


def test_given_weight_precision_under_a_gamma_belief_is_relative_to_the_noise():
    s, belief = spectrum(), Gamma(2.0, 1.0)
    found = run(EvidenceMaximization(), PrecisionProblem(s, 1.5, belief))
    assert found.evidence_method == "exact"
    assert_allclose(found.log_evidence, log_evidence(s, 0, np.array(1.5), belief))
    assert_allclose(found.posterior.ratio, 1.5)
    assert_allclose(found.posterior.noise_shape, 2.0 + 39 / 2)


def test_outputs_are_searched_separately_and_evidences_add():
    y = np.column_stack([WIDE_Y, RNG.normal(size=40)])
    both = run(EvidenceMaximization(), PrecisionProblem(spectrum(y=y), None, None))
    parts = [
        run(EvidenceMaximization(), PrecisionProblem(spectrum(y=y[:, k]), None, None))
        for k in range(2)
    ]
    assert_allclose(both.log_evidence, sum(p.log_evidence for p in parts), rtol=1e-10)
    assert_allclose(both.posterior.ratio, [p.posterior.ratio[0] for p in parts], rtol=1e-6)


def test_pure_noise_gives_weights_that_vanish():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 3))
    y = rng.normal(size=200)
    y -= x @ np.linalg.lstsq(x, y, rcond=None)[0]
    belief = run(EvidenceMaximization(), PrecisionProblem(spectrum(x, y), None, None)).posterior
    assert abs(belief.weights).max() < 1e-6


def test_outputs_without_noise_give_a_finite_answer():
    belief = run(
        EvidenceMaximization(), PrecisionProblem(spectrum(X, 2 * X[:, 0] + 1), None, None)
    ).posterior
    assert_allclose(belief.weights, 2.0, rtol=1e-6)
    assert np.isfinite(belief.noise_precision).all()
    assert belief.noise_precision[0] > 1e10


def test_most_probable_precision_maximizes_evidence_times_prior():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(12, 3))
    s = spectrum(x, x[:, 0] + rng.normal(size=12))
    problem = PrecisionProblem(s, None, None)
    t = np.linspace(-10, 10, 200_001)
    joint = problem.objective(0, t) + problem.log_prior(t)
    found = run(EvidenceMaximization(with_prior=True), problem)
    assert_allclose(found.state.best[0], t[np.argmax(joint)], atol=2e-4)
    plain = run(EvidenceMaximization(), problem)
    assert abs(found.state.best[0]) < abs(plain.state.best[0])
    assert_allclose(found.log_evidence, plain.log_evidence, atol=1e-6)


def test_most_probable_precision_tends_to_the_maximum_of_the_evidence_with_many_columns():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(3000, 200))
    s = spectrum(x, x @ rng.normal(size=200) + rng.normal(size=3000))
    problem = PrecisionProblem(s, None, None)
    best = [
        run(EvidenceMaximization(with_prior=w), problem).state.best[0] for w in (True, False)
    ]
    assert_allclose(best[0], best[1], atol=0.02)
