import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics, Rows
from credo.families.linear_gaussian import LinearGaussianBelief, LinearGaussianGamma
from credo.families.ridge import Spectrum, log_evidence
from credo.families.ridge_belief import RidgeBelief

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 3)) * [1.0, 2.0, 0.3] + [5.0, 0.0, -1.0]
Y = X @ [0.5, -1.0, 2.0] + 3.0 + 0.3 * RNG.normal(size=9)
WEIGHT = RNG.uniform(0.5, 2.0, 9)
SCALE = np.array([1.0, 0.5, 3.0])


def both_forms(intercept, weight=None):
    moments = LinearStatistics.of(X, Y, weight)
    filled = np.ones(len(X)) if weight is None else weight
    rows = LinearStatistics(3, Rows(X, Y[:, None], filled))
    scale = np.append(SCALE, 1.0) if intercept == "penalized" else SCALE
    return [Spectrum.of(s, scale, intercept) for s in (moments, rows)]


def outputs_log_prob(ratio, noise, flat_variance):
    """Density of the outputs, with a very wide normal standing in for a flat intercept."""
    scaled = X * SCALE
    covariance = (np.eye(9) + scaled @ scaled.T / ratio) / noise + flat_variance
    return stats.multivariate_normal(np.zeros(9), covariance).logpdf(Y)


@pytest.mark.parametrize("spectrum", both_forms("none"))
def test_evidence_is_the_normal_density_of_the_outputs(spectrum):
    found = log_evidence(spectrum, 0, np.array(0.7), 2.5)
    assert_allclose(found, outputs_log_prob(0.7, 2.5, 0.0), rtol=1e-9)


@pytest.mark.parametrize("spectrum", both_forms("penalized"))
def test_penalized_intercept_is_a_column_of_ones(spectrum):
    expected = outputs_log_prob(0.7, 2.5, 1 / (0.7 * 2.5))
    assert_allclose(log_evidence(spectrum, 0, np.array(0.7), 2.5), expected, rtol=1e-9)


@pytest.mark.parametrize("spectrum", both_forms("flat"))
def test_flat_intercept_is_the_limit_of_a_wide_prior_times_its_width(spectrum):
    wide = 1e7
    expected = outputs_log_prob(0.7, 2.5, wide) + 0.5 * np.log(2 * np.pi * wide)
    assert_allclose(log_evidence(spectrum, 0, np.array(0.7), 2.5), expected, rtol=1e-6)


@pytest.mark.parametrize("noise", [None, Gamma(1.3, 0.4)])
def test_unknown_noise_is_integrated_out(noise):
    spectrum = both_forms("flat")[0]
    t = np.linspace(-20, 12, 20001)
    known = np.array([log_evidence(spectrum, 0, np.array(0.7), float(b)) for b in np.exp(t)])
    prior = np.zeros_like(t) if noise is None else noise.log_prob(np.exp(t)) + t
    expected = np.log(np.trapezoid(np.exp(known + prior), t))
    assert_allclose(log_evidence(spectrum, 0, np.array(0.7), noise), expected, rtol=1e-8)


@pytest.mark.parametrize("noise", [2.5, None, Gamma(1.3, 0.4)])
def test_weights_on_rows_act_as_repetitions(noise):
    repeats = np.array([1, 2, 0, 3, 1, 1, 2, 1, 1])
    weighted = Spectrum.of(LinearStatistics.of(X, Y, repeats), SCALE, "flat")
    again = np.repeat(np.arange(9), repeats)
    repeated = Spectrum.of(LinearStatistics.of(X[again], Y[again]), SCALE, "flat")
    ratios = np.array([0.1, 0.7, 20.0])
    assert_allclose(
        log_evidence(weighted, 0, ratios, noise), log_evidence(repeated, 0, ratios, noise)
    )


