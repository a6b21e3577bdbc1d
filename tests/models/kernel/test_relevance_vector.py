"""Relevance vector machines against Bayesian linear regression and general optimizers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, optimize, stats
from sklearn.datasets import load_iris, make_moons

import credo
from credo import RelevanceVectorClassifier, RelevanceVectorRegressor
from credo.features import Linear, Matern52, Polynomial, SquaredExponential


def sinc(n, noise, seed=0):
    x = np.linspace(-10.0, 10.0, n)[:, None]
    clean = np.sinc(x[:, 0] / np.pi)
    return x, clean, clean + noise * np.random.default_rng(seed).normal(size=n)


def posterior(model, x, y):
    """Return mean and covariance of intercept and weights, by the normal equations."""
    columns = np.hstack([np.ones((len(x), 1)), model.kernel_(x, model.relevance_vectors_)])
    prior = np.append(0.0, model.weight_precision_)
    inverse = np.linalg.inv(model.noise_precision_ * columns.T @ columns + np.diag(prior))
    return columns, model.noise_precision_ * inverse @ columns.T @ y, inverse


def test_regression_is_bayesian_linear_regression_at_the_learned_precisions():
    x, _, y = sinc(60, 0.1)
    model = RelevanceVectorRegressor(SquaredExponential(2.0)).fit(x, y)
    columns, mean, inverse = posterior(model, x, y)
    assert_allclose(np.append(model.intercept_, model.coef_), mean, rtol=1e-6, atol=1e-8)
    found = model.predict_dist(x)
    spread = np.einsum("ij,jk,ik->i", columns, inverse, columns) + 1 / model.noise_precision_
    t = stats.t(59 + 2e-6, columns @ mean, np.sqrt(spread))
    assert_allclose(found.mean(), t.mean(), rtol=1e-6, atol=1e-8)
    assert_allclose(found.quantile(0.9), t.ppf(0.9), rtol=1e-6)


def log_marginal(columns, y, ratio):
    """Return the log evidence at precisions over that of the noise, which is integrated."""
    n = len(y)
    center = np.eye(n) - 1 / n
    z = center @ columns
    inside = np.eye(n) + (z / ratio) @ z.T
    residual = center @ y
    squares = residual @ linalg.solve(inside, residual, assume_a="pos")
    return -0.5 * np.linalg.slogdet(inside)[1] - 0.5 * (n - 1) * np.log(squares)


def test_precisions_are_those_of_a_general_optimizer():
    x, _, y = sinc(30, 0.05)
    kernel = SquaredExponential(3.0)
    model = RelevanceVectorRegressor(kernel, n_candidates=7).fit(x, y)
    candidates = np.sort(np.random.default_rng(0).choice(30, 7, replace=False))
    columns, ratio = kernel(x, x[candidates]), np.full(7, np.inf)
    place = np.searchsorted(candidates, model.relevance_)
    ratio[place] = model.weight_precision_ / model.noise_precision_
    top = log_marginal(columns, y, ratio)
    best = [
        optimize.minimize(
            lambda logs: -log_marginal(columns, y, np.exp(logs)),
            np.log(start),
            method="L-BFGS-B",
            bounds=[(-25, 25)] * 7,
            options={"ftol": 1e-15, "gtol": 1e-9, "maxfun": 100_000, "maxiter": 10_000},
        )
        for start in (np.ones(7), np.full(7, 1e-3), np.where(ratio < np.inf, ratio, 1e8))
    ]
    # Each search may stop short of the highest evidence, and none may find more.
    assert min(abs(top + found.fun) for found in best) < 0.01
    assert top > max(-found.fun for found in best) - 1e-3


def test_no_precision_can_raise_the_evidence():
    x, _, y = sinc(50, 0.1, seed=2)
    kernel = SquaredExponential(2.0)
    model = RelevanceVectorRegressor(kernel).fit(x, y)
    columns, ratio = kernel(x, x), np.full(50, np.inf)
    ratio[model.relevance_] = model.weight_precision_ / model.noise_precision_
    top = log_marginal(columns, y, ratio)
    for j in range(50):
        tries = ratio[j] * np.array([0.5, 2.0, np.inf])
        if np.isinf(ratio[j]):
            tries = np.array([0.1, 1.0, 10.0, 1e3])
        for value in tries:
            other = ratio.copy()
            other[j] = value
            assert log_marginal(columns, y, other) < top + 1e-4


def test_noisy_sinc_needs_a_handful_of_vectors():
    found, errors = [], []
    for seed in range(4):
        x, clean, y = sinc(100, 0.1, seed)
        model = RelevanceVectorRegressor().fit(x, y)
        found.append(model.n_vectors_)
        errors.append(np.sqrt(np.mean((model.predict(x) - clean) ** 2)))
    assert 4 <= np.mean(found) <= 9
    assert np.mean(errors) < 0.045


def test_outcomes_without_noise_are_learned_closely():
    x, clean, y = sinc(100, 0.0)
    model = RelevanceVectorRegressor().fit(x, y)
    assert model.n_vectors_ <= 20
    assert np.abs(model.predict(x) - clean).max() < 0.01


def test_far_away_nothing_but_the_intercept_is_in_doubt():
    x, _, y = sinc(100, 0.1)
    model = RelevanceVectorRegressor(SquaredExponential(2.0)).fit(x, y)
    inverse = posterior(model, x, y)[2]
    far = model.predict_dist([[1e3], [1e6]])
    excess = 99 / 97
    assert_allclose(far.epistemic_std, np.sqrt(inverse[0, 0] * excess), rtol=1e-5)
    process = credo.GaussianProcessRegressor().fit(x, y).predict_dist([[1e3]])
    assert far.epistemic_std[0] < 0.5 * process.epistemic_std[0]


def test_relevance_names_the_training_rows():
    x, _, y = sinc(40, 0.1)
    order = np.random.default_rng(0).permutation(40)
    model = RelevanceVectorRegressor(n_candidates=30).fit(x[order], y[order])
    assert_allclose(x[order][model.relevance_], model.relevance_vectors_)
    assert len(model.coef_) == model.n_vectors_ == len(model.relevance_) > 0


def test_a_linear_kernel_leaves_the_straight_line():
    x = np.linspace(-2.0, 3.0, 30)[:, None]
    y = 1.0 + 2.0 * x[:, 0] + 0.1 * np.cos(np.arange(30.0) ** 2)
    model = RelevanceVectorRegressor(Linear()).fit(x, y)
    assert model.n_vectors_ <= 2
    assert_allclose(model.predict([[0.0], [10.0]]), [1.0, 21.0], atol=0.3)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
@pytest.mark.parametrize(("n", "noise"), [(12, 0.01), (40, 0.3), (150, 1.0)])
def test_vectors_of_one_line_are_one_whatever_the_unit(unit, offset, n, noise):
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = 1.0 + 2.0 * x + noise * rng.normal(size=n)
    model = RelevanceVectorRegressor(Linear()).fit(unit * (x + offset)[:, None], y)
    assert model.n_vectors_ == 1
    line = np.polyval(np.polyfit(x, y, 1), x)
    assert_allclose(model.predict(unit * (x + offset)[:, None]), line, atol=0.1 * noise)


def test_the_evidence_chooses_among_kernels_given():
    x, _, y = sinc(60, 0.05)
    rough, smooth = SquaredExponential(0.05), SquaredExponential(2.0)
    model = RelevanceVectorRegressor([rough, smooth]).fit(x, y)
    assert model.kernel_ == smooth
    alone = RelevanceVectorRegressor(smooth).fit(x, y)
    assert_allclose(model.log_evidence_, alone.log_evidence_ - np.log(2), atol=1e-6)


def test_kernels_in_an_array_are_those_in_a_list():
    x = np.linspace(-2.0, 2.0, 30)[:, None]
    y = np.sin(3.0 * x[:, 0]) + 0.05 * np.cos(np.arange(30.0) ** 2)
    kernels = [Linear(), SquaredExponential(0.7)]
    listed = RelevanceVectorRegressor(kernels).fit(x, y)
    held = RelevanceVectorRegressor(np.array(kernels, dtype=object)).fit(x, y)
    assert held.kernel_ == listed.kernel_ == kernels[1]
    assert_allclose(held.log_evidence_, listed.log_evidence_)
    alone = RelevanceVectorRegressor(np.array(kernels[1], dtype=object)).fit(x, y)
    assert alone.kernel_ == kernels[1]


def test_two_moons_need_few_vectors():
    x, y = make_moons(200, noise=0.15, random_state=0)
    new, truth = make_moons(400, noise=0.15, random_state=1)
    model = RelevanceVectorClassifier().fit(x, y)
    assert model.n_vectors_ < 15
    process = credo.GaussianProcessClassifier(inference="laplace").fit(x, y)
    assert model.score(new, truth) > process.score(new, truth) - 0.02
    scores = model.kernel_(new, model.relevance_vectors_) @ model.coef_[0] + model.intercept_
    # Averaging over the weights moderates log odds, and never turns them.
    odds = model.decision_function(new)
    assert np.all(np.sign(odds) == np.sign(scores))
    assert np.all(np.abs(odds) <= np.abs(scores) + 1e-9)


def test_classes_of_which_the_machine_is_sure_leave_precisions_above_zero():
    rng = np.random.default_rng(0)
    rng.normal(size=600)
    X = rng.normal(size=(80, 2))
    y = np.digitize(X[:, 0], np.linspace(-1.5, 1.5, 9))
    model = RelevanceVectorClassifier().fit(X, y)
    assert (model.weight_precision_ > 0).all()
    assert np.isfinite(model.log_evidence_)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert (model.predict(X) == y).mean() > 0.9


def test_several_classes_are_one_model_whose_classes_are_alike():
    x, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    model = RelevanceVectorClassifier().fit(x, y)
    other = RelevanceVectorClassifier().fit(x, names)
    assert_allclose(model.log_evidence_, other.log_evidence_, atol=0.05)
    assert_allclose(model.predict_proba(x), other.predict_proba(x)[:, [2, 0, 1]], atol=0.02)
    assert model.coef_.shape == (3, model.n_vectors_)
    assert model.score(x, y) > 0.95
    assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", [RelevanceVectorRegressor, RelevanceVectorClassifier])
def test_a_saved_model_predicts_alike(kind, tmp_path):
    x, _, y = sinc(40, 0.1)
    outcome = y if kind is RelevanceVectorRegressor else (y > 0.1).astype(int)
    model = kind(kernel=(Matern52(1.0), Polynomial(2)), n_candidates=20).fit(x, outcome)
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    assert_allclose(
        again.predict_dist(x).mean() if outcome is y else again.predict_proba(x),
        model.predict_dist(x).mean() if outcome is y else model.predict_proba(x),
    )
    assert again.kernel_ == model.kernel_


@pytest.mark.parametrize("kind", [RelevanceVectorRegressor, RelevanceVectorClassifier])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "rbf"}, "kernel must be None, a kernel from credo.features"),
        ({"kernel": []}, "kernel must be None"),
        ({"n_candidates": 0}, "n_candidates must be a whole number"),
    ],
)
def test_bad_settings_say_what_to_do(kind, settings, words):
    with pytest.raises((TypeError, ValueError), match=words):
        kind(**settings).fit([[0.0], [1.0], [2.0]], [0, 1, 0])


def test_too_little_weight_says_what_to_do():
    with pytest.raises(ValueError, match="samples must weigh more than 1 together"):
        RelevanceVectorRegressor().fit([[0.0], [1.0]], [0.0, 1.0], sample_weight=[0.2, 0.3])


def test_constant_outcomes_are_predicted():
    model = RelevanceVectorRegressor().fit(np.arange(10.0)[:, None], np.full(10, 3.0))
    assert model.n_vectors_ == 0
    assert_allclose(model.predict([[4.5]]), 3.0)


@pytest.mark.parametrize("kind", [RelevanceVectorRegressor, RelevanceVectorClassifier])
def test_a_settled_machine_keeps_its_kernel_alone(kind):
    x = np.linspace(-3.0, 3.0, 40)[:, None]
    y = np.sin(2.0 * x[:, 0])
    model = kind(n_candidates=30).fit(x, y if kind is RelevanceVectorRegressor else y > 0)
    again = model.settled()
    assert not hasattr(again, "kernel_")
    assert (again.kernel, again.n_candidates) == (model.kernel_, 30)
    again.fit(x[:35], (y if kind is RelevanceVectorRegressor else y > 0)[:35])
    assert again.kernel_ == model.kernel_


@pytest.mark.parametrize("Model", [RelevanceVectorRegressor, RelevanceVectorClassifier])
@pytest.mark.parametrize(("kernel", "unit"), [(None, 1e-200), (Linear(), 1e-100)])
def test_numbers_whose_squares_are_zero_are_refused(Model, kernel, unit):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    assert Model(kernel).fit(1e-60 * X, y).n_vectors_ > 0
    with pytest.raises(ValueError, match=r"of X must be zero or have .* Change the unit"):
        Model(kernel).fit(unit * X, y)


def test_a_column_of_zeros_is_no_reason_to_refuse():
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 0.0]
    assert RelevanceVectorRegressor().fit(X, X[:, 0]).n_vectors_ > 0
