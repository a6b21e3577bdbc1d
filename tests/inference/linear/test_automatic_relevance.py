from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics, Rows
from credo.families.ridge import Spectrum, log_evidence
from credo.inference.engine.engine import run
from credo.inference.linear.automatic_relevance import (
    RelevanceDetermination,
    RelevanceProblem,
    penalized_solution,
    shrunk_log_det,
)
from credo.inference.linear.precision_learning import EvidenceMaximization, PrecisionProblem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) @ (np.eye(5) + 0.3)
Y = X @ [1.0, 0.0, 0.4, 0.0, -0.2] + 0.5 * RNG.normal(size=60) + 2


def problem(x=X, y=Y, noise=None, intercept="flat", output=0):
    statistics = LinearStatistics.of(x, y)
    scale = 1 / np.sqrt(statistics.x_scatter_diagonal / statistics.weight)
    if intercept == "penalized":
        scale = np.append(scale, 1.0)
    spectrum = Spectrum.of(statistics, scale, intercept)
    shared = run(EvidenceMaximization(), PrecisionProblem(spectrum, None, noise)).posterior
    return RelevanceProblem(statistics, scale, intercept, noise, output, shared)


def evidence(case, ratio):
    scale = case.scale / np.sqrt(ratio)
    spectrum = Spectrum.of(case.statistics, scale, case.intercept)
    return float(log_evidence(spectrum, case.output, np.ones(1), case.noise)[0])


@pytest.mark.parametrize("noise", [None, 4.0, Gamma(3.0, 1.0)])
@pytest.mark.parametrize("intercept", ["flat", "none", "penalized"])
def test_no_change_of_any_ratio_raises_the_evidence(noise, intercept):
    case = problem(noise=noise, intercept=intercept)
    ratio = run(RelevanceDetermination(tolerance=1e-10), case).state.ratio
    top = evidence(case, ratio)
    for j in range(len(ratio)):
        tries = ratio[j] * np.array([0.5, 0.9, 1.1, 2.0, np.inf])
        if np.isinf(ratio[j]):
            tries = np.array([1.0, 10.0, 1e2, 1e3, 1e5])
        for value in tries:
            other = ratio.copy()
            other[j] = value
            assert evidence(case, other) < top + 1e-9


def test_maximum_agrees_with_a_general_optimizer():
    case = problem()
    ratio = run(RelevanceDetermination(tolerance=1e-12), case).state.ratio
    start = np.log(np.where(np.isfinite(ratio), 60.0, 1e6))
    best = optimize.minimize(
        lambda logs: -evidence(case, np.exp(logs)), start, method="L-BFGS-B"
    )
    assert_allclose(evidence(case, ratio), -best.fun, atol=1e-4)


def test_evidence_never_goes_down():
    trace = run(RelevanceDetermination(tolerance=1e-10), problem()).trace
    objective = [info.objective for info in trace]
    assert all(b >= a - 1e-9 for a, b in pairwise(objective))


def test_columns_of_pure_noise_are_dropped():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 12))
    y = 2 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=400)
    ratio = run(RelevanceDetermination(), problem(x, y)).state.ratio
    assert np.isfinite(ratio[:2]).all()
    assert np.isinf(ratio[2:]).sum() >= 4


def test_few_rows_and_many_columns_find_the_columns_that_matter():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(30, 80))
    y = 3 * x[:, 4] - 2 * x[:, 40] + 0.1 * rng.normal(size=30)
    case = problem(x, y)
    assert isinstance(case.statistics.form, Rows)
    belief = run(RelevanceDetermination(), case).posterior
    assert_allclose(belief.weights[[4, 40], 0], [3, -2], atol=0.2)
    assert abs(np.delete(belief.weights[:, 0], [4, 40])).max() < 0.3
    new = rng.normal(size=(200, 80))
    error = belief.mean(new)[:, 0] - (3 * new[:, 4] - 2 * new[:, 40])
    assert np.sqrt(np.mean(error**2)) < 0.4


def test_evidence_of_one_column_is_the_integral_over_its_log_precision():
    case = problem(X[:, :1], Y)
    found = run(RelevanceDetermination(), case)
    shared = run(EvidenceMaximization(), PrecisionProblem(case.shared.spectra[0], None, None))
    assert_allclose(found.log_evidence, shared.log_evidence, atol=1e-3)
    assert found.evidence_method == "laplace"


def test_ratio_at_the_maximum_of_one_column_is_the_shared_one():
    case = problem(X[:, :1], Y)
    found = run(RelevanceDetermination(tolerance=1e-12), case)
    assert_allclose(found.state.ratio, case.shared.ratio, rtol=1e-5)


def test_the_solution_follows_the_unit_of_the_columns_though_products_underflow():
    gram, cross, ratio = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), np.ones(2)
    spread, weights = penalized_solution(gram, cross, ratio)
    tiny = 1e-200
    small_spread, same_weights = penalized_solution(tiny * gram, tiny * cross, tiny * ratio)
    assert_allclose(small_spread * tiny, spread)
    assert_allclose(same_weights, weights)
    assert_allclose(shrunk_log_det(tiny * gram, tiny * ratio), shrunk_log_det(gram, ratio))