def belief(intercept, ratio=0.7, noise=2.5, shape=np.inf, form=0, weight=None):
    spectrum = both_forms(intercept, weight)[form]
    return RidgeBelief(
        (spectrum,), np.array([ratio]), np.array([noise]), np.array([shape], dtype=float)
    )


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("intercept", ["none", "penalized"])
def test_belief_equals_the_dense_conjugate_belief(intercept, form):
    found = belief(intercept, form=form)
    columns = np.hstack([X, np.ones((9, 1))]) if intercept == "penalized" else X
    scale = np.append(SCALE, 1.0) if intercept == "penalized" else SCALE
    size = len(scale)
    prior = LinearGaussianBelief(np.zeros(size), 0.7 * 2.5 * np.diag(scale**-2.0), 2.5)
    dense = prior.update(LinearStatistics.of(columns, Y))
    assert_allclose(found.columns[:, 0], dense.location, rtol=1e-8)
    expected = dense.weights().covariance()[:3, :3]
    assert_allclose(found.marginal().covariance(), expected, rtol=1e-7)
    assert_allclose(found.weight_variance()[:, 0], np.diagonal(expected), rtol=1e-7)
    new = RNG.normal(size=(4, 3))
    row = np.hstack([new, np.ones((4, 1))]) if intercept == "penalized" else new
    predictive = dense.predictive().given(row)
    assert_allclose(found.predictive(new).mean()[:, 0], predictive.mean(), rtol=1e-7)
    assert_allclose(found.predictive(new).variance()[:, 0], predictive.variance(), rtol=1e-7)


@pytest.mark.parametrize("form", [0, 1])
def test_belief_about_unknown_noise_equals_the_dense_conjugate_belief(form):
    dense = LinearGaussianGamma(np.zeros(3), 0.7 * np.diag(SCALE**-2.0), Gamma(1.3, 0.4))
    dense = dense.update(LinearStatistics.of(X, Y))
    noise = dense.noise
    found = belief("none", noise=float(noise.mean()), shape=float(noise.shape), form=form)
    new = RNG.normal(size=(4, 3))
    points = np.linspace(-5, 5, 4)
    expected = dense.predictive().given(new).log_prob(points)
    assert_allclose(found.predictive(new).log_prob(points[:, None])[:, 0], expected, rtol=1e-8)
    total = found.predictive(new)
    both = total.epistemic_std**2 + total.aleatoric_std**2
    assert_allclose(both, total.variance(), rtol=1e-10)


def test_flat_intercept_widens_the_predictive_by_the_variance_of_the_mean():
    found = belief("flat")
    at_center = found.predictive(X.mean(axis=0)[None])
    assert_allclose(at_center.epistemic_std**2, 1 / (2.5 * 9), rtol=1e-10)
    assert_allclose(at_center.mean(), Y.mean(), rtol=1e-10)


@pytest.mark.parametrize("intercept", ["none", "flat", "penalized"])
def test_draws_have_the_moments_of_the_belief(intercept):
    found = belief(intercept)
    weights, shift = found.sample(np.random.default_rng(1), 40_000)
    new = RNG.normal(size=(3, 3)) + X.mean(axis=0)
    values = weights[:, 0] @ new.T + shift
    error = 5 / np.sqrt(40_000)
    spread = found.predictive(new).epistemic_std[:, 0]
    assert (abs(values.mean(axis=0) - found.mean(new)[:, 0]) < error * spread).all()
    assert_allclose(values.std(axis=0), spread, rtol=0.03)
    covariance = np.cov(weights[:, 0].T)
    assert_allclose(covariance, found.marginal().covariance(), rtol=0.1, atol=0.002)


def test_wide_belief_equals_the_dense_one():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(5, 12)), rng.normal(size=5)
    statistics = LinearStatistics.of(x, y)
    assert isinstance(statistics.form, Rows)
    spectrum = Spectrum.of(statistics, np.ones(12), "none")
    found = RidgeBelief((spectrum,), np.array([0.3]), np.array([2.0]), np.array([np.inf]))
    dense = LinearGaussianBelief(np.zeros(12), 0.6 * np.eye(12), 2.0).update(
        LinearStatistics.of(x, y)
    )
    new = rng.normal(size=(3, 12))
    assert_allclose(found.weights[:, 0], dense.location, rtol=1e-8)
    assert_allclose(
        found.predictive(new).variance()[:, 0],
        dense.predictive().given(new).variance(),
        rtol=1e-8,
    )
    assert_allclose(found.marginal().covariance(), dense.weights().covariance(), atol=1e-8)
    prior = LinearGaussianBelief(np.zeros(12), 0.6 * np.eye(12), 2.0)
    assert_allclose(
        log_evidence(spectrum, 0, np.array(0.3), 2.0), prior.log_evidence(statistics), rtol=1e-9
    )
    variances = np.diagonal(dense.weights().covariance())
    assert_allclose(found.weight_variance()[:, 0], variances, rtol=1e-8)
    draws, _ = found.sample(np.random.default_rng(0), 40_000)
    assert_allclose(np.cov(draws[:, 0].T), found.marginal().covariance(), atol=0.05)


def test_intervals_of_many_weights_take_no_matrix_of_them():
    n_columns = 2000
    x = np.random.default_rng(5).normal(size=(4, n_columns))
    spectrum = Spectrum.of(LinearStatistics.of(x, x[:, 0]), np.ones(n_columns), "flat")
    belief = RidgeBelief((spectrum,), np.array([0.3]), np.array([2.0]), np.array([3.0]))
    tracemalloc.start()
    intervals = belief.weight_interval(0.9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_columns**2 / 10
    assert_allclose(intervals.mean(axis=-1), belief.weights, rtol=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("intercept", ["none", "flat", "penalized"])
@pytest.mark.parametrize("unknown", [False, True])
def test_leaving_each_row_out_equals_refitting_without_it(intercept, unknown, weight):
    filled = np.ones(9) if weight is None else weight
    prior = Gamma(1.3, 0.4)

    def fitted(rows):
        statistics = LinearStatistics.of(X[rows], Y[rows], filled[rows])
        scale = np.append(SCALE, 1.0) if intercept == "penalized" else SCALE
        s = Spectrum.of(statistics, scale, intercept)
        noise, shape = 2.5, np.inf
        if unknown:
            shape = prior.shape + 0.5 * s.n_informative
            noise = shape / (prior.rate + 0.5 * s.quadratic(np.array(0.7), 0))
        return RidgeBelief((s,), np.array([0.7]), np.array([noise]), np.array([float(shape)]))

    found = fitted(np.arange(9)).without_each(X, Y[:, None], filled[:, None])
    for i in range(9):
        expected = fitted(np.delete(np.arange(9), i)).predictive(X[i : i + 1])
        assert_allclose(found.mean()[i], expected.mean()[0], rtol=1e-7)
        assert_allclose(found.std()[i], expected.std()[0], rtol=1e-7)
        assert_allclose(found[i].log_prob(Y[i]), expected[0].log_prob(Y[i]), rtol=1e-7)


def test_point_estimate_has_no_doubt_about_the_function():
    spectrum = both_forms("flat")[0]
    one = np.ones(1)
    point = RidgeBelief((spectrum,), 0.7 * one, 2.5 * one, np.inf * one, is_point=True)
    predictive = point.predictive(X)
    assert (predictive.epistemic_std == 0).all()
    assert_allclose(predictive.std(), 1 / np.sqrt(2.5))
    assert_allclose(predictive.mean(), belief("flat").predictive(X).mean())


@pytest.mark.parametrize("intercept", ["none", "flat", "penalized"])
@pytest.mark.parametrize("n_rows", [60, 4])
def test_columns_of_very_different_size_are_all_seen(intercept, n_rows):
    rng = np.random.default_rng(9)
    size = np.array([1e6, 1e-5, 1.0, 1e-9, 1e3, 1.0])
    unit = rng.normal(size=(n_rows, 6))
    y = unit @ [1.0, 2.0, -1.0, 0.5, 0.0, 1.0] + 0.1 * rng.normal(size=n_rows) + 3
    graded = LinearStatistics.of(unit * size, y)
    tail = [1.0] if intercept == "penalized" else []
    spectrum = Spectrum.of(graded, np.append(np.ones(6), tail), intercept)
    one = np.ones(1)
    found = RidgeBelief((spectrum,), 1e-8 * one, 50.0 * one, np.inf * one)
    # The same problem with columns of equal size, whose prior is then unequal.
    columns = unit - unit.mean(axis=0) if intercept == "flat" else unit
    target = y - y.mean() if intercept == "flat" else y
    if intercept == "penalized":
        columns, size = np.hstack([columns, np.ones((n_rows, 1))]), np.append(size, 1.0)
    prior = LinearGaussianBelief(np.zeros(len(size)), 50e-8 * np.diag(size**-2.0), 50.0)
    dense = prior.update(LinearStatistics.of(columns, target))
    assert_allclose(found.columns[:, 0] * size, dense.location, rtol=1e-5, atol=1e-7)
    expected = prior.log_evidence(LinearStatistics.of(columns, target))
    if intercept == "flat":
        expected += 0.5 * np.log(2 * np.pi / (50.0 * n_rows))
    assert_allclose(log_evidence(spectrum, 0, 1e-8 * one, 50.0), expected, rtol=1e-7)


def nearly_dependent(seed, n_rows=40, n_columns=40):
    """Return columns of equal size, the last direction of which is nearly rounding error."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.normal(size=(n_rows, n_columns)))[0]
    right = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
    return (left * np.logspace(0, -6.3, n_columns)) @ right, rng.normal(size=n_rows)


def evidence_of_rows(x, y, ratio):
    """Return the log evidence from orthogonal directions of the rows, nothing squared."""
    n = len(x)
    left, singular, _ = np.linalg.svd(x - x.mean(axis=0))
    ratio = ratio[:, None]
    shrunk = np.full((len(ratio), n), 1.0)
    shrunk[:, : len(singular)] = ratio / (ratio + singular**2)
    quadratic = shrunk @ (left.T @ (y - y.mean())) ** 2
    known = stats.gamma(0.5 * (n - 1))
    constant = -known.logpdf(1.0) - 1 - 0.5 * (n - 1) * np.log(2 * np.pi) - 0.5 * np.log(n)
    return constant + 0.5 * np.log(shrunk).sum(axis=1) - 0.5 * (n - 1) * np.log(quadratic / 2)


@pytest.mark.parametrize("unit", [1.0, 1e5])
@pytest.mark.parametrize("n_taken", [0, 5])
@pytest.mark.parametrize("seed", range(6))
def test_evidence_is_that_of_the_rows_where_weights_pass_through_all_of_them(
    seed, n_taken, unit
):
    x, y = nearly_dependent(seed)
    x, y = x * unit, y * unit
    statistics = LinearStatistics.of(x, y)
    if n_taken:
        extra = x[:n_taken] + x[n_taken : 2 * n_taken], y[:n_taken]
        more = LinearStatistics.of(
            *(np.concatenate(p) for p in zip((x, y), extra, strict=True))
        )
        statistics = more - LinearStatistics.of(*extra)
    spectrum = Spectrum.of(statistics, np.ones(x.shape[1]), "flat")
    ratio = unit**2 * np.logspace(1, -20, 43)
    excess = log_evidence(spectrum, 0, ratio, None) - evidence_of_rows(x, y, ratio)
    assert_allclose(excess[:25], 0, atol=1e-3)
    # Beyond, rounding may add to the residual, but must not take away from it.
    assert excess.max() < 0.01


@pytest.mark.parametrize("intercept", ["flat", "penalized", "none"])
@pytest.mark.parametrize("ratio", [0.7, 2.0])
def test_beyond_the_data_a_step_is_taken_as_far_as_it_is_sure(intercept, ratio):
    spectrum = both_forms(intercept)[0]
    noise = 2.5
    belief = RidgeBelief((spectrum,), np.array([ratio]), np.array([noise]), np.full(1, np.inf))
    step = RNG.normal(size=(40, 3)) * 3
    rows = X[:1] + step
    doubt = RNG.uniform(0, 0.01, size=(40, 2))
    bends = RNG.normal(size=(2, 5, 3))
    trust, edge = np.linspace(1.0, 0.4, 40), X[:1] + 0.7 * step
    mean, leverage = belief.continued(rows, edge, step, trust, doubt, bends)

    covariance = belief._spread(0, 3) / noise
    second = covariance + np.outer(belief.weights[:, 0], belief.weights[:, 0])
    bent = doubt @ [np.mean([row @ second @ row for row in part]) for part in bends]
    chance = np.einsum("ij,jk,ik->i", step, covariance, step) + bent
    shift = step @ belief.weights[:, 0]
    kept = trust * np.maximum(1 - 9 * chance / shift**2, 0)
    assert 0 < np.count_nonzero(kept) < 40
    start = belief.mean(X[:1])[0]
    assert_allclose(mean[:, 0], start + kept * shift, rtol=1e-9)
    widest = np.maximum(belief.leverage(rows), belief.leverage(edge))[:, 0]
    variance = widest / noise + bent + ((1 - kept) * shift) ** 2
    assert_allclose(leverage[:, 0] / noise, variance, rtol=1e-9)


def test_known_weights_go_on_as_far_as_they_are_asked():
    belief = RidgeBelief(
        (both_forms("flat")[0],), np.array([0.7]), np.array([2.5]), np.full(1, np.inf), True
    )
    step, doubt, bends = np.full((9, 3), 9.0), np.ones((9, 1)), [np.ones((4, 3))]
    mean, leverage = belief.continued(X + 9.0, X, step, np.ones(9), doubt, bends)
    assert_allclose(mean, belief.mean(X + 9.0))
    assert_allclose(leverage, 0.0)
